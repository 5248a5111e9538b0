// See losses.hpp.
#include "planner/losses.hpp"

#include <algorithm>
#include <unordered_set>

namespace refrain::planner {

std::vector<OpIndex> Losses::ops_for(std::span<const ValueIndex> values) const {
  std::unordered_set<OpIndex> seen;
  std::vector<OpIndex> ops;
  const auto add = [&](ValueIndex value) {
    if (seen.insert(uses_.producer(value)).second) ops.push_back(uses_.producer(value));
  };
  for (const ValueIndex value : values) add(value);
  for (std::size_t i = 0; i < ops.size(); ++i)
    for (const ValueIndex value : iteration_.ops[ops[i]].reads)
      if (lost_[value]) add(value);
  std::sort(ops.begin(), ops.end());
  return ops;
}

}  // namespace refrain::planner
