// Which resident value to give up, and how. Scores only: eviction itself is the engine's.
#pragma once

#include <vector>

#include "engine/lineage.hpp"

namespace refrain::engine {

// A copy over the bus, one way: fixed_ns + bytes * ns_per_byte.
struct TransferCost {
  double fixed_ns = 10'000;     // a launch and a PCIe round trip
  double ns_per_byte = 0.0625;  // 16 GB/s: what PCIe 4.0 x16 sustains at least; the port measures
  double operator()(Bytes bytes) const noexcept {
    return fixed_ns + static_cast<double>(bytes) * ns_per_byte;
  }
};

enum class Leave {
  kDrop,     // computed again when it is needed
  kOffload,  // copied to the host, and back
};

struct Candidate {
  double score = 0;  // the lowest goes first
  Leave leave = Leave::kDrop;
};

// h_DTR of Kirisame et al., "Dynamic Tensor Rematerialization" (ICLR 2021), section 4.1: the cost of
// computing the value and its evicted neighbourhood again, divided by bytes and staleness. Where the value
// may be offloaded and that costs less, its transfers are the cost.
class DtrPolicy {
 public:
  explicit DtrPolicy(Lineage& lineage) : lineage_(lineage) {}

  TransferCost transfer;

  // now_ns is the engine's clock: the sum of the costs of all ops so far.
  Candidate score(ValueId value, double now_ns, bool may_drop, bool may_offload);

 private:
  double neighbourhood_cost_ns(ValueId value);
  void visit_ancestors(std::uint64_t stamp, double& cost_ns);
  void visit_descendants(std::uint64_t stamp, double& cost_ns);

  Lineage& lineage_;
  std::vector<ValueId> stack_;  // kept between calls for its capacity
};

}  // namespace refrain::engine
