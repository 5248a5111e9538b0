// What a plan for the recorded iteration would cost: the planner's schedule, carried out on paper by
// check_schedule, as a row beside the simulated runs. Nothing is driven through the engine here, and no clock
// is looked at but the caller's.
#pragma once

#include <functional>

#include "planner/iteration.hpp"
#include "simulate/outcome.hpp"

namespace refrain::simulate {

struct PlanSettings {
  std::uint64_t cap_bytes = 0;
  std::function<double()> seconds;  // of the caller's clock; never goes back
  double first_plan_seconds = 10;   // for a first plan, above 0
  double improvement_seconds = 2;   // after it; 0: the first plan only
  double most_total_over_base = 2;  // over_2x above it, as in the simulated runs
  double base_ns = 0;               // of all ops of the trace, once, constants too; above 0
  std::uint32_t seed = 1;           // of the search
};

// iteration: without a problem_of. Of the result: evictions are drops of what is computed again later,
// rematerialisations are ops that run again, the one decision time is that of planning divided by the ops.
// kOutOfMemory: no plan was found; peak_bytes is then what the largest op needs with the constants.
// Throws std::logic_error where check_schedule refuses the plan: a bug here, never a number.
Result run_planned(const planner::Iteration& iteration, const PlanSettings& settings);

}  // namespace refrain::simulate
