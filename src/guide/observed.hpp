// One period of what a program did, as the planner takes it, with what is needed to know its ops again. Must
// not plan, and must not change what it looks at.
#pragma once

#include <functional>
#include <vector>

#include "engine/policy.hpp"
#include "guide/history.hpp"
#include "planner/iteration.hpp"

namespace refrain::guide {

inline constexpr planner::ValueIndex kNoValue = UINT32_MAX;

struct Observed {
  struct Use {
    planner::ValueIndex input = kNoValue;
    planner::ValueIndex output = kNoValue;
  };
  struct Op {
    std::uint64_t shape = 0;
    std::vector<Use> uses;
  };
  planner::Iteration iteration;
  std::vector<Op> ops;
  Bytes other_leaf_bytes = 0;  // there, of no use to the iteration, and never computed again
};

// Whether the last `length` ops did to their values what the `length` ops before them did to theirs, and left
// as much memory behind: what each read was made as long ago, or is the same value; only the first of the two
// may have read what was there before both.
bool repeats(const History& history, std::size_t length);

// Where in the last two periods the fewest bytes are handed on from op to op: an iteration of that length
// begins there, and is over.
std::uint64_t boundary(const History& history, std::size_t length);

// What the planner is told that things take.
struct Prices {
  std::function<double(std::uint32_t)> op_ns;  // of a cost class
  double mapping_ns = 0;                       // pages for a value that is brought back, and taking them away
  // A copy to the host or back, of what may be copied there.
  engine::TransferCost transfer{};
  engine::Offload offload = engine::Offload::kOff;
};

// The iteration of `length` ops that begins at `first`.
Observed observe(const History& history, std::uint64_t first, std::size_t length, const Prices& prices);

}  // namespace refrain::guide
