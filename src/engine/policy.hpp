// Which resident value to give up. Scores only: eviction itself is the engine's.
#pragma once

#include <vector>

#include "engine/lineage.hpp"

namespace refrain::engine {

// h_DTR of Kirisame et al., "Dynamic Tensor Rematerialization" (ICLR 2021), section 4.1: the cost of
// computing the value and its evicted neighbourhood again, divided by bytes and staleness. The lowest goes
// first.
class DtrPolicy {
 public:
  explicit DtrPolicy(Lineage& lineage) : lineage_(lineage) {}

  // now_ns is the engine's clock: the sum of the costs of all ops so far.
  double score(ValueId value, double now_ns);

 private:
  double neighbourhood_cost_ns(ValueId value);
  void visit_ancestors(std::uint64_t stamp, double& cost_ns);
  void visit_descendants(std::uint64_t stamp, double& cost_ns);

  Lineage& lineage_;
  std::vector<ValueId> stack_;  // kept between calls for its capacity
};

}  // namespace refrain::engine
