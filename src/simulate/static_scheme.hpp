// What a static scheme would cost on the recorded iteration, as a row beside the simulated runs: its
// schedule's own account, under no cap. No clock is looked at but the caller's.
#pragma once

#include <functional>

#include "planner/schemes.hpp"
#include "simulate/outcome.hpp"

namespace refrain::simulate {

struct SchemeRun {
  Result result;  // the one decision time is that of the whole divided by the ops
  planner::Schedule schedule;
  std::string refusal;  // why there is no result: planner/schemes.hpp
};

// seconds: of the caller's clock. base_ns: of all ops of the trace, once, constants too; above 0.
SchemeRun run_scheme(const planner::Iteration& iteration, std::span<const std::uint32_t> names,
                     const planner::SchemeSettings& settings, const std::function<double()>& seconds,
                     double base_ns);

}  // namespace refrain::simulate
