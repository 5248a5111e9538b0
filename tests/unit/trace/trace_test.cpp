// Writing and reading logs, also damaged ones.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "trace/reader.hpp"
#include "trace/recorder.hpp"
#include "trace/writer.hpp"

namespace refrain::trace {
namespace {

class Trace : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() / ("refrain-trace-test-" + std::to_string(getpid())))
                .string();
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string contents() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string path_;
};

TEST_F(Trace, WhatIsWrittenIsReadBack) {
  Writer writer;
  ASSERT_EQ(writer.open(path_, false), "");
  writer.write_header({{"pid", 7}});
  writer.write(event::Evict{.buffer = 77, .bytes = 4096, .score = 0.25, .candidates = 9});
  writer.write(event::Note{.text = "caf\xe9 \"quoted\"\n"});
  writer.end({.evictions = 1, .exit = "normal"});
  std::ifstream file(path_);
  Reader reader(file);
  EXPECT_EQ(reader.header()["schema"], event::kSchema);
  EXPECT_EQ(reader.header()["pid"], 7);
  const auto first = reader.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->seq, 0u);
  const auto& evict = std::get<event::Evict>(first->event);
  EXPECT_EQ(evict.buffer, 77u);
  EXPECT_EQ(evict.score, 0.25);
  EXPECT_NE(std::get<event::Note>(reader.next()->event).text.find("\"quoted\""), std::string::npos);
  const auto end = std::get<event::End>(reader.next()->event);
  EXPECT_EQ(end.events, 2u);
  EXPECT_EQ(end.dropped, 0u);
  EXPECT_EQ(end.exit, "normal");
  EXPECT_FALSE(reader.next());
  EXPECT_FALSE(reader.cut_off());
}

TEST_F(Trace, ExistingLogIsKeptUnlessForced) {
  std::ofstream(path_) << "precious";
  Writer writer;
  EXPECT_NE(writer.open(path_, false).find("exists"), std::string::npos);
  EXPECT_EQ(contents(), "precious");
  Writer forced;
  EXPECT_EQ(forced.open(path_, true), "");
  EXPECT_EQ(contents(), "");
}

TEST_F(Trace, LogThatIsBeingWrittenIsLeftAlone) {
  Writer writer;
  ASSERT_EQ(writer.open(path_, false), "");
  writer.write_header(nlohmann::ordered_json::object());
  for (const bool overwrite : {false, true}) {
    Writer child;
    EXPECT_EQ(child.open(path_, overwrite), "");
    EXPECT_EQ(child.path(), path_ + "." + std::to_string(getpid()));
    std::filesystem::remove(child.path());
  }
  EXPECT_NE(contents(), "");
}

TEST_F(Trace, UnwritablePathSaysWhy) {
  Writer writer;
  EXPECT_NE(writer.open("/nonexistent-folder/log", false).find("No such file"), std::string::npos);
  EXPECT_FALSE(writer.is_open());
}

TEST_F(Trace, WhatIsNoFileIsRefusedAtOnce) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  Writer writer;
  EXPECT_NE(writer.open(path_, true).find("is no file"), std::string::npos);  // would wait for a reader
  Recorder recorder;
  EXPECT_NE(recorder.open(path_, true, "program").find("is no file"), std::string::npos);
}

