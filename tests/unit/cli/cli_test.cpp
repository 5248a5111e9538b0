// What `refrain run` finds out before it starts anything.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <fstream>

#include "cli/commands.hpp"
#include "cli/program_file.hpp"

namespace refrain::cli {
namespace {

int code_of(const std::string& program) {
  try {
    inspect_program(program);
  } catch (const UsageError& error) {
    return error.exit_code();
  }
  return 0;
}

class ProgramFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("refrain-cli-test-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& contents, unsigned mode) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path) << contents;
    chmod(path.c_str(), mode);
    return path;
  }
  std::filesystem::path folder_;
};

TEST_F(ProgramFiles, MissingAndUnusableOnesHaveTheShellsCodes) {
  EXPECT_EQ(code_of("no-such-program-anywhere"), kNotFound);
  EXPECT_EQ(code_of((folder_ / "missing").string()), kNotFound);
  EXPECT_EQ(code_of(folder_.string()), kNotExecutable);
  EXPECT_EQ(code_of(file("plain", "text", 0644)), kNotExecutable);
}

TEST_F(ProgramFiles, ScriptsAndDamagedFilesAreNoElf) {
  EXPECT_FALSE(inspect_program(file("script", "#!/bin/sh\n", 0755)).is_elf);
  EXPECT_FALSE(inspect_program(file("empty", "", 0755)).is_elf);
  EXPECT_FALSE(inspect_program(file("cut",
                                    "\x7f"
                                    "ELF",
                                    0755))
                   .is_elf);
  // A header whose offsets lead outside the file.
  EXPECT_TRUE(inspect_program(file("wild",
                                   "\x7f"
                                   "ELF" +
                                       std::string(100, '\xff'),
                                   0755))
                  .is_elf);
}

TEST_F(ProgramFiles, ThisTestIsADynamicProgramWithoutDeviceCode) {
  const ProgramFile self = inspect_program("/proc/self/exe");
  EXPECT_TRUE(self.is_elf);
  EXPECT_TRUE(self.is_dynamic);
  EXPECT_FALSE(self.has_device_code);
  EXPECT_FALSE(self.is_setuid);
}

TEST_F(ProgramFiles, SetuidIsSeen) {
  EXPECT_TRUE(inspect_program(file("suid", "x", 04755)).is_setuid);
}

TEST(TakeProgram, OptionsEndAtTheFirstOtherWord) {
  CLI::App app;
  std::vector<std::string> program;
  add_run(app, program);
  const CLI::App& run = *app.get_subcommand("run");
  const auto taken = [&](std::vector<std::string> words) {
    std::vector<std::string> rest = take_program(run, words);
    rest.insert(rest.begin(), std::to_string(words.size()));
    return rest;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(taken({"run", "--limit", "8G", "train", "--limit", "x"}), (Words{"3", "train", "--limit", "x"}));
  EXPECT_EQ(taken({"run", "--limit=8G", "-f", "train"}), (Words{"3", "train"}));
  EXPECT_EQ(taken({"run", "-f", "--", "--odd-name", "--"}), (Words{"2", "--odd-name", "--"}));
  EXPECT_EQ(taken({"run", "--limit"}), (Words{"2"}));
  EXPECT_EQ(taken({"run"}), (Words{"1"}));
  EXPECT_EQ(taken({"run", "--unknown", "x"}), (Words{"2", "x"}));
}

}  // namespace
}  // namespace refrain::cli
