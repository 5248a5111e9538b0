// What was recorded, read back: the same run again; and what is said to damaged records.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "simulate/record.hpp"
#include "trace/recorder.hpp"

namespace refrain::simulate {
namespace {

class Record : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() / ("refrain-record-test-" + std::to_string(getpid())))
                .string();
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }
  Trace read() const {
    std::ifstream file(path_);
    return read_record(file, "a.trace");
  }
  std::string path_;
};

TEST_F(Record, WhatIsRecordedIsReadBack) {
  trace::Recorder recorder;
  ASSERT_EQ(recorder.open(path_, false, "pro\"gram"), "");
  using engine::BufferUse;
  recorder.buffer({7}, 4096, 0, false);
  recorder.buffer({8}, 0, 0, false);
  recorder.buffer({9}, 8192, 0, true);
  recorder.name(3, "kernel \xff");
  recorder.cost(3, 100);
  const BufferUse first[] = {{.buffer = {7}, .written = true, .whole = true}, {.buffer = {8}, .read = true}};
  recorder.op(first, true, 3);
  const BufferUse second[] = {{.buffer = {7}, .read = true, .written = true, .whole = false}};
  recorder.op(second, false, 4);
  recorder.free({7});
  recorder.free({7});
  recorder.buffer({7}, 100, 0, false);
  const BufferUse third[] = {{.buffer = {7}, .written = true, .whole = true, .undefined = true}};
  recorder.op(third, true, 3);
  recorder.barrier();
  recorder.cost(3, 250.5);
  recorder.end();
  const Trace trace = read();
  ASSERT_EQ(trace.buffers.size(), 3u) << "one of the numbers stands for two, one has no pages";
  EXPECT_EQ(trace.buffers[0].bytes, 4096u);
  EXPECT_EQ(trace.buffers[2].bytes, 100u);
  ASSERT_EQ(trace.ops.size(), 5u);
  EXPECT_EQ(trace.names[trace.ops[0].name], "stays");
  EXPECT_FALSE(trace.ops[0].replayable);
  EXPECT_EQ(trace.ops[1].cost_ns, 250.5) << "what was said last";
  EXPECT_TRUE(trace.ops[1].replayable);
  ASSERT_EQ(trace.uses(trace.ops[1]).size(), 1u);
  EXPECT_TRUE(trace.uses(trace.ops[1])[0].whole);
  EXPECT_EQ(trace.ops[2].cost_ns, 0);
  EXPECT_TRUE(trace.uses(trace.ops[2])[0].read);
  EXPECT_FALSE(trace.uses(trace.ops[2])[0].whole);
  EXPECT_TRUE(trace.uses(trace.ops[3])[0].undefined);
  EXPECT_EQ(trace.uses(trace.ops[4]).size(), 2u) << "a barrier may write all that is there";
  std::size_t frees = 0;
  for (const TraceStep& step : trace.steps) frees += step.kind == TraceStep::Kind::kFree ? 1 : 0;
  EXPECT_EQ(frees, 1u);
}

TEST_F(Record, SharedPagesAndWhatWasThoughtOfCostsAreKept) {
  trace::Recorder recorder;
  ASSERT_EQ(recorder.open(path_, false, "p"), "");
  recorder.buffer({4000000000}, 0, 24, false);
  recorder.buffer({2}, 12288, 8192, false);
  recorder.buffer({3}, 8192, 0, false);
  recorder.cost(4000000001, 5000);
  const engine::BufferUse use[] = {{.buffer = {2}, .written = true, .whole = true}};
  recorder.op(use, true, 4000000001);
  recorder.cost(4000000001, 70);
  recorder.end();
  const Trace trace = read();
  ASSERT_EQ(trace.buffers.size(), 3u);
  EXPECT_EQ(trace.buffers[0].bytes, 0u);
  EXPECT_EQ(trace.buffers[0].shared_bytes, 24u);
  EXPECT_EQ(trace.buffers[1].bytes, 12288u);
  EXPECT_EQ(trace.buffers[1].shared_bytes, 8192u);
  EXPECT_EQ(trace.page_bytes, 4096u);
  ASSERT_EQ(trace.costs.size(), 2u);
  EXPECT_EQ(trace.costs[0].ns, 5000);
  EXPECT_EQ(trace.costs[0].cost_class, trace.ops[0].cost_class);
  EXPECT_LT(trace.costs[0].cost_class, 2u) << "numbers of classes are dense";
  EXPECT_EQ(trace.ops[0].cost_ns, 70);
  std::string kinds;
  for (const TraceStep& step : trace.steps) kinds += "ofac"[static_cast<int>(step.kind)];
  EXPECT_EQ(kinds, "aaacoc");
}