TEST_F(Trace, RotationDoesNotReplaceAFileThatIsNotTheLogs) {
  const std::string before = path_ + ".1";
  std::ofstream(before) << "precious";
  Writer writer;
  writer.set_most_bytes(1000);
  EXPECT_NE(writer.open(path_, false).find(before + " exists"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_EQ(std::filesystem::file_size(before), 8u);
  Writer forced;
  forced.set_most_bytes(1000);
  EXPECT_EQ(forced.open(path_, true), "");
  std::filesystem::remove(before);
}

// A limit on the size of files cuts a write short, as a full disk does.
TEST_F(Trace, ALineThatFoundNoRoomLeavesTheLogWhole) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    Writer writer;
    writer.open(path_, false);
    writer.write_header(nlohmann::ordered_json::object());
    const rlimit narrow{300, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &narrow);
    writer.write(event::Note{.text = std::string(1000, 'x')});
    const rlimit wide{RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &wide);
    writer.write(event::Note{.text = "room again"});
    writer.end({.exit = "normal"});
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  std::ifstream file(path_);
  Reader reader(file);
  EXPECT_EQ(std::get<event::Note>(reader.next()->event).text, "room again");
  EXPECT_EQ(std::get<event::End>(reader.next()->event).dropped, 1u);
}

TEST_F(Trace, NothingComesAfterTheEnd) {
  for (int part = 0; part < 2; ++part) {
    Writer writer;
    ASSERT_EQ(writer.open(path_ + std::to_string(part), false), "");
    writer.write_header(nlohmann::ordered_json::object());
    writer.end({.exit = "normal"});
  }
  std::stringstream joined;
  for (int part = 0; part < 2; ++part) {
    joined << std::ifstream(path_ + std::to_string(part)).rdbuf();
    std::filesystem::remove(path_ + std::to_string(part));
  }
  Reader reader(joined);
  ASSERT_TRUE(reader.next());
  try {
    reader.next();
    FAIL() << "two logs were read as one";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "line 4 of the log comes after its end: are these two logs in one file?");
  }
}

TEST_F(Trace, LinesBeforeAKillAreWhole) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Writer writer;
    writer.open(path_, false);
    writer.write_header(nlohmann::ordered_json::object());
    for (int i = 0; i < 100; ++i) writer.write(event::Evict{.bytes = 1});
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  std::ifstream file(path_);
  Reader reader(file);
  int events = 0;
  while (reader.next()) ++events;
  EXPECT_EQ(events, 100);
}

TEST(Reader, CutOffLastLineEndsTheLog) {
  std::istringstream in(
      "{\"kind\":\"header\",\"schema\":1}\n{\"kind\":\"note\",\"text\":\"a\"}\n{\"kind\":\"no");
  Reader reader(in);
  EXPECT_TRUE(reader.next());
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.cut_off());
}

TEST(Reader, DamageInTheMiddleNamesTheLine) {
  std::istringstream in("{\"kind\":\"header\",\"schema\":1}\nnot json\n{\"kind\":\"note\"}\n");
  Reader reader(in);
  try {
    reader.next();
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("line 2"), std::string::npos);
  }
}

TEST(Reader, WrongTypeNamesTheLine) {
  for (const char* field : {"\"bytes\":\"many\"", "\"bytes\":-1", "\"bytes\":1e300", "\"bytes\":null",
                            "\"seq\":-1", "\"t_ns\":-7", "\"score\":\"x\"", "\"op\":5"}) {
    std::istringstream in("{\"kind\":\"header\",\"schema\":1}\n{\"kind\":\"evict\"," + std::string(field) +
                          "}\n");
    Reader reader(in);
    EXPECT_THROW(reader.next(), Error) << field;
  }
}

TEST(Reader, RefusesOtherFilesAndNewerSchemas) {
  for (const char* text :
       {"", "hello\n", "{\"kind\":\"evict\"}\n", "[]\n", "{\"kind\":\"header\",\"schema\":99}\n",
        "{\"kind\":\"header\",\"schema\":\"x\"}\n", "{\"kind\":\"header\",\"schema\":-1}\n",
        "{\"kind\":\"header\",\"schema\":4294967297}\n", "{\"kind\":7,\"schema\":1}\n"}) {
    std::istringstream in(text);
    EXPECT_THROW(Reader{in}, Error) << text;
  }
}

TEST(Reader, PassesOverKindsOfLaterVersions) {
  std::istringstream in(
      "{\"kind\":\"header\",\"schema\":1}\n{\"kind\":\"teleport\"}\n{\"kind\":\"note\",\"text\":\"x\","
      "\"new\":1}\n");
  Reader reader(in);
  EXPECT_EQ(std::get<event::Note>(reader.next()->event).text, "x");
}

TEST(ExpandPath, KnowsItsPlaceholders) {
  EXPECT_EQ(expand_path("a.%e.%p", "train"), "a.train." + std::to_string(getpid()));
  EXPECT_EQ(expand_path("100%%", "train"), "100%");
  EXPECT_EQ(expand_path("%x%", "train"), "%x%");
  setenv("RANK", "3", 1);
  EXPECT_EQ(expand_path("%r", "train"), "3");
  unsetenv("RANK");
}

}  // namespace
}  // namespace refrain::trace
