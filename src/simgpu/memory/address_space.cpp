// Reservations, handles, mappings and allocations over a BackingStore, with exact physical accounting.
// It must never touch the bytes themselves.
#include "simgpu/memory/address_space.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <vector>

#include "simgpu/memory/backing_store.hpp"
#include "simgpu/memory/range_allocator.hpp"

namespace refrain::simgpu {
namespace {

constexpr std::uint64_t kAllocationAlignment = 512;
// Sparse: only pages in use take memory. Room enough that fragmentation of offsets never matters.
constexpr std::uint64_t kFileBytes = 1ull << 46;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) & ~(unit - 1);
}

std::uint64_t checked_granularity(const MemorySettings& settings) {
  const std::uint64_t granularity = settings.granularity_bytes;
  if (!std::has_single_bit(granularity) || granularity < 4096) {
    throw std::invalid_argument("simgpu granularity: a power of two of at least 4096 bytes");
  }
  return granularity;
}

struct Physical {
  std::uint64_t file_offset;
  std::uint64_t bytes;
  std::uint32_t mappings = 0;
  bool released = false;
};

struct Mapping {
  std::uint64_t bytes;
  PhysicalHandle handle;
};

// Pages shared by small allocations.
struct Slab {
  explicit Slab(std::uint64_t begin, std::uint64_t end) : ranges(begin, end) {}
  RangeAllocator ranges;
};

struct Allocation {
  std::uint64_t bytes;  // as asked
  bool in_slab;
};

}  // namespace

struct AddressSpace::Impl {
  explicit Impl(const MemorySettings& wanted)
      : settings(wanted),
        store(checked_granularity(wanted)),
        addresses(round_up(store.begin(), wanted.granularity_bytes),
                  store.end() / wanted.granularity_bytes * wanted.granularity_bytes),
        offsets(0, kFileBytes) {}

  bool whole_pages(std::uint64_t value) const {
    return value != 0 && value % settings.granularity_bytes == 0;
  }
  MemoryError create(std::uint64_t bytes, PhysicalHandle& out);
  void drop_if_unused(std::map<PhysicalHandle, Physical>::iterator it);
  MemoryError map(std::uint64_t address, std::uint64_t bytes, PhysicalHandle handle);
  void unmap_one(std::map<std::uint64_t, Mapping>::iterator it);
  MemoryError allocate_pages(std::uint64_t bytes, std::uint64_t& out);
  void free_pages(std::uint64_t address);
  MemoryError allocate_in_slab(std::uint64_t bytes, std::uint64_t& out);
  void free_in_slab(std::uint64_t address, std::uint64_t bytes);

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
  PhysicalHandle next_handle = 1;
  std::uint64_t used = 0;
  std::uint64_t peak = 0;
};

AddressSpace::AddressSpace(const MemorySettings& settings) : impl_(std::make_unique<Impl>(settings)) {}
AddressSpace::~AddressSpace() = default;

MemoryError AddressSpace::reserve(std::uint64_t bytes, std::uint64_t alignment, DeviceAddress hint,
                                  DeviceAddress& out) {
  const std::lock_guard lock(impl_->mutex);
  if (alignment == 0) alignment = impl_->settings.granularity_bytes;
  if (!impl_->whole_pages(bytes) || !std::has_single_bit(alignment)) return MemoryError::kInvalidValue;
  alignment = std::max(alignment, impl_->settings.granularity_bytes);
  if (hint != 0 && hint % alignment == 0 && impl_->addresses.take_at(hint, bytes)) {
    out = hint;
  } else if (const auto address = impl_->addresses.take(bytes, alignment)) {
    out = *address;
  } else {
    return MemoryError::kOutOfMemory;
  }
  impl_->reservations.emplace(out, bytes);
  return MemoryError::kNone;
}

MemoryError AddressSpace::release_range(DeviceAddress address, std::uint64_t bytes) {
  const std::lock_guard lock(impl_->mutex);
  const auto it = impl_->reservations.find(address);
  if (it == impl_->reservations.end() || it->second != bytes) return MemoryError::kInvalidValue;
  const auto mapped = impl_->mappings.lower_bound(address);
  if (mapped != impl_->mappings.end() && mapped->first < address + bytes) return MemoryError::kInvalidValue;
  impl_->reservations.erase(it);
  impl_->addresses.give_back(address, bytes);
  return MemoryError::kNone;
}

MemoryError AddressSpace::Impl::create(std::uint64_t bytes, PhysicalHandle& out) {
  if (!whole_pages(bytes)) return MemoryError::kInvalidValue;
  if (bytes > settings.physical_bytes - used) return MemoryError::kOutOfMemory;
  const auto offset = offsets.take(bytes, settings.granularity_bytes);
  if (!offset) return MemoryError::kOutOfMemory;
  if (!store.extend_file(*offset + bytes)) {
    offsets.give_back(*offset, bytes);
    return MemoryError::kOutOfMemory;
  }
  out = next_handle++;
  handles.emplace(out, Physical{*offset, bytes});
  used += bytes;
  peak = std::max(peak, used);
  return MemoryError::kNone;
}

