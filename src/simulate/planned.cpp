// See planned.hpp.
#include "simulate/planned.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "planner/check.hpp"
#include "planner/planner.hpp"
#include "simulate/on_paper.hpp"

namespace refrain::simulate {
namespace {

using planner::Iteration;
using planner::Schedule;

// Progress of a part of the work that begins now.
planner::Progress part_of(const std::function<double()>& seconds, double most) {
  return [&seconds, most, began = seconds()] { return (seconds() - began) / most; };
}

}  // namespace

Result run_planned(const Iteration& iteration, const PlanSettings& settings) {
  Result result;
  result.account = Result::Account::kPaper;
  result.base_ns = settings.base_ns;
  const auto cap_bytes = static_cast<std::int64_t>(
      std::min<std::uint64_t>(settings.cap_bytes, std::numeric_limits<std::int64_t>::max()));
  const double began = settings.seconds();
  planner::Planner planner(iteration, cap_bytes, settings.seed);
  const bool found = planner.start(part_of(settings.seconds, settings.first_plan_seconds));
  if (found && settings.improvement_seconds > 0)
    planner.improve(part_of(settings.seconds, settings.improvement_seconds));
  const double took_ns = (settings.seconds() - began) * 1e9;
  result.decisions.add(took_ns / static_cast<double>(std::max<std::size_t>(iteration.ops.size(), 1)));
  if (!found) {
    result.outcome = Outcome::kOutOfMemory;
    result.peak_bytes = static_cast<std::uint64_t>(planner::least_bytes(iteration));
    return result;
  }
  const Schedule schedule = planner.schedule();
  const planner::Checked checked = planner::check_schedule(iteration, schedule, cap_bytes);
  if (!checked.problem.empty()) throw std::logic_error("the plan does not hold: " + checked.problem);
  add_account(iteration, schedule, settings.most_total_over_base, result);
  return result;
}

}  // namespace refrain::simulate
