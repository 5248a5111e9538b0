// One recorded run in the form that everything here works on: what ran in which order, what each op read and
// wrote, and when buffers were freed. Plain data. Must not say where it was read from, nor hold views: two
// buffers never share bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace refrain::simulate {

struct TraceBuffer {
  std::uint64_t bytes = 0;         // of pages of its own; 0 only where it shares all of them
  bool wanted = false;             // the program can still read it at the end: it must be resident then
  std::uint64_t shared_bytes = 0;  // of pages that are always there and that it shares with others
};

// One buffer that an op touches; a buffer appears once in an op. whole: every byte is written and nothing of
// the old contents is read. undefined: a workspace, of no interest before or after. Each other write makes a
// new value.
struct TraceUse {
  std::uint32_t buffer = 0;
  bool read = false;
  bool written = false;
  bool whole = false;
  bool undefined = false;
};

struct TraceOp {
  std::uint32_t name = 0;  // in Trace::names
  bool replayable = true;  // false: what it wrote cannot be computed again (a constant, a copy from the host)
  double cost_ns = 0;
  std::size_t first_use = 0;
  std::uint32_t use_count = 0;
  std::uint32_t cost_class = 0;  // of Trace::costs
};

// From there on an op of the class was known, or thought, to take so long.
struct TraceCost {
  std::uint32_t cost_class = 0;
  double ns = 0;
};

struct TraceStep {
  // kAllocate may be missing: then it is just before the first op that touches the buffer.
  enum class Kind : std::uint8_t { kOp, kFree, kAllocate, kCost };
  Kind kind = Kind::kOp;
  std::uint32_t index = 0;  // in Trace::ops, buffers (not touched by any step after kFree), or costs
};

struct Trace {
  std::vector<std::string> names;  // of kinds of ops: each once
  std::vector<TraceBuffer> buffers;
  std::vector<TraceOp> ops;
  std::vector<TraceUse> all_uses;
  std::vector<TraceStep> steps;
  std::uint64_t page_bytes = 1;  // copies of what shares pages take whole ones
  // What was believed when; empty: what ops take was known from the start.
  std::vector<TraceCost> costs;
  // What cannot be computed again and reads nothing is never given up, though the program frees it: so it is
  // in the published simulator.
  bool constants_stay = false;

  std::span<const TraceUse> uses(const TraceOp& op) const {
    return {all_uses.data() + op.first_use, op.use_count};
  }
};

// Of a run that nothing limits, where a buffer takes memory from the first op that touches it until it is
// freed.
struct TraceTotals {
  double compute_ns = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t largest_op_bytes = 0;  // all that one op touches: no cap below it can work
};
TraceTotals totals_of(const Trace& trace);

}  // namespace refrain::simulate