void AddressSpace::Impl::drop_if_unused(std::map<PhysicalHandle, Physical>::iterator it) {
  const Physical& physical = it->second;
  if (!physical.released || physical.mappings != 0) return;
  store.discard(physical.file_offset, physical.bytes);
  offsets.give_back(physical.file_offset, physical.bytes);
  used -= physical.bytes;
  handles.erase(it);
}

MemoryError AddressSpace::create(std::uint64_t bytes, PhysicalHandle& out) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->create(bytes, out);
}

MemoryError AddressSpace::release(PhysicalHandle handle) {
  const std::lock_guard lock(impl_->mutex);
  const auto it = impl_->handles.find(handle);
  if (it == impl_->handles.end() || it->second.released) return MemoryError::kInvalidValue;
  it->second.released = true;
  impl_->drop_if_unused(it);
  return MemoryError::kNone;
}

MemoryError AddressSpace::Impl::map(std::uint64_t address, std::uint64_t bytes, PhysicalHandle handle) {
  const auto physical = handles.find(handle);
  if (physical == handles.end() || physical->second.released || physical->second.bytes != bytes) {
    return MemoryError::kInvalidValue;
  }
  if (address % settings.granularity_bytes != 0) return MemoryError::kInvalidValue;
  auto reservation = reservations.upper_bound(address);
  if (reservation == reservations.begin()) return MemoryError::kInvalidValue;
  --reservation;
  const std::uint64_t end = reservation->first + reservation->second;
  if (address >= end || bytes > end - address) return MemoryError::kInvalidValue;
  const auto after = mappings.lower_bound(address);
  if (after != mappings.end() && after->first < address + bytes) return MemoryError::kInvalidValue;
  if (after != mappings.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second.bytes > address) return MemoryError::kInvalidValue;
  }
  if (!store.attach(address, bytes, physical->second.file_offset)) return MemoryError::kOutOfMemory;
  mappings.emplace(address, Mapping{bytes, handle});
  ++physical->second.mappings;
  return MemoryError::kNone;
}

MemoryError AddressSpace::map(DeviceAddress address, std::uint64_t bytes, std::uint64_t offset,
                              PhysicalHandle handle) {
  const std::lock_guard lock(impl_->mutex);
  if (offset != 0) return MemoryError::kInvalidValue;
  return impl_->map(address, bytes, handle);
}

void AddressSpace::Impl::unmap_one(std::map<std::uint64_t, Mapping>::iterator it) {
  store.set_state(it->first, it->second.bytes, static_cast<std::uint8_t>(Access::kNone));
  store.detach(it->first, it->second.bytes);
  const auto physical = handles.find(it->second.handle);
  mappings.erase(it);
  --physical->second.mappings;
  drop_if_unused(physical);
}

MemoryError AddressSpace::unmap(DeviceAddress address, std::uint64_t bytes) {
  const std::lock_guard running(impl_->execution);
  const std::lock_guard lock(impl_->mutex);
  std::vector<std::map<std::uint64_t, Mapping>::iterator> whole;
  std::uint64_t end = address;
  for (auto it = impl_->mappings.find(address);
       it != impl_->mappings.end() && it->first == end && end - address < bytes; ++it) {
    whole.push_back(it);
    end += it->second.bytes;
  }
  if (whole.empty() || end - address != bytes || impl_->allocations.contains(address)) {
    return MemoryError::kInvalidValue;
  }
  for (const auto& it : whole) impl_->unmap_one(it);
  return MemoryError::kNone;
}

MemoryError AddressSpace::set_access(DeviceAddress address, std::uint64_t bytes, Access access) {
  const std::lock_guard lock(impl_->mutex);
  if (!impl_->whole_pages(bytes) || address % impl_->settings.granularity_bytes != 0) {
    return MemoryError::kInvalidValue;
  }
  auto it = impl_->mappings.upper_bound(address);
  if (it == impl_->mappings.begin()) return MemoryError::kInvalidValue;
  --it;
  for (std::uint64_t covered = address; covered < address + bytes; ++it) {
    if (it == impl_->mappings.end() || it->first > covered || it->first + it->second.bytes <= covered) {
      return MemoryError::kInvalidValue;
    }
    covered = it->first + it->second.bytes;
  }
  impl_->store.set_state(address, bytes, static_cast<std::uint8_t>(access));
  return MemoryError::kNone;
}

MemoryError AddressSpace::Impl::allocate_pages(std::uint64_t bytes, std::uint64_t& out) {
  const auto address = addresses.take(bytes, settings.granularity_bytes);
  if (!address) return MemoryError::kOutOfMemory;
  PhysicalHandle handle = 0;
  MemoryError error = create(bytes, handle);
  if (error == MemoryError::kNone) {
    reservations.emplace(*address, bytes);
    error = map(*address, bytes, handle);
    const auto physical = handles.find(handle);
    physical->second.released = true;  // lives as long as its mapping
    if (error != MemoryError::kNone) {
      reservations.erase(*address);
      drop_if_unused(physical);
    }
  }
  if (error != MemoryError::kNone) {
    addresses.give_back(*address, bytes);
    return error;
  }
  store.set_state(*address, bytes, static_cast<std::uint8_t>(Access::kReadWrite));
  out = *address;
  return MemoryError::kNone;
}

