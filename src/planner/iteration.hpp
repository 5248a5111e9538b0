// One iteration of a program as the planner sees it, and a plan for it. Data, and whether it makes sense.
//
// An iteration is its ops in the order in which the program runs them. An op is a function of values to
// values; a value is written by one op, or is constant, and never changes. Units: bytes and nanoseconds.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace refrain::planner {

using OpIndex = std::uint32_t;
using ValueIndex = std::uint32_t;

inline constexpr std::int64_t kNoRestore = std::numeric_limits<std::int64_t>::max();

struct Value {
  std::int64_t bytes = 0;
  // Of having it again without running its op: by a copy elsewhere, made when it was dropped, and back.
  std::int64_t restore_ns = kNoRestore;
  bool constant = false;    // written by no op: there from the start, and always
  bool wanted = false;      // must be there when the iteration ends
  OpIndex freed_after = 0;  // the op after which the program lets go of it; the number of ops: never. Only
                            // the peak without a plan depends on it: a plan keeps what will be read
};

struct Op {
  std::int64_t cost_ns = 0;       // of the program's own run
  std::int64_t recompute_ns = 0;  // of running it again, with all that has to be done along with it
  bool replayable = true;         // false: what it writes can only be kept, or restored
  std::vector<ValueIndex> reads;  // each once
  std::vector<ValueIndex> writes;
};

struct Iteration {
  std::vector<Op> ops;
  std::vector<Value> values;
};

// Empty, or what is wrong: an index out of range, a value read before it is written, written twice or by
// none, listed twice, a negative number. Everything else here expects an iteration without a problem.
std::string problem_of(const Iteration& iteration);

struct Action {
  // kOffload: to drop, with a copy for the restore that comes next.
  enum class Kind : std::uint8_t { kRun, kRecompute, kDrop, kOffload, kRestore };
  Kind kind = Kind::kRun;
  std::uint32_t index = 0;  // of an op to run or to recompute, of a value for the others
  bool drops() const { return kind == Kind::kDrop || kind == Kind::kOffload; }
};

// Carried out in order. What an op writes is there from then on, until it is dropped.
struct Schedule {
  std::vector<Action> actions;
  std::int64_t total_ns = 0;    // predicted, of all ops: the program's runs and recomputations
  std::int64_t peak_bytes = 0;  // predicted: constants, what is there, and what the running op writes
};

}  // namespace refrain::planner
