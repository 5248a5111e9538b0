// See on_paper.hpp.
#include "simulate/on_paper.hpp"

#include <vector>

namespace refrain::simulate {

using planner::Action;

void add_account(const planner::Iteration& iteration, const planner::Schedule& schedule,
                 double most_total_over_base, Result& result) {
  std::int64_t own_ns = 0;
  for (const planner::Op& op : iteration.ops) own_ns += op.cost_ns;
  result.total_ns = result.base_ns + static_cast<double>(schedule.total_ns - own_ns);
  result.device_ns = result.total_ns;
  result.peak_bytes = static_cast<std::uint64_t>(schedule.peak_bytes);
  std::vector<bool> dropped(iteration.values.size());
  for (const auto [kind, index] : schedule.actions) {
    if (kind == Action::Kind::kDrop) dropped[index] = true;
    if (kind != Action::Kind::kRecompute) continue;
    ++result.rematerialisations;
    for (const planner::ValueIndex value : iteration.ops[index].writes) {
      if (dropped[value]) ++result.evictions;
      dropped[value] = false;
    }
  }
  if (result.total_over_base() > most_total_over_base) result.outcome = Outcome::kThrashed;
}

}  // namespace refrain::simulate
