// access_check FILE...: how predictions would have fared for the launches of real programs, from files that
// SIMGPU_ACCESSES made. It must not hold a file in memory.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <map>

#include "recording.hpp"

namespace {

using namespace refrain::access::test;

struct Options {
  std::vector<std::string> files;
  bool kernels = false;
};

// False if a prediction was wrong or the file cannot be read.
bool check_file(const std::string& path, const Options& options) {
  std::ifstream file(path);
  if (!file) {
    fmt::print(stderr, "{}: cannot be read\n", path);
    return false;
  }
  Score all, informed;
  std::map<std::string, Score> by_kernel, informed_by_kernel;
  RecordingCounts counts;
  try {
    counts = read_recording(file, [&](const RecordedLaunch& launch) {
      check(launch.prediction, launch.truth, launch.kernel, all);
      if (options.kernels) check(launch.prediction, launch.truth, launch.kernel, by_kernel[launch.kernel]);
      if (launch.informed == nullptr) return;
      check(*launch.informed, launch.truth, launch.kernel, informed);
      if (options.kernels)
        check(*launch.informed, launch.truth, launch.kernel, informed_by_kernel[launch.kernel]);
    });
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", path, error.what());
    return false;
  }
  fmt::print("{}: {}; besides, {} launches of library kernels; {} launches touch variables\n", path,
             all.in_words(), counts.native, counts.variables);
  for (const auto& [kernel, score] : by_kernel) fmt::print("  {}: {}\n", kernel, score.in_words());
  fmt::print("  where memory that was read is known: {}\n", informed.in_words());
  for (const auto& [kernel, score] : informed_by_kernel) fmt::print("  {}: {}\n", kernel, score.in_words());
  for (const Score* score : {&all, &informed}) {
    for (const std::string& message : score->messages) fmt::print("  wrong: {}\n", message);
  }
  return all.violations == 0 && informed.violations == 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Compares predictions of what launches touch with what they touched (SIMGPU_ACCESSES).");
  Options options;
  app.add_option("files", options.files, "recordings")->required();
  app.add_flag("--kernels", options.kernels, "a line for each kernel, too");
  CLI11_PARSE(app, argc, argv);
  bool right = true;
  for (const std::string& path : options.files) right &= check_file(path, options);
  return right ? 0 : 1;
}
