// See chain_walk.hpp.
#include "planner/chain_walk.hpp"

#include <algorithm>

namespace refrain::planner {

ChainWalk::ChainWalk(const Forward& forward, const Chain& chain, std::size_t places, Losses& losses)
    : forward_(forward),
      segments_(chain.segments),
      states_(chain.state),
      places_(places),
      losses_(losses),
      revolve_(table(places)) {
  // The first sweep leaves states for the way back over all segments.
  while (segments_.size() - kept_.back() > 1 && free_places() > 0) {
    kept_.push_back(revolve_.next_state(kept_.back(), segments_.size(), free_places()));
    losses_.regain(states_[kept_.back()]);
  }
}

Revolve ChainWalk::table(std::size_t places) {
  for (std::size_t i = 0; i + 1 < segments_.size(); ++i)
    for (OpIndex op = segments_[i].begin; op < segments_[i].end; ++op)
      for (const ValueIndex value : forward_.iteration().ops[op].writes)
        if (forward_.may_go(value)) losses_.lose(value);
  std::vector<std::int64_t> forward_ns;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    std::int64_t ns = 0;
    forward_ops_.emplace_back();
    if (i + 1 < segments_.size()) {
      if (i > 0) losses_.regain(states_[i]);
      forward_ops_.back() = losses_.ops_for({&states_[i + 1], 1});
      if (i > 0) losses_.lose(states_[i]);
    }
    for (const OpIndex op : forward_ops_.back()) ns += forward_.iteration().ops[op].recompute_ns;
    forward_ns.push_back(ns);
  }
  return Revolve(forward_ns, places);
}

void ChainWalk::bring(ValueIndex value, Order& order) {
  const OpIndex producer = forward_.uses().producer(value);
  const auto after = std::upper_bound(segments_.begin(), segments_.end(), producer,
                                      [](OpIndex op, const Segment& segment) { return op < segment.begin; });
  const auto segment = static_cast<std::size_t>(after - segments_.begin()) - 1;
  if (segment + 1 < states_.size() && states_[segment + 1] == value) return bring_state(segment + 1, order);
  bring_state(segment, order);
  std::vector<ValueIndex> wanted{value};
  for (OpIndex op = segments_[segment].begin; op < segments_[segment].end; ++op)
    for (const ValueIndex other : forward_.iteration().ops[op].writes)
      if (losses_.is_lost(other) && forward_.is_stashed(other) && other != states_[segment + 1])
        wanted.push_back(other);
  for (const OpIndex op : losses_.ops_for(wanted)) {
    order.recompute(op);
    for (const ValueIndex made : forward_.iteration().ops[op].writes) losses_.regain(made);
  }
}

void ChainWalk::bring_state(std::size_t state, Order& order) {
  if (state == 0 || !losses_.is_lost(states_[state])) return;
  while (kept_.back() > state) kept_.pop_back();
  while (kept_.back() < state) {
    const std::size_t from = kept_.back();
    // Without a place, as where the way back is not in the order of the chain: straight there.
    const std::size_t next = free_places() > 0 ? revolve_.next_state(from, state + 1, free_places()) : state;
    for (std::size_t i = from; i < next; ++i)
      for (const OpIndex op : forward_ops_[i]) order.recompute(op);
    losses_.regain(states_[next]);
    kept_.push_back(next);
  }
}

}  // namespace refrain::planner
