// A bar on standard error while many things are done, on a terminal only, and only once they have taken a
// second.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace refrain::cli {

class Progress {
 public:
  explicit Progress(std::size_t steps);
  // The next step begins.
  void step(const std::string& what);
  // Wipes the bar.
  void finish();

 private:
  std::size_t steps_;
  std::size_t done_ = 0;
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace refrain::cli
