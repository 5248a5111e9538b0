// What the program did, op by op, in the terms of the engine's observer: which values each op read and wrote,
// by numbers that are never used again. Must not grow with the program, nor ask the engine anything.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "engine/observer.hpp"

namespace refrain::guide {

using engine::BufferId;
using engine::BufferUse;
using engine::Bytes;

// The contents of a buffer between two writes. number 0: none.
struct Known {
  std::uint64_t number = 0;
  std::uint64_t op = 0;    // that wrote it, counted from the first op of the program
  std::uint32_t slot = 0;  // of its uses
};

struct RecordedUse {
  BufferUse use;
  Bytes bytes = 0;
  Known input;               // read, or what a partial write starts from
  std::uint64_t output = 0;  // number of what it wrote
};

struct Record {
  std::uint64_t shape = 0;  // equal for the same work on buffers of the same sizes, whichever they are
  std::uint32_t cost_class = 0;
  bool replayable = false;
  Bytes live_bytes = 0;  // of all values behind the op
  double spent_ns = 0;   // before it, on bringing values back and on copies, since the program began
  std::vector<RecordedUse> uses;
};

// No thread safety.
class History {
 public:
  explicit History(std::size_t most_records) : most_records_(most_records) {}

  void buffer(BufferId buffer, Bytes bytes, bool stays);
  void free(BufferId buffer);
  // Anything may have been written: what came before is forgotten.
  void barrier();
  // An op as it would be recorded now; it has no outputs yet.
  Record describe(std::span<const BufferUse> uses, bool replayable, std::uint32_t cost_class) const;
  const Record& op(std::span<const BufferUse> uses, bool replayable, std::uint32_t cost_class,
                   double spent_ns);
  // An op that need not be remembered, before all that are: only what it leaves behind counts.
  void pass(std::span<const BufferUse> uses, bool replayable);

  // Ops since the program began, and the first of them that is still remembered.
  std::uint64_t end() const { return first_ + records_.size(); }
  std::uint64_t first() const { return first_; }
  const Record& at(std::uint64_t op) const { return records_[op - first_]; }
  // What the buffer holds now.
  const Known& current(BufferId buffer) const;
  // What it held when it was freed, until the buffer is somebody's again.
  std::uint64_t freed(BufferId buffer) const {
    return buffer.index < buffers_.size() ? buffers_[buffer.index].freed : 0;
  }
  // Buffers that are backed for good.
  Bytes stays_bytes() const { return stays_bytes_; }

  // Of values that are there now and were written before an op, by ops that cannot be replayed.
  template <class Visit>
  void visit_leaves(Visit&& visit) const {
    for (const State& state : buffers_)
      if (state.current.number != 0 && !state.replayable) visit(state.current, state.bytes);
  }

 private:
  struct State {
    Bytes bytes = 0;
    Bytes stays_bytes = 0;  // where it stays
    bool stays = false;
    bool replayable = false;  // the op that wrote what is there
    Known current;
    std::uint64_t freed = 0;
  };
  State& state(BufferId buffer);
  void end_value(State& state);
  std::uint64_t write(const BufferUse& use, std::uint32_t slot, bool replayable);

  std::size_t most_records_;
  std::uint64_t first_ = 0;
  std::uint64_t next_number_ = 1;
  Bytes live_bytes_ = 0;
  Bytes stays_bytes_ = 0;
  std::deque<Record> records_;
  std::vector<State> buffers_;  // by index
};

}  // namespace refrain::guide
