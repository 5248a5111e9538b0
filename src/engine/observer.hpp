// What the engine tells whoever keeps the log. Facts only; the reader decides what is worth a line.
#pragma once

#include <optional>
#include <span>

#include "engine/ids.hpp"
#include "engine/policy.hpp"
#include "engine/trust.hpp"
#include "engine/use.hpp"

namespace refrain::engine {

struct Eviction {
  BufferId buffer;
  Bytes bytes;
  Bytes need_bytes;                // the request that could not be met
  Bytes free_bytes;                // what the cap had left then
  double score;                    // of the victim: the lowest
  double runner_up_score;          // no other candidate's was lower; equal to score if there was none
  std::uint32_t candidates;        // values to choose from, without those seen to be in use
  double idle_ns;                  // op time since its last access
  Leave leave;                     // how it is meant to come back
  bool on_probation;               // computed again, with a copy on the host in case
  Bytes copied_bytes;              // to the host, for this
  std::optional<Payload> payload;  // of the op that made it; none: a leaf
};

struct Rematerialisation {
  BufferId buffer;
  Bytes bytes;
  std::uint64_t ops;               // replayed since the last of these events: its plan's, counted once
  double cost_ns;                  // their recorded cost
  bool from_host;                  // copied in
  bool compared;                   // with the digest from its eviction
  std::optional<Payload> payload;  // of the op that made it; none: a leaf
};

struct OutOfMemory {
  Bytes asked_bytes;
  Bytes used_bytes;
  Bytes cap_bytes;
  Bytes evictable_bytes;
  Bytes pinned_bytes;
  Bytes host_bytes;  // copies of values
};

// A leaf is overwritten that evicted values would have been computed from.
struct Saved {
  enum class Means : std::uint8_t { kAside, kOffloaded, kBroughtBack };
  BufferId buffer;
  Bytes bytes;
  Means means;
  std::uint32_t dependents;  // that would have been lost
};

// Bytes that are not what they were at eviction.
struct Mismatch {
  BufferId buffer;
  Bytes bytes;
  Payload payload;           // of the op that made it; 0 where it came from the host
  std::uint32_t cost_class;  // of that op
  KernelIndex kernel;        // now in quarantine; kNoKernel: it came from the host
  Digest expected;
  Digest found;
  bool repaired;  // from the host copy, or by computing it: nothing is lost
};

// Recomputation took more than the set share of a window.
struct Thrashing {
  double replayed_ns;
  double program_ns;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_evict(const Eviction& eviction) = 0;
  virtual void on_rematerialise(const Rematerialisation& rematerialisation) = 0;
  virtual void on_out_of_memory(const OutOfMemory& out_of_memory) = 0;
  virtual void on_save(const Saved& saved) = 0;
  virtual void on_mismatch(const Mismatch& mismatch) = 0;
  virtual void on_thrash(const Thrashing& thrashing) = 0;

  // What the program does, for whoever records it. bytes: of the buffer's own pages, 0 where it has none;
  // stays: they are backed at once and never evicted; that may be said of a buffer later. A buffer may be
  // freed twice.
  virtual void on_buffer(BufferId /*buffer*/, Bytes /*bytes*/, bool /*stays*/) {}
  virtual void on_free(BufferId /*buffer*/) {}
  // Asked behind that: whether what is in the buffer is worth its memory, for others that are computed from
  // it. It stays until room is needed or they are gone.
  virtual bool keeps_freed(BufferId /*buffer*/) { return false; }
  // As given to `commit`; the payload is still there.
  virtual void on_op(std::span<const BufferUse> /*uses*/, bool /*replayable*/, std::uint32_t /*cost_class*/,
                     Payload /*payload*/) {}
  virtual void on_barrier() {}
  virtual void on_cost(std::uint32_t /*cost_class*/, double /*ns*/) {}

  // Around each choice of a victim, for whoever measures how long that takes.
  virtual void on_choice(bool /*begins*/) {}
};

}  // namespace refrain::engine
