// Starting a program and waiting for it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace refrain::cli {

struct ChildResult {
  int exit_code = 0;  // the program's, or 128 + the signal that ended it
  int signal = 0;     // 0: it exited
  int pid = 0;
};

// Runs argv[0] with the environment given ("NAME=value"); signals that end or steer a program are passed on
// to it. quiet: its standard output goes nowhere. meanwhile: called twice a second while it runs, where there
// is any. Throws UsageError where it cannot be started.
ChildResult run_child(const std::string& path, const std::vector<std::string>& argv,
                      const std::vector<std::string>& environment, bool quiet,
                      const std::function<void()>& meanwhile = {});

}  // namespace refrain::cli
