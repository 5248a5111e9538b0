// Buffers, the pages behind them, and the cap. Knows nothing of values or ops: it never decides what to give
// up, it only says that something must be.
#pragma once

#include <map>
#include <vector>

#include "engine/device.hpp"

namespace refrain::engine {

struct Buffer {
  Bytes bytes = 0;          // of its pages
  Bytes extent_bytes = 0;   // what a copy of it elsewhere needs: more, where it shares its outermost pages
  PagesId pages;            // none: not mapped
  ValueId current;          // what the program can read there; none: never written, or not the program's
  ValueId held;             // the value whose location this is; none: contents are of no interest
  bool placed = false;      // the caller gave it its addresses, for this one buffer
  bool adopted = false;     // pinned memory of the caller's: always there, never ours to unmap
  std::uint32_t holds = 0;  // blocking calls that are using it without the caller's lock
  bool pinned = false;      // mapped for as long as the program has it
  bool program = false;  // named by the program; else cached, scratch, or kept aside for somebody's lineage
  bool idle = false;     // mapped, but whatever is in it may go: its pages are the first to be taken
  BufferId idle_before;  // neighbours among the idle buffers of its size
  BufferId idle_after;
  bool mapped() const noexcept { return adopted || static_cast<bool>(pages); }
};

// Calls of the device for memory, since the beginning. What they take is per call, not per byte.
struct MappingCalls {
  std::uint64_t created = 0, destroyed = 0;  // pages
  std::uint64_t mapped = 0, unmapped = 0;    // buffers
};

struct MappingCost {
  double create_ns = 0, destroy_ns = 0;
  double map_ns = 0, unmap_ns = 0;  // map: until the device may access it
  double operator()(const MappingCalls& calls) const noexcept {
    return static_cast<double>(calls.created) * create_ns +
           static_cast<double>(calls.destroyed) * destroy_ns + static_cast<double>(calls.mapped) * map_ns +
           static_cast<double>(calls.unmapped) * unmap_ns;
  }
};

// What is assumed of a device: 2 MiB on an A100 (vAttention, ASPLOS 2025, table of driver calls).
inline constexpr MappingCost kAssumedMapping = {
    .create_ns = 29'000, .destroy_ns = 23'000, .map_ns = 38'000, .unmap_ns = 26'000};

class Memory {
 public:
  Memory(Device& device, Bytes cap_bytes) : device_(device), cap_bytes_(cap_bytes) {}

  Buffer& buffer(BufferId id) { return buffers_[id.index]; }
  const Buffer& buffer(BufferId id) const { return buffers_[id.index]; }
  std::size_t buffer_slots() const noexcept { return buffers_.size(); }

  // A buffer of exactly that size, given back before or newly reserved. It may still be mapped, but its pages
  // are idle until it is backed. none: no address space.
  BufferId acquire(Bytes bytes);
  // Memory of the caller's that is always mapped and already counted.
  BufferId adopt(Bytes bytes);
  // A buffer at addresses of the caller's, which may share pages that are always there with its neighbours;
  // it has pages of its own, as any other, but its range serves no other buffer.
  BufferId place(Bytes bytes, Bytes extent_bytes);
  // The contents are of no interest any longer: the range, and its mapping, may serve another buffer.
  void give_back(BufferId id);

  // Makes sure that there are pages in the buffer which stay, taking idle ones before new ones. false: only
  // by giving something up.
  bool back(BufferId id);
  // What is in the buffer is of no interest, though it keeps its owner.
  void make_idle(BufferId id);
  // Takes the pages out of the buffer and keeps them idle. false: the device cannot do that now.
  bool unback(BufferId id);

  // Device memory that does not come from here (the program's own handles, managed memory) counts toward the
  // cap. false: no room without giving something up.
  bool charge_external(Bytes bytes);
  void count_external(Bytes bytes);  // even where that is more than the cap
  void discharge_external(Bytes bytes) { external_bytes_ -= bytes; }

  Bytes cap_bytes() const noexcept { return cap_bytes_; }
  Bytes external_bytes() const noexcept { return external_bytes_; }
  Bytes held_bytes() const noexcept { return held_bytes_ + external_bytes_; }  // what the cap is about
  Bytes peak_held_bytes() const noexcept { return peak_held_bytes_; }
  Bytes idle_bytes() const noexcept {
    return idle_bytes_;
  }  // part of held: behind no buffer, or a cached one
  Bytes used_bytes() const noexcept { return held_bytes() - idle_bytes_; }
  const MappingCalls& mapping_calls() const noexcept { return mapping_calls_; }
  bool fits_cap(Bytes bytes) const noexcept { return bytes <= cap_bytes_; }

  const char* check_invariants() const;

 private:
  struct IdleBuffers {  // oldest first
    BufferId first;
    BufferId last;
  };
  bool grow(Bytes bytes, PagesId& out);
  bool trim_to(Bytes room_bytes);
  void destroy_idle(std::map<Bytes, std::vector<PagesId>>::iterator it);
  PagesId take_pages_of_idle_buffer(Bytes bytes);
  bool map(BufferId id, PagesId pages);
  bool unmap(BufferId id);
  void unlink_idle(BufferId id);
  BufferId new_slot(Bytes bytes);

  Device& device_;
  Bytes cap_bytes_;
  Bytes held_bytes_ = 0;
  Bytes external_bytes_ = 0;
  Bytes idle_bytes_ = 0;
  Bytes peak_held_bytes_ = 0;
  MappingCalls mapping_calls_;
  std::vector<Buffer> buffers_;
  std::vector<BufferId> free_slots_;
  std::map<Bytes, std::vector<PagesId>> idle_pages_;
  std::map<Bytes, IdleBuffers> idle_buffers_;
  std::map<Bytes, std::vector<BufferId>> cached_;  // given back, nobody's
};

}  // namespace refrain::engine
