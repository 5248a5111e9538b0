// How long choices of a victim took, by the wall clock: a histogram, so that millions of them take no memory.
// The only clock here; nothing is decided by it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace refrain::simulate {

class DecisionTimes {
 public:
  void begin() { began_ = std::chrono::steady_clock::now(); }
  void end() {
    add(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began_).count());
  }
  void add(double ns);

  std::uint64_t count() const noexcept { return count_; }
  // The time that this share of all choices stayed below, to 1/16 of itself; 0 where there were none.
  double quantile_ns(double share) const;

 private:
  static constexpr int kSteps = 16;  // to each power of two
  std::array<std::uint64_t, 48 * kSteps> counts_{};
  std::uint64_t count_ = 0;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace refrain::simulate
