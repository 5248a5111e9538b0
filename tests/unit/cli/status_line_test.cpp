// What the status line says, from what the processes of a program keep in its folder.
#include "cli/status_line.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace refrain::cli {
namespace {

class StatusLines : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("refrain-status-test-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, int evictions, int held, int limit) {
    std::ofstream(folder_ / name)
        << "# TYPE refrain_evictions_total counter\nrefrain_evictions_total{pid=\"7\"} " << evictions
        << "\nrefrain_held_bytes{program=\"a {b} 5\"} " << held << "\nrefrain_limit_bytes{} " << limit
        << "\nrefrain_replayed_ns_total{} 5\n"
        << "refrain_program_ns_total{} 40\n";
  }
  std::filesystem::path folder_;
};

TEST_F(StatusLines, ProcessesAddUpAndThoseThatEndedHoldNothing) {
  EXPECT_FALSE(read_figures(folder_));
  write("half.part", 1, 1, 1);
  EXPECT_FALSE(read_figures(folder_)) << "no process";
  const std::string me = std::to_string(getpid());
  write(me, 3, 2048, 4096);
  write("4194305", 10, 1024, 8192);  // above the largest number that Linux gives
  const auto sum = read_figures(folder_);
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->evictions, 13u);
  EXPECT_EQ(sum->held_bytes, 2048u);
  EXPECT_EQ(sum->limit_bytes, 4096u);
  EXPECT_EQ(status_text(*sum, 6.4),
            "refrain: 2.0 KiB of 4.0 KiB, 13 evictions (6/s), 12.5 % of device time lost");
  write("1", 0, 1024, 0);  // init always runs
  EXPECT_EQ(read_figures(folder_)->limit_bytes, 0u);
}

TEST_F(StatusLines, SaysOnlyWhatIsKnown) {
  EXPECT_EQ(status_text({.running = 1, .held_bytes = 512}, 0), "refrain: 512 B, no limit, 0 evictions (0/s)");
  EXPECT_EQ(status_text({.evictions = 7}, 0), "refrain: 7 evictions (0/s)") << "between two processes";
}

TEST_F(StatusLines, ItsFolderGoesWithIt) {
  std::filesystem::path folder;
  {
    const StatusLine line(STDERR_FILENO);
    folder = line.folder();
    EXPECT_TRUE(std::filesystem::is_directory(folder));
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

}  // namespace
}  // namespace refrain::cli
