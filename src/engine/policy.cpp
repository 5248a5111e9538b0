// Scores over the lineage. Must not change anything but the ops' visit stamps.
#include "engine/policy.hpp"

#include <algorithm>
#include <limits>

namespace refrain::engine {

Candidate Policy::weigh(ValueId id, bool may_drop, bool may_offload, double most_ns) {
  const Value& v = lineage_.value(id);
  Candidate candidate;
  double cost_ns = std::numeric_limits<double>::infinity();
  if (may_offload) {
    cost_ns = offload_cost_ns(v);
    candidate.leave = Leave::kOffload;
  }
  if (may_drop) {
    const double recompute_ns = recompute_cost_ns(id, most_ns);
    if (recompute_ns <= cost_ns) {
      cost_ns = recompute_ns;
      candidate.leave = Leave::kDrop;
    }
  }
  candidate.rank = rank_of(v, cost_ns);
  return candidate;
}

Rank Policy::least(ValueId id, bool may_ever_drop, bool may_ever_offload) const {
  const Value& v = lineage_.value(id);
  double cost_ns = std::numeric_limits<double>::infinity();
  if (may_ever_offload) cost_ns = offload_cost_ns(v);
  if (may_ever_drop) cost_ns = std::min(cost_ns, lineage_.cost_ns(lineage_.op(v.producer)));
  return rank_of(v, cost_ns);
}

Rank Policy::rank_of(const Value& v, double cost_ns) const {
  const double bytes = static_cast<double>(v.bytes);
  switch (kind_) {
    case PolicyKind::kLru:
    case PolicyKind::kRandom: return {.numerator = 1, .bytes = 1, .last_access_ns = v.last_access_ns};
    case PolicyKind::kSize: return {.numerator = 1, .bytes = bytes, .last_access_ns = 0};
    default: return {.numerator = cost_ns, .bytes = bytes, .last_access_ns = v.last_access_ns};
  }
}

// Where the cost is no part of the score, it decides between dropping and offloading.
double Policy::recompute_cost_ns(ValueId id, double most_ns) {
  switch (kind_) {
    case PolicyKind::kDtrLocal: return lineage_.cost_ns(lineage_.op(lineage_.value(id).producer));
    case PolicyKind::kDtrEq:
      return lineage_.cost_ns(lineage_.op(lineage_.value(id).producer)) + classes_.neighbours_ns(id);
    case PolicyKind::kMsps: return neighbourhood_cost_ns(id, false, most_ns);
    default: return neighbourhood_cost_ns(id, true, most_ns);
  }
}

double Policy::cost_ns_at(ValueId id, double score, double now_ns) const {
  if (kind_ != PolicyKind::kDtr && kind_ != PolicyKind::kMsps) return kAnyCost;
  const Rank unit = rank_of(lineage_.value(id), 1);
  return score / score_of(unit, now_ns, by_staleness());
}

// Had another result of the op been lost before, they might have counted it already.
void Policy::find_counting(ValueId lost, std::vector<ValueId>& found) {
  found.clear();
  const Value& v = lineage_.value(lost);
  if ((kind_ != PolicyKind::kDtr && kind_ != PolicyKind::kMsps) || v.leaf()) return;
  const Op& own = lineage_.op(v.producer);
  if (own.absent_outputs != 1) return;
  const std::uint64_t stamp = lineage_.new_stamp();
  for (const OpId consumer : v.consumers) {
    Op& op = lineage_.op(consumer);
    if (op.visited == stamp) continue;
    op.visited = stamp;
    for (const OpUse& use : op.uses)
      if (use.output) found.push_back(use.output);
  }
  if (kind_ == PolicyKind::kMsps) return;  // which counts ancestors only
  const auto inputs = static_cast<std::ptrdiff_t>(found.size());
  for (const OpUse& use : own.uses) {
    if (use.input && std::find(found.begin() + inputs, found.end(), use.input) == found.end())
      found.push_back(use.input);
  }
}

double Policy::neighbourhood_cost_ns(ValueId id, bool with_descendants, double most_ns) {
  const std::uint64_t stamp = lineage_.new_stamp();
  Op& own = lineage_.op(lineage_.value(id).producer);
  own.visited = stamp;
  double cost_ns = lineage_.cost_ns(own);
  stack_.assign(1, id);
  visit_ancestors(stamp, most_ns, cost_ns);
  if (!with_descendants) return cost_ns;
  stack_.assign(1, id);
  visit_descendants(stamp, most_ns, cost_ns);
  return cost_ns;
}

// Ops behind inputs that are not at hand, and behind theirs. What the host has is copied, not computed.
void Policy::visit_ancestors(std::uint64_t stamp, double most_ns, double& cost_ns) {
  while (!stack_.empty() && cost_ns <= most_ns) {
    const ValueId id = stack_.back();
    stack_.pop_back();
    const OpId producer = lineage_.value(id).producer;
    for (const OpUse& use : lineage_.op(producer).uses) {
      if (!use.input) continue;
      const Value& input = lineage_.value(use.input);
      if (input.resident()) continue;
      if (input.at_hand()) {
        cost_ns += transfer(input.bytes);
        continue;
      }
      Op& op = lineage_.op(input.producer);
      if (op.visited == stamp) continue;
      op.visited = stamp;
      cost_ns += lineage_.cost_ns(op);
      stack_.push_back(use.input);
    }
  }
}

// Ops that would have to wait for this value, because what they made is not resident.
void Policy::visit_descendants(std::uint64_t stamp, double most_ns, double& cost_ns) {
  while (!stack_.empty() && cost_ns <= most_ns) {
    const ValueId id = stack_.back();
    stack_.pop_back();
    for (const OpId consumer : lineage_.value(id).consumers) {
      Op& op = lineage_.op(consumer);
      if (op.absent_outputs == 0 || op.visited == stamp) continue;
      bool lost = false;
      for (const OpUse& use : op.uses) {
        if (!use.output || lineage_.value(use.output).at_hand()) continue;
        lost = true;
        stack_.push_back(use.output);
      }
      if (!lost) continue;
      op.visited = stamp;
      cost_ns += lineage_.cost_ns(op);
    }
  }
}

}  // namespace refrain::engine
