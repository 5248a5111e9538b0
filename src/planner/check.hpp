// Carries a schedule out on paper. Shares no code with the planner and believes nothing that it says.
#pragma once

#include <string>

#include "planner/iteration.hpp"

namespace refrain::planner {

struct Checked {
  std::string problem;        // empty: the schedule holds. Otherwise the first action that does not, and why
  std::int64_t total_ns = 0;  // of first runs and recomputations
  std::int64_t peak_bytes = 0;  // constants, what is there, and what the running op writes
};

// Every op runs once, in order, and finds all that it reads; memory never exceeds the cap; what is wanted is
// there at the end; what may not be recomputed is not; nothing is dropped that is not there.
Checked check_schedule(const Iteration& iteration, const Schedule& schedule, std::int64_t cap_bytes);

// The most memory when nothing is recomputed and everything is freed where the program frees it.
std::int64_t unplanned_peak_bytes(const Iteration& iteration);

}  // namespace refrain::planner
