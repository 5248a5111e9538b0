// A run's course in a bounded number of steps: levels and counts over time. However long the log, never more
// than kSteps: when they are used up, every two become one.
#pragma once

#include <cstdint>
#include <vector>

namespace refrain::report {

inline constexpr std::size_t kSteps = 1000;

struct Step {
  std::uint64_t held_bytes = 0;  // most in this step
  std::uint64_t away_bytes = 0;  // most in this step
  std::uint64_t evictions = 0;
  std::uint64_t rematerialisations = 0;
  std::uint64_t lost_ns = 0;  // device time of what was replayed
  bool known = false;         // there was an event; else levels are those of the step before
};

// One event's share.
struct Moment {
  std::uint64_t t_ns = 0;
  std::uint64_t held_bytes = 0;
  std::uint64_t away_bytes = 0;
  bool levels = false;  // the two above are known
  bool eviction = false;
  bool rematerialisation = false;
  std::uint64_t lost_ns = 0;
};

class Timeline {
 public:
  void add(const Moment& moment);
  // Steps up to the last event; where nothing happened, the levels of the step before.
  std::vector<Step> steps() const;
  std::uint64_t step_ns() const noexcept { return step_ns_; }

 private:
  void halve();

  std::vector<Step> steps_;
  std::uint64_t step_ns_ = 1'000;  // finest: more than a thousand events a millisecond tell nobody more
};

}  // namespace refrain::report
