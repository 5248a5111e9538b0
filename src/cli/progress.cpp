// One line, drawn over itself. Must not write anything where nobody looks.
#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace refrain::cli {
namespace {

constexpr std::size_t kWidth = 30;
constexpr std::chrono::seconds kPatience{1};

}  // namespace

Progress::Progress(std::size_t steps) : steps_(steps), terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::step(const std::string& what) {
  const std::size_t done = done_++;
  if (!terminal_ || std::chrono::steady_clock::now() - begun_ < kPatience) return;
  shown_ = true;
  const std::size_t filled = kWidth * done / steps_;
  fmt::print(stderr, "\r\x1b[K[{}{}] {}/{} {}", std::string(filled, '#'), std::string(kWidth - filled, ' '),
             done, steps_, what);
  std::fflush(stderr);
}

void Progress::finish() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
  shown_ = false;
}

}  // namespace refrain::cli
