// See uses.hpp.
#include "planner/uses.hpp"

#include <algorithm>

namespace refrain::planner {

Uses::Uses(const Iteration& iteration)
    : producer_(iteration.values.size(), kNobody), from_(iteration.values.size() + 1) {
  for (const Op& op : iteration.ops)
    for (const ValueIndex value : op.reads) ++from_[value + 1];
  for (std::size_t value = 1; value < from_.size(); ++value) from_[value] += from_[value - 1];
  readers_.resize(from_.back());
  std::vector<std::size_t> next(from_.begin(), from_.end() - 1);
  for (OpIndex op = 0; op < iteration.ops.size(); ++op) {
    for (const ValueIndex value : iteration.ops[op].reads) readers_[next[value]++] = op;
    for (const ValueIndex value : iteration.ops[op].writes) producer_[value] = op;
  }
}

bool Uses::read_in(ValueIndex value, OpIndex begin, OpIndex end) const {
  const auto all = readers(value);
  const auto first = std::lower_bound(all.begin(), all.end(), begin);
  return first != all.end() && *first < end;
}

}  // namespace refrain::planner
