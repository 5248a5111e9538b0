// cuMemAlloc and cuMemFree: whole pages for the large, slabs for the small; and words about what is where.
// It must never touch the bytes themselves.
#include <fmt/format.h>

#include "simgpu/memory/address_space_impl.hpp"

namespace refrain::simgpu {

MemoryError AddressSpace::Impl::allocate_pages(PeerGroup group, std::uint64_t bytes, std::uint64_t& out,
                                               Kind kind) {
  const std::uint64_t taken = bytes + gap_after(settings.granularity_bytes);
  auto address = addresses.take(taken, settings.granularity_bytes);
  if (!address && !held_back.empty()) {
    give_back_held();
    address = addresses.take(taken, settings.granularity_bytes);
  }
  if (!address) return MemoryError::kOutOfMemory;
  PhysicalHandle handle = 0;
  MemoryError error = create(groups[group].owner, bytes, handle, kind != Kind::kHost);
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
    addresses.give_back(*address, taken);
    return error;
  }
  const bool opened_by_group = kind == Kind::kDevice;
  if (opened_by_group) mappings.at(*address).group = group;
  store.set_state(*address, bytes, opened_by_group ? groups[group].state : kOpenToAll);
  out = *address;
  return MemoryError::kNone;
}

void AddressSpace::Impl::give_back_held() {
  for (const auto& [address, bytes] : held_back) addresses.give_back(address, bytes);
  held_back.clear();
  held_back_bytes = 0;
}

void AddressSpace::Impl::free_pages(std::uint64_t address) {
  const auto it = mappings.find(address);
  const std::uint64_t bytes = it->second.bytes + gap_after(settings.granularity_bytes);
  unmap_one(it);
  reservations.erase(address);
  if (!settings.shadow) {
    addresses.give_back(address, bytes);
    return;
  }
  held_back.emplace_back(address, bytes);
  held_back_bytes += bytes;
  while (held_back_bytes > kHeldBackBytes) {
    const auto [oldest, size] = held_back.front();
    held_back.pop_front();
    held_back_bytes -= size;
    addresses.give_back(oldest, size);
  }
}

void AddressSpace::Impl::remember(Gone what) {
  gone.push_back(what);
  if (gone.size() > kRememberedGone) gone.pop_front();
}

bool AddressSpace::Impl::take_in_slabs(PeerGroup group, std::uint64_t bytes, std::uint64_t& out) {
  for (auto& [base, slab] : slabs) {
    if (slab.group != group) continue;
    if (const auto address = slab.ranges.take(bytes, kAllocationAlignment)) {
      ++slab.live;
      out = *address;
      return true;
    }
  }
  return false;
}

MemoryError AddressSpace::Impl::allocate_in_slab(PeerGroup group, std::uint64_t bytes, std::uint64_t& out) {
  if (take_in_slabs(group, bytes, out)) return MemoryError::kNone;
  for (auto& [base, slab] : slabs) {
    for (const auto& [address, size] : slab.held_back) slab.ranges.give_back(address, size);
    slab.held_back.clear();
  }
  if (take_in_slabs(group, bytes, out)) return MemoryError::kNone;
  std::uint64_t base = 0;
  const MemoryError error = allocate_pages(group, settings.granularity_bytes, base);
  if (error != MemoryError::kNone) return error;
  slabs.emplace(base, Slab(base, base + settings.granularity_bytes, group));
  set_states(base, settings.granularity_bytes, kOutside);
  take_in_slabs(group, bytes, out);
  return MemoryError::kNone;
}

void AddressSpace::Impl::free_in_slab(std::uint64_t address, std::uint64_t bytes) {
  const auto it = std::prev(slabs.upper_bound(address));
  Slab& slab = it->second;
  if (settings.shadow) {
    slab.held_back.emplace_back(address, bytes);
  } else {
    slab.ranges.give_back(address, bytes);
  }
  if (--slab.live != 0) return;
  const std::uint64_t base = it->first;
  slabs.erase(it);
  free_pages(base);
}

MemoryError AddressSpace::Impl::allocate_shown(PeerGroup group, std::uint64_t bytes, std::uint64_t& out,
                                               Kind kind) {
  const std::uint64_t taken = round_up(bytes, settings.granularity_bytes);
  const MemoryError error = allocate_pages(group, taken, out, kind);
  if (error != MemoryError::kNone) return error;
  if (!store.show(out, taken)) {
    free_pages(out);
    return MemoryError::kOutOfMemory;
  }
  allocations.emplace(out, Allocation{bytes, false, next_number++, false, kind});
  set_states(out, bytes, kWritten);
  set_states(out + bytes, taken - bytes, kOutside);
  return MemoryError::kNone;
}

MemoryError AddressSpace::Impl::allocate(PeerGroup group, std::uint64_t bytes, std::uint64_t& out,
                                         Kind kind) {
  if (bytes == 0 || group >= groups.size()) return MemoryError::kInvalidValue;
  if (bytes > BackingStore::kRegionBytes) return MemoryError::kOutOfMemory;
  if (kind != Kind::kDevice) return allocate_shown(group, bytes, out, kind);
  if (bytes > settings.physical_bytes) return MemoryError::kOutOfMemory;
  const bool in_slab = round_up(bytes, kAllocationAlignment) < settings.granularity_bytes;
  const std::uint64_t unit = in_slab ? kAllocationAlignment : settings.granularity_bytes;
  const MemoryError error = in_slab ? allocate_in_slab(group, round_up(bytes, unit) + gap_after(unit), out)
                                    : allocate_pages(group, round_up(bytes, unit), out);
  if (error != MemoryError::kNone) return error;
  allocations.emplace(out, Allocation{bytes, in_slab, next_number++});
  if (in_slab) set_states(out, bytes, 0);
  set_states(out + bytes, round_up(bytes, unit) - bytes, kOutside);
  return MemoryError::kNone;
}

