// Which resident value to give up, and how. Scores only: eviction itself is the engine's. The policies are
// those of Kirisame et al., "Dynamic Tensor Rematerialization" (ICLR 2021), section 4.1 and appendix C; the
// lowest score goes first:
//
//   dtr        cost of the value and its evicted neighbourhood / (bytes * staleness)
//   dtr_eq     the same with the neighbourhood's cost from equivalence classes (lost_classes.hpp)
//   dtr_local  cost of the value alone / (bytes * staleness)
//   msps       cost of the value and its evicted ancestors / bytes
//   lru        1 / staleness
//   size       1 / bytes
//   random     anything
//
// Where a value may be offloaded and that costs less than computing it again, its transfers are the cost.
#pragma once

#include <limits>
#include <random>
#include <vector>

#include "engine/lineage.hpp"
#include "engine/lost_classes.hpp"
#include "engine/settings.hpp"
#include "engine/tournament.hpp"

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
  Rank rank;  // the lowest score goes first
  Leave leave = Leave::kDrop;
};

class Policy {
 public:
  Policy(Lineage& lineage, PolicyKind kind) : lineage_(lineage), kind_(kind), classes_(lineage) {}

  static constexpr double kAnyCost = std::numeric_limits<double>::infinity();
  TransferCost transfer;

  // Of one that costs more than most_ns only this is known: its rank is then below the true one.
  Candidate weigh(ValueId value, bool may_drop, bool may_offload, double most_ns = kAnyCost);
  // What the value may cost to have that score.
  double cost_ns_at(ValueId value, double score, double now_ns) const;
  // The values that count the op of one that has just been lost, and did not before; each once.
  void find_counting(ValueId lost, std::vector<ValueId>& found);
  // Out and back; with a copy on the host already, only back.
  double offload_cost_ns(const Value& v) const { return transfer(v.bytes) * (v.host ? 1 : 2); }
  // Of the same value if all around it were there: never above the true one, and cheap to have.
  Rank least(ValueId value, bool may_ever_drop, bool may_ever_offload) const;
  // Whether one that was weighed stays so until something around it changes (candidates.hpp).
  bool keeps_weights() const noexcept { return kind_ != PolicyKind::kDtrEq; }
  bool is_random() const noexcept { return kind_ == PolicyKind::kRandom; }
  bool by_staleness() const noexcept { return kind_ != PolicyKind::kMsps && kind_ != PolicyKind::kSize; }
  // The engine's clock is the sum of the costs of all ops so far.
  double score(const Rank& rank, double now_ns) const noexcept {
    return score_of(rank, now_ns, by_staleness());
  }
  std::size_t random_below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
  }

  // The value's bytes are neither on the device nor to be had from the host; and the end of that, which may
  // be its death. Each may be told of values that the other has not been told of.
  void on_lost(ValueId value) {
    if (kind_ == PolicyKind::kDtrEq) classes_.add(value);
  }
  void on_found(ValueId value) {
    if (kind_ == PolicyKind::kDtrEq) classes_.remove(value);
  }

 private:
  Rank rank_of(const Value& v, double cost_ns) const;
  double recompute_cost_ns(ValueId value, double most_ns);
  double neighbourhood_cost_ns(ValueId value, bool with_descendants, double most_ns);
  void visit_ancestors(std::uint64_t stamp, double most_ns, double& cost_ns);
  void visit_descendants(std::uint64_t stamp, double most_ns, double& cost_ns);

  Lineage& lineage_;
  PolicyKind kind_;
  LostClasses classes_;
  std::mt19937_64 random_;      // the same choices in every run
  std::vector<ValueId> stack_;  // kept between calls for its capacity
};

}  // namespace refrain::engine
