// h_DTR over the lineage. Must not change anything but the ops' visit stamps.
#include "engine/policy.hpp"

#include <algorithm>
#include <limits>

namespace refrain::engine {

Candidate DtrPolicy::score(ValueId id, double now_ns, bool may_drop, bool may_offload) {
  const Value& v = lineage_.value(id);
  // One nanosecond: a value that was touched by the op just issued is as fresh as can be, not infinitely so.
  const double staleness_ns = std::max(now_ns - v.last_access_ns, 1.0);
  Candidate candidate;
  double cost_ns = std::numeric_limits<double>::infinity();
  if (may_offload) {
    cost_ns = transfer(v.bytes) * (v.host ? 1 : 2);  // with a copy there already, only the way back
    candidate.leave = Leave::kOffload;
  }
  if (may_drop) {
    const double recompute_ns = neighbourhood_cost_ns(id);
    if (recompute_ns <= cost_ns) {
      cost_ns = recompute_ns;
      candidate.leave = Leave::kDrop;
    }
  }
  candidate.score = cost_ns / (static_cast<double>(v.bytes) * staleness_ns);
  return candidate;
}

double DtrPolicy::neighbourhood_cost_ns(ValueId id) {
  const std::uint64_t stamp = lineage_.new_stamp();
  Op& own = lineage_.op(lineage_.value(id).producer);
  own.visited = stamp;
  double cost_ns = lineage_.cost_ns(own);
  stack_.assign(1, id);
  visit_ancestors(stamp, cost_ns);
  stack_.assign(1, id);
  visit_descendants(stamp, cost_ns);
  return cost_ns;
}

// Ops behind inputs that are not at hand, and behind theirs. What the host has is copied, not computed.
void DtrPolicy::visit_ancestors(std::uint64_t stamp, double& cost_ns) {
  while (!stack_.empty()) {
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
void DtrPolicy::visit_descendants(std::uint64_t stamp, double& cost_ns) {
  while (!stack_.empty()) {
    const ValueId id = stack_.back();
    stack_.pop_back();
    for (const OpId consumer : lineage_.value(id).consumers) {
      Op& op = lineage_.op(consumer);
      if (op.visited == stamp) continue;
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
