// The steps of a recorded program, and where each turns from forward to backward: found from repetition and
// from the graph, since nothing in a record says it. A wrong guess costs a scheme memory or time, and nothing
// else. Must not decide what to keep.
#pragma once

#include "planner/uses.hpp"

namespace refrain::planner {

// [begin, turn) runs forward, [turn, end) backward, with the update where there is one. turn == end: nothing
// in it is kept for later.
struct Step {
  OpIndex begin = 0, turn = 0, end = 0;
};

// names: by op, the same for the same work. Together the steps are all ops, in order.
//
// Steps: the ops repeat with some period over at least half of the time, and what crosses from one repeat to
// the next is overwritten in that one, or is constant. Each step begins where least crosses. Without such a
// repetition all ops are one step.
//
// The turn: a value that is read again after a detour, so that its reader stands deeper in the graph than the
// value's own depth and one, is kept over the detour. The turn is where most bytes are kept over; the last of
// several such places. (Gradients are no detours: the update reads them directly.)
std::vector<Step> steps_of(const Iteration& iteration, std::span<const std::uint32_t> names,
                           const Uses& uses);

// By op of the range: the longest way to it from ops of the range that read nothing written in it.
std::vector<std::int64_t> depths_in(const Iteration& iteration, const Uses& uses, OpIndex begin, OpIndex end);

// The ops of the iteration as a sequence of keys: equal ones have the same name and as many operands. Left
// out is what comes from elsewhere: what reads nothing and may not run again.
struct Sequence {
  std::vector<std::uint64_t> keys;
  std::vector<OpIndex> ops;  // one for each key, and the number of ops at the end
};
Sequence sequence_of(const Iteration& iteration, std::span<const std::uint32_t> names);

}  // namespace refrain::planner
