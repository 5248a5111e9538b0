// What an AddressSpace is made of, for the files of this folder: reservations, handles, mappings, allocations
// and what is gone. It must never touch the bytes of the device, only their states.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "simgpu/memory/address_space.hpp"
#include "simgpu/memory/backing_store.hpp"
#include "simgpu/memory/range_allocator.hpp"

namespace refrain::simgpu {

constexpr std::uint64_t kAllocationAlignment = 512;
// Sparse: only pages in use take memory. Room enough that fragmentation of offsets never matters.
constexpr std::uint64_t kFileBytes = 1ull << 46;

inline std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) & ~(unit - 1);
}

struct Physical {
  std::uint64_t file_offset;
  std::uint64_t bytes;
  Ordinal owner;
  std::uint32_t mappings = 0;
  bool released = false;
  bool counted = true;  // as the device's memory
};

constexpr PeerGroup kNoGroup = ~PeerGroup{0};
constexpr std::uint8_t kOpenToAll = 0xff;

struct Mapping {
  std::uint64_t bytes;
  PhysicalHandle handle;
  PeerGroup group = kNoGroup;  // that opens it
};

struct OpenGroup {
  Ordinal owner;
  std::uint8_t state;  // of its pages
};

// What a device has of its own.
struct Budget {
  std::uint64_t used = 0, peak = 0;  // physical bytes
  std::uint64_t heap_limit = 8u << 20;
  std::uint64_t heap_used = 0;
};

// Pages shared by small allocations.
struct Slab {
  Slab(std::uint64_t begin, std::uint64_t end, PeerGroup of) : ranges(begin, end), group(of) {}
  RangeAllocator ranges;
  PeerGroup group;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> held_back;  // freed, not yet to be used again
  std::uint32_t live = 0;
};

struct Allocation {
  std::uint64_t bytes;  // as asked
  bool in_slab;
  std::uint64_t number;  // counted from 1
  bool on_heap = false;
  Kind kind = Kind::kDevice;
};

// Something that was at an address, for messages.
struct Gone {
  std::uint64_t base;
  std::uint64_t bytes;
  std::string_view how;
  std::uint64_t number;  // of an allocation, else 0
};
constexpr std::size_t kRememberedGone = 4096;
// With a shadow, addresses of freed memory are used again late, so that stale pointers are caught.
constexpr std::uint64_t kHeldBackBytes = 16ull << 30;

struct AddressSpace::Impl {
  explicit Impl(const MemorySettings& wanted)
      : settings(wanted),
        store(wanted.granularity_bytes, wanted.shadow),
        addresses(round_up(store.begin(), wanted.granularity_bytes),
                  store.end() / wanted.granularity_bytes * wanted.granularity_bytes),
        offsets(0, kFileBytes) {
    for (Ordinal device = 0; device < wanted.devices; ++device) groups.push_back(own_group(device));
  }

  bool whole_pages(std::uint64_t value) const {
    return value != 0 && value % settings.granularity_bytes == 0;
  }
  // With a shadow, addresses behind each allocation belong to nobody: who runs past its end is caught, and
  // does not come into the next one.
  std::uint64_t gap_after(std::uint64_t unit) const noexcept { return settings.shadow ? unit : 0; }
  static OpenGroup own_group(Ordinal owner) {
    return {owner, shifted(static_cast<std::uint8_t>(Access::kReadWrite), owner)};
  }
  // The two bits of a state that are about a device.
  static std::uint8_t shifted(std::uint8_t bits, Ordinal device) {
    return static_cast<std::uint8_t>(bits << 2 * device);
  }
  void change_state(std::uint64_t address, std::uint64_t bytes, Ordinal device, Access access) noexcept {
    store.change_state(address, bytes, shifted(3, device),
                       shifted(static_cast<std::uint8_t>(access), device));
  }
  const Physical* physical_at(std::uint64_t address) const;
  std::string whose(std::uint64_t address, std::optional<Ordinal> by) const;
  MemoryError create(Ordinal owner, std::uint64_t bytes, PhysicalHandle& out, bool counted = true);
  void drop_if_unused(std::map<PhysicalHandle, Physical>::iterator it);
  MemoryError map(std::uint64_t address, std::uint64_t bytes, PhysicalHandle handle);
  void unmap_one(std::map<std::uint64_t, Mapping>::iterator it);
  MemoryError allocate_pages(PeerGroup group, std::uint64_t bytes, std::uint64_t& out,
                             Kind kind = Kind::kDevice);
  MemoryError allocate_shown(PeerGroup group, std::uint64_t bytes, std::uint64_t& out, Kind kind);
  void free_pages(std::uint64_t address);
  MemoryError allocate_in_slab(PeerGroup group, std::uint64_t bytes, std::uint64_t& out);
  void free_in_slab(std::uint64_t address, std::uint64_t bytes);
  bool take_in_slabs(PeerGroup group, std::uint64_t bytes, std::uint64_t& out);
  void give_back_held();
  MemoryError allocate(PeerGroup group, std::uint64_t bytes, std::uint64_t& out, Kind kind = Kind::kDevice);
  void free(std::map<std::uint64_t, Allocation>::iterator it);
  void remember(Gone gone);
  void set_states(std::uint64_t address, std::uint64_t bytes, std::uint8_t state) const noexcept {
    if (std::uint8_t* states = store.shadow(address); states != nullptr) std::memset(states, state, bytes);
  }

  MemorySettings settings;
  mutable std::mutex mutex;  // everything below, and the store but for `allows` and `host`
  mutable std::mutex execution;
  BackingStore store;
  RangeAllocator addresses;
  RangeAllocator offsets;
  std::map<std::uint64_t, std::uint64_t> reservations;  // begin -> bytes
  std::map<PhysicalHandle, Physical> handles;
  std::map<std::uint64_t, Mapping> mappings;
  std::map<std::uint64_t, Slab> slabs;
  std::map<std::uint64_t, Allocation> allocations;
  std::deque<Gone> gone;
  std::deque<std::pair<std::uint64_t, std::uint64_t>> held_back;  // address ranges
  std::uint64_t held_back_bytes = 0;
  std::uint64_t next_number = 1;
  PhysicalHandle next_handle = 1;
  std::vector<OpenGroup> groups;  // by PeerGroup
  std::array<Budget, kMaxDevices> budgets;
  std::uint64_t used = 0;  // by all devices
  std::uint64_t peak = 0;
};

}  // namespace refrain::simgpu
