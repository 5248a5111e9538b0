// Buffers, the pages behind them, and the cap. Knows nothing of values or ops: it never decides what to give
// up, it only says that something must be.
#pragma once

#include <map>
#include <vector>

#include "engine/device.hpp"

namespace refrain::engine {

struct Buffer {
  Bytes bytes = 0;
  PagesId pages;         // none: not mapped
  ValueId current;       // what the program can read there; none: never written, or not the program's
  ValueId held;          // the value whose location this is; none: contents are of no interest
  bool adopted = false;  // pinned memory of the caller's: always there, never ours to unmap
  bool pinned = false;   // mapped for as long as the program has it
  bool program = false;  // named by the program; else cached, scratch, or kept aside for somebody's lineage
  bool mapped() const noexcept { return adopted || static_cast<bool>(pages); }
};

class Memory {
 public:
  Memory(Device& device, Bytes cap_bytes) : device_(device), cap_bytes_(cap_bytes) {}

  Buffer& buffer(BufferId id) { return buffers_[id.index]; }
  const Buffer& buffer(BufferId id) const { return buffers_[id.index]; }
  std::size_t buffer_slots() const noexcept { return buffers_.size(); }

  // A buffer of exactly that size, from the cache (mapped ones first) or newly reserved. none: no address
  // space.
  BufferId acquire(Bytes bytes);
  // Memory of the caller's that is always mapped and already counted.
  BufferId adopt(Bytes bytes);
  // The contents are of no interest any longer: the range, and its mapping, may serve another buffer.
  void give_back(BufferId id);

  // Maps pages into the buffer, taking idle ones before new ones. false: only by giving something up.
  bool back(BufferId id);
  // Takes the pages out of the buffer and keeps them idle.
  void unback(BufferId id);

  // Device memory that does not come from here (the program's own handles, managed memory) counts toward the
  // cap. false: no room without giving something up.
  bool charge_external(Bytes bytes);
  void discharge_external(Bytes bytes) { external_bytes_ -= bytes; }

  Bytes cap_bytes() const noexcept { return cap_bytes_; }
  Bytes held_bytes() const noexcept { return held_bytes_ + external_bytes_; }  // what the cap is about
  Bytes peak_held_bytes() const noexcept { return peak_held_bytes_; }
  Bytes idle_bytes() const noexcept {
    return idle_bytes_;
  }  // part of held: behind no buffer, or a cached one
  Bytes used_bytes() const noexcept { return held_bytes() - idle_bytes_; }
  bool fits_cap(Bytes bytes) const noexcept { return bytes <= cap_bytes_; }

  const char* check_invariants() const;

 private:
  bool grow(Bytes bytes, PagesId& out);
  bool trim_to(Bytes room_bytes);
  void destroy_idle(std::map<Bytes, std::vector<PagesId>>::iterator it);
  PagesId take_pages_of_cached(Bytes bytes);
  BufferId new_slot(Bytes bytes);

  Device& device_;
  Bytes cap_bytes_;
  Bytes held_bytes_ = 0;
  Bytes external_bytes_ = 0;
  Bytes idle_bytes_ = 0;
  Bytes peak_held_bytes_ = 0;
  std::vector<Buffer> buffers_;
  std::vector<BufferId> free_slots_;
  std::map<Bytes, std::vector<PagesId>> idle_pages_;
  std::map<Bytes, std::vector<BufferId>> cached_mapped_;
  std::map<Bytes, std::vector<BufferId>> cached_unmapped_;
};

}  // namespace refrain::engine
