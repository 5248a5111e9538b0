// A schedule's own account as a simulated run's. Nothing is driven through the engine here.
#pragma once

#include "planner/iteration.hpp"
#include "simulate/outcome.hpp"

namespace refrain::simulate {

// Total, peak, what went and what came back of a schedule that check_schedule accepts, with its predictions.
// result has its base_ns, which may count ops that the iteration has not. Evictions are drops of what is
// computed again later, rematerialisations are ops that run again. kThrashed above the multiple.
void add_account(const planner::Iteration& iteration, const planner::Schedule& schedule,
                 double most_total_over_base, Result& result);

}  // namespace refrain::simulate