TEST_F(Record, AnExistingOneIsKeptUnlessItIsToBeOverwritten) {
  std::ofstream(path_) << "precious";
  trace::Recorder recorder;
  EXPECT_NE(recorder.open(path_, false, "p").find("exists"), std::string::npos);
  recorder.barrier();
  recorder.end();
  std::ifstream file(path_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "precious");
  trace::Recorder other;
  EXPECT_EQ(other.open(path_, true, "p"), "");
  other.end();
  EXPECT_EQ(read().ops.size(), 0u);
}

TEST_F(Record, BadInputIsOneLineWithItsNumber) {
  const std::string head = "{\"kind\":\"record\",\"schema\":1,\"program\":\"p\"}\n";
  const std::string buffer = "{\"kind\":\"buffer\",\"buffer\":1,\"bytes\":10}\n";
  const std::string end = "{\"kind\":\"end\",\"ops\":0}\n";
  const auto op = [](const std::string& uses) {
    return "{\"kind\":\"op\",\"class\":0,\"again\":1,\"uses\":" + uses + "}\n";
  };
  const std::pair<std::string, std::string> cases[] = {
      {"", "a.trace:1: not a record of refrain"},
      {end, "a.trace:1: not a record of refrain"},
      {"{\"kind\":\"record\",\"schema\":2}\n", "a.trace:1: record schema 2 is newer"},
      {head, "a.trace:2: the record is cut off"},
      {head + buffer, "a.trace:3: the record is cut off"},
      {head + "{\"kind\":\"buf", "a.trace:2: the line is cut off"},
      {head + end + buffer, "a.trace:3: buffer behind the end"},
      {head + "{\"kind\":\"jump\"}\n", "a.trace:2: unknown kind \"jump\"; accepted are record"},
      {head + buffer + buffer, "a.trace:3: buffer 1 is there already"},
      {head + "{\"kind\":\"buffer\",\"buffer\":1,\"bytes\":-10}\n", "a.trace:2: bytes is -10"},
      {head + "{\"kind\":\"buffer\",\"buffer\":1}\n", "a.trace:2: buffer without bytes"},
      {head + "{\"kind\":\"free\",\"buffer\":1}\n", "a.trace:2: free names buffer 1, which is not there"},
      {head + op("[[1,\"r\"]]"), "a.trace:2: op names buffer 1, which is not there"},
      {head + buffer + op("[[1,\"z\"]]"), "a.trace:3: uses has [1,\"z\"]; accepted are [buffer, \"r\"]"},
      {head + buffer + op("[[1,\"r\"],[1,\"w\"]]"), "a.trace:3: uses names buffer 1 twice"},
      {head + buffer + op("3"), "a.trace:3: uses is 3; accepted is a list"},
      {head + buffer + op("[[1,\"r\"]]") + end, "a.trace:4: ops is 0; accepted is 1"},
      {head + "{\"kind\":\"cost\",\"class\":0,\"ns\":-1}\n", "a.trace:2: ns is -1"},
      {head + "{\"kind\":\"cost\",\"class\":0,\"ns\":\"5\"}\n", "a.trace:2: ns is \"5\""},
  };
  for (const auto& [text, expected] : cases) {
    SCOPED_TRACE(text);
    std::istringstream in(text);
    try {
      read_record(in, "a.trace");
      ADD_FAILURE() << "accepted";
    } catch (const LogError& error) {
      EXPECT_EQ(std::string(error.what()).substr(0, expected.size()), expected);
      EXPECT_NE(std::string(error.what()).find("; accepted"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace refrain::simulate
