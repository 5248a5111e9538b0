// Walks along a schedule while the program runs: what to do before and after each op. Must not do it, nor
// guess once the program has left the plan.
#pragma once

#include <optional>
#include <span>

#include "planner/iteration.hpp"

namespace refrain::planner {

// No thread safety.
class Follower {
 public:
  // identities: of each op of the iteration, by which it is known again: equal for the same work on the same
  // values (same kernel, same shape, same place in the graph of values). The schedule runs every op once.
  Follower(Schedule schedule, std::vector<std::uint64_t> identities);

  // The program is about to run an op: what to recompute and to drop first, in order. None: it is not the op
  // that the plan expects; the plan is left, and nothing more is said, until restart. After the last op of an
  // iteration the first one is expected.
  std::optional<std::span<const Action>> before(std::uint64_t identity);
  // That op has been queued: what to drop at once.
  std::span<const Action> after();

  bool lost() const { return lost_; }
  // The op that is expected next, by its place in the iteration.
  OpIndex next_op() const { return next_op_; }
  // From the first op of the iteration. What is there must be what the schedule starts from: the constants.
  void restart();

 private:
  std::span<const Action> take(std::size_t end);

  Schedule schedule_;
  std::vector<std::uint64_t> identities_;
  std::size_t position_ = 0;  // in the actions
  OpIndex next_op_ = 0;
  bool lost_ = false;
};

}  // namespace refrain::planner