void AddressSpace::Impl::free(std::map<std::uint64_t, Allocation>::iterator it) {
  const auto [address, allocation] = *it;
  allocations.erase(it);
  remember({address, allocation.bytes, "freed", allocation.number});
  if (allocation.kind != Kind::kDevice)
    store.hide(address, round_up(allocation.bytes, settings.granularity_bytes));
  if (allocation.in_slab) {
    set_states(address, allocation.bytes, kOutside);
    free_in_slab(address, round_up(allocation.bytes, kAllocationAlignment) + gap_after(kAllocationAlignment));
  } else {
    free_pages(address);
  }
}

MemoryError AddressSpace::allocate(PeerGroup group, std::uint64_t bytes, DeviceAddress& out, Kind kind) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->allocate(group, bytes, out, kind);
}

MemoryError AddressSpace::free(DeviceAddress address) {
  const std::lock_guard running(impl_->execution);
  const std::lock_guard lock(impl_->mutex);
  const auto it = impl_->allocations.find(address);
  if (it == impl_->allocations.end() || it->second.on_heap) return MemoryError::kInvalidValue;
  impl_->free(it);
  return MemoryError::kNone;
}

MemoryError AddressSpace::heap_allocate(Ordinal owner, std::uint64_t bytes, DeviceAddress& out) const {
  const std::lock_guard lock(impl_->mutex);
  Budget& budget = impl_->budgets.at(owner);
  if (bytes > budget.heap_limit - budget.heap_used) return MemoryError::kOutOfMemory;
  const MemoryError error = impl_->allocate(owner, bytes, out);
  if (error != MemoryError::kNone) return error;
  impl_->allocations.at(out).on_heap = true;
  budget.heap_used += bytes;
  return MemoryError::kNone;
}

MemoryError AddressSpace::heap_free(Ordinal owner, DeviceAddress address) const {
  const std::lock_guard lock(impl_->mutex);
  const auto it = impl_->allocations.find(address);
  const bool given = it != impl_->allocations.end() && it->second.on_heap;
  if (!given || impl_->physical_at(address)->owner != owner) return MemoryError::kInvalidValue;
  impl_->budgets.at(owner).heap_used -= it->second.bytes;
  impl_->free(it);
  return MemoryError::kNone;
}

void AddressSpace::set_heap_limit(Ordinal owner, std::uint64_t bytes) {
  const std::lock_guard lock(impl_->mutex);
  Budget& budget = impl_->budgets.at(owner);
  budget.heap_limit = std::max(bytes, budget.heap_used);
}

std::optional<AddressSpace::Range> AddressSpace::range_of(DeviceAddress address) const {
  const std::lock_guard lock(impl_->mutex);
  if (auto it = impl_->allocations.upper_bound(address); it != impl_->allocations.begin()) {
    --it;
    if (address - it->first < it->second.bytes) return Range{it->first, it->second.bytes, it->second.on_heap};
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

// "", or whose memory is at an address that a device may not read.
std::string AddressSpace::Impl::whose(std::uint64_t address, std::optional<Ordinal> by) const {
  const Physical* physical = physical_at(address);
  if (!by || physical == nullptr || physical->owner == *by) return "";
  if (store.allows(address, 1, Accessor::device(*by).bits(Access::kRead))) return "";
  const PeerGroup group = std::prev(mappings.upper_bound(address))->second.group;
  return fmt::format(", memory of device {}, which {} opens to device {}", physical->owner,
                     group == kNoGroup          ? "cuMemSetAccess"
                     : group < settings.devices ? "cuCtxEnablePeerAccess"
                                                : "cuMemPoolSetAccess",
                     *by);
}

std::string AddressSpace::describe(DeviceAddress address, std::optional<Ordinal> by) const {
  if (!owns(address)) return "not an address of the device";
  const std::lock_guard lock(impl_->mutex);
  const auto& allocations = impl_->allocations;
  auto allocation = allocations.upper_bound(address);
  allocation = allocation == allocations.begin() ? allocations.end() : std::prev(allocation);
  const auto named = [](const char* where, std::uint64_t offset, const auto& entry) {
    return fmt::format("{}{} allocation {} ({} bytes at 0x{:x})", offset, where, entry.second.number,
                       entry.second.bytes, entry.first);
  };
  if (allocation != allocations.end() && address - allocation->first < allocation->second.bytes) {
    return "byte " + named(" of", address - allocation->first, *allocation) + impl_->whose(address, by);
  }
  auto mapping = impl_->mappings.upper_bound(address);
  if (mapping != impl_->mappings.begin()) {
    --mapping;
    const bool backs = impl_->slabs.contains(mapping->first) || allocations.contains(mapping->first);
    if (!backs && address - mapping->first < mapping->second.bytes) {
      return fmt::format("byte {} of the {} bytes mapped at 0x{:x}{}", address - mapping->first,
                         mapping->second.bytes, mapping->first, impl_->whose(address, by));
    }
  }
  for (auto it = impl_->gone.rbegin(); it != impl_->gone.rend(); ++it) {
    if (address - it->base >= it->bytes) continue;
    const std::string what = it->number == 0 ? "memory" : fmt::format("allocation {}", it->number);
    return fmt::format("byte {} of {} ({} bytes at 0x{:x}), which was {}", address - it->base, what,
                       it->bytes, it->base, it->how);
  }
  constexpr std::uint64_t kNear = 1u << 20;
  if (allocation != allocations.end() && address - allocation->first - allocation->second.bytes < kNear) {
    return named(" bytes past the end of", address - allocation->first - allocation->second.bytes,
                 *allocation);
  }
  return "nothing is mapped there";
}

}  // namespace refrain::simgpu
