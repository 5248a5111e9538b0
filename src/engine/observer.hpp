// What the engine tells whoever keeps the log. Facts only; the reader decides what is worth a line.
#pragma once

#include "engine/ids.hpp"

namespace refrain::engine {

struct Eviction {
  BufferId buffer;
  Bytes bytes;
  Bytes need_bytes;          // the request that could not be met
  Bytes free_bytes;          // what the cap had left then
  double score;              // of the victim: the lowest
  double runner_up_score;    // of the next candidate; equal to score if there was none
  std::uint32_t candidates;  // how many values could have gone
  double idle_ns;            // op time since its last access
};

struct Rematerialisation {
  BufferId buffer;
  Bytes bytes;
  std::uint64_t ops;  // replayed since the last of these events: its plan's, counted once
  double cost_ns;     // their recorded cost
};

struct OutOfMemory {
  Bytes asked_bytes;
  Bytes used_bytes;
  Bytes cap_bytes;
  Bytes evictable_bytes;
  Bytes pinned_bytes;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_evict(const Eviction& eviction) = 0;
  virtual void on_rematerialise(const Rematerialisation& rematerialisation) = 0;
  virtual void on_out_of_memory(const OutOfMemory& out_of_memory) = 0;
};

}  // namespace refrain::engine
