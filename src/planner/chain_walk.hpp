// Going back over a chain with few of its states kept: which are kept in the first sweep, and what runs when
// one of the others is needed. Must not know anything of what is no chain.
#pragma once

#include "planner/losses.hpp"
#include "planner/order.hpp"
#include "planner/revolve.hpp"
#include "planner/segments.hpp"

namespace refrain::planner {

// Needs all that it is given to outlive it. No thread safety.
class ChainWalk {
 public:
  // Loses what the first sweep does not keep. The last segment is gone back over at once, and loses nothing.
  ChainWalk(const Forward& forward, const Chain& chain, std::size_t places, Losses& losses);

  // The value, which is lost, is about to be read: runs what is needed.
  void bring(ValueIndex value, Order& order);

 private:
  Revolve table(std::size_t places);
  void bring_state(std::size_t state, Order& order);
  void keep_from(std::size_t state, std::size_t end);
  std::size_t free_places() const { return places_ - std::min(places_, kept_.size() - 1); }

  const Forward& forward_;
  const std::vector<Segment> segments_;
  const std::vector<ValueIndex> states_;
  const std::size_t places_;
  Losses& losses_;
  std::vector<std::vector<OpIndex>> forward_ops_;  // by segment: what leads from its state to the next
  Revolve revolve_;
  std::vector<std::size_t> kept_{0};  // states, lowest first; the first is no value, and always there
};

}  // namespace refrain::planner