void AddressSpace::Impl::free_pages(std::uint64_t address) {
  const auto it = mappings.find(address);
  const std::uint64_t bytes = it->second.bytes;
  unmap_one(it);
  reservations.erase(address);
  addresses.give_back(address, bytes);
}

MemoryError AddressSpace::Impl::allocate_in_slab(std::uint64_t bytes, std::uint64_t& out) {
  for (auto& [base, slab] : slabs) {
    if (const auto address = slab.ranges.take(bytes, kAllocationAlignment)) {
      out = *address;
      return MemoryError::kNone;
    }
  }
  std::uint64_t base = 0;
  const MemoryError error = allocate_pages(settings.granularity_bytes, base);
  if (error != MemoryError::kNone) return error;
  auto& slab = slabs.emplace(base, Slab(base, base + settings.granularity_bytes)).first->second;
  out = slab.ranges.take(bytes, kAllocationAlignment).value();
  return MemoryError::kNone;
}

void AddressSpace::Impl::free_in_slab(std::uint64_t address, std::uint64_t bytes) {
  const auto it = std::prev(slabs.upper_bound(address));
  it->second.ranges.give_back(address, bytes);
  if (!it->second.ranges.empty_but_for_free()) return;
  const std::uint64_t base = it->first;
  slabs.erase(it);
  free_pages(base);
}

MemoryError AddressSpace::allocate(std::uint64_t bytes, DeviceAddress& out) {
  const std::lock_guard lock(impl_->mutex);
  if (bytes == 0) return MemoryError::kInvalidValue;
  if (bytes > impl_->settings.physical_bytes) return MemoryError::kOutOfMemory;
  const bool in_slab = round_up(bytes, kAllocationAlignment) < impl_->settings.granularity_bytes;
  const MemoryError error =
      in_slab ? impl_->allocate_in_slab(round_up(bytes, kAllocationAlignment), out)
              : impl_->allocate_pages(round_up(bytes, impl_->settings.granularity_bytes), out);
  if (error == MemoryError::kNone) impl_->allocations.emplace(out, Allocation{bytes, in_slab});
  return error;
}

MemoryError AddressSpace::free(DeviceAddress address) {
  const std::lock_guard running(impl_->execution);
  const std::lock_guard lock(impl_->mutex);
  const auto it = impl_->allocations.find(address);
  if (it == impl_->allocations.end()) return MemoryError::kInvalidValue;
  const Allocation allocation = it->second;
  impl_->allocations.erase(it);
  if (allocation.in_slab) {
    impl_->free_in_slab(address, round_up(allocation.bytes, kAllocationAlignment));
  } else {
    impl_->free_pages(address);
  }
  return MemoryError::kNone;
}

std::optional<AddressSpace::Range> AddressSpace::range_of(DeviceAddress address) const {
  const std::lock_guard lock(impl_->mutex);
  if (auto it = impl_->allocations.upper_bound(address); it != impl_->allocations.begin()) {
    --it;
    if (address - it->first < it->second.bytes) return Range{it->first, it->second.bytes};
  }
  auto it = impl_->mappings.upper_bound(address);
  if (it == impl_->mappings.begin()) return std::nullopt;
  --it;
  // Pages that back allocations are not ranges of their own.
  if (address - it->first >= it->second.bytes || impl_->slabs.contains(it->first) ||
      impl_->allocations.contains(it->first)) {
    return std::nullopt;
  }
  return Range{it->first, it->second.bytes};
}

bool AddressSpace::owns(DeviceAddress address) const noexcept {
  return address >= impl_->store.begin() && address < impl_->store.end();
}

std::byte* AddressSpace::translate(DeviceAddress address, std::uint64_t bytes, Access access) const noexcept {
  if (!impl_->store.allows(address, bytes, static_cast<std::uint8_t>(access))) return nullptr;
  return impl_->store.host(address);
}

std::uint64_t AddressSpace::physical_total_bytes() const noexcept {
  return impl_->settings.physical_bytes;
}
std::uint64_t AddressSpace::physical_used_bytes() const noexcept {
  const std::lock_guard lock(impl_->mutex);
  return impl_->used;
}
std::uint64_t AddressSpace::physical_peak_bytes() const noexcept {
  const std::lock_guard lock(impl_->mutex);
  return impl_->peak;
}
std::uint64_t AddressSpace::granularity_bytes() const noexcept {
  return impl_->settings.granularity_bytes;
}
std::mutex& AddressSpace::execution_mutex() const noexcept {
  return impl_->execution;
}

}  // namespace refrain::simgpu
