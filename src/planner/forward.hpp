// The forward pass of a step as schemes see it: what could be given up after it, what is read again after the
// turn, and what crosses each place in it. Must not choose.
#pragma once

#include "planner/steps.hpp"

namespace refrain::planner {

// Ops begin to end - 1 of a forward pass.
struct Segment {
  OpIndex begin = 0, end = 0;
};

// Needs the iteration and its uses to outlive it. No thread safety.
class Forward {
 public:
  Forward(const Iteration& iteration, const Uses& uses, const Step& step);

  const Step& step() const { return step_; }
  const Iteration& iteration() const { return iteration_; }
  const Uses& uses() const { return uses_; }

  // Written in the pass by an op that may run again, read in this step only, after the turn only after a
  // detour (steps.hpp), and not wanted at the end.
  bool may_go(ValueIndex value) const;
  // Besides, it is read after the turn.
  bool is_stashed(ValueIndex value) const;
  // Of what the op writes.
  std::int64_t stashed_bytes(OpIndex op) const { return stashed_bytes_[op - step_.begin]; }
  std::int64_t stashed_bytes() const { return all_stashed_bytes_; }
  std::size_t stashing_ops() const { return stashing_ops_; }
  // The last op of the pass that reads it, or the one that writes it.
  OpIndex last_reader_in_pass(ValueIndex value) const;
  // Of what may go, is written before the op at that place, and is read in the pass there or later.
  std::int64_t crossing_bytes(OpIndex at) const { return crossing_bytes_[at - step_.begin]; }
  std::size_t crossing_values(OpIndex at) const { return crossing_values_[at - step_.begin]; }

 private:
  const Iteration& iteration_;
  const Uses& uses_;
  const Step step_;
  const std::vector<std::int64_t> depth_;  // by op of the step
  std::vector<std::int64_t> stashed_bytes_, crossing_bytes_;
  std::vector<std::size_t> crossing_values_;
  std::int64_t all_stashed_bytes_ = 0;
  std::size_t stashing_ops_ = 0;
};

}  // namespace refrain::planner
