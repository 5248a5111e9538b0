// See order.hpp.
#include "planner/order.hpp"

#include <algorithm>
#include <stdexcept>

#include "planner/check.hpp"

namespace refrain::planner {

Schedule Order::schedule() const {
  Schedule out;
  std::vector<bool> read_next(iteration_.values.size());
  for (std::size_t value = 0; value < read_next.size(); ++value)
    read_next[value] = iteration_.values[value].wanted || iteration_.values[value].constant;
  for (auto action = actions_.rbegin(); action != actions_.rend(); ++action) {
    const Op& op = iteration_.ops[action->index];
    for (const auto* list : {&op.writes, &op.reads})
      for (const ValueIndex value : *list)
        if (!read_next[value]) out.actions.push_back({Action::Kind::kDrop, value});
    out.actions.push_back(*action);
    for (const ValueIndex value : op.writes) read_next[value] = iteration_.values[value].constant;
    for (const ValueIndex value : op.reads) read_next[value] = true;
  }
  std::reverse(out.actions.begin(), out.actions.end());
  const Checked checked = check_schedule(iteration_, out, INT64_MAX);
  if (!checked.problem.empty()) throw std::logic_error("a schedule that does not hold: " + checked.problem);
  out.total_ns = checked.total_ns;
  out.peak_bytes = checked.peak_bytes;
  return out;
}

}  // namespace refrain::planner
