// Reservations, handles, mappings and access over a BackingStore, with exact physical accounting.
// It must never touch the bytes themselves.
#include "simgpu/memory/address_space.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <vector>

#include "simgpu/memory/address_space_impl.hpp"

namespace refrain::simgpu {
namespace {

bool all_are(const std::uint8_t* states, std::uint64_t bytes, std::uint8_t bit, bool set) noexcept {
  std::uint8_t differs = 0;
  const std::uint8_t wanted = set ? bit : std::uint8_t{0};
  for (std::uint64_t i = 0; i < bytes; ++i) differs |= (states[i] ^ wanted) & bit;
  return differs == 0;
}

const MemorySettings& checked(const MemorySettings& settings) {
  const std::uint64_t granularity = settings.granularity_bytes;
  if (!std::has_single_bit(granularity) || granularity < 4096) {
    throw std::invalid_argument("simgpu granularity: a power of two of at least 4096 bytes");
  }
  if (settings.devices < 1 || settings.devices > kMaxDevices)
    throw std::invalid_argument("simgpu devices: 1 to 4");
  return settings;
}

}  // namespace

AddressSpace::AddressSpace(const MemorySettings& settings)
    : impl_(std::make_unique<Impl>(checked(settings))) {}
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

MemoryError AddressSpace::Impl::create(Ordinal owner, std::uint64_t bytes, PhysicalHandle& out,
                                       bool counted) {
  if (!whole_pages(bytes) || owner >= settings.devices) return MemoryError::kInvalidValue;
  Budget& budget = budgets[owner];
  if (counted && bytes > settings.physical_bytes - budget.used) return MemoryError::kOutOfMemory;
  const auto offset = offsets.take(bytes, settings.granularity_bytes);
  if (!offset) return MemoryError::kOutOfMemory;
  if (!store.extend_file(*offset + bytes)) {
    offsets.give_back(*offset, bytes);
    return MemoryError::kOutOfMemory;
  }
  out = next_handle++;
  handles.emplace(out, Physical{*offset, bytes, owner, 0, false, counted});
  if (counted) {
    used += bytes;
    budget.used += bytes;
  }
  peak = std::max(peak, used);
  budget.peak = std::max(budget.peak, budget.used);
  return MemoryError::kNone;
}

void AddressSpace::Impl::drop_if_unused(std::map<PhysicalHandle, Physical>::iterator it) {
  const Physical& physical = it->second;
  if (!physical.released || physical.mappings != 0) return;
  store.discard(physical.file_offset, physical.bytes);
  offsets.give_back(physical.file_offset, physical.bytes);
  if (physical.counted) {
    used -= physical.bytes;
    budgets[physical.owner].used -= physical.bytes;
  }
  handles.erase(it);
}

MemoryError AddressSpace::create(Ordinal owner, std::uint64_t bytes, PhysicalHandle& out) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->create(owner, bytes, out);
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
  for (const auto& it : whole) {
    impl_->remember({it->first, it->second.bytes, "unmapped by cuMemUnmap", 0});
    impl_->unmap_one(it);
  }
  return MemoryError::kNone;
}

MemoryError AddressSpace::set_access(Ordinal by, DeviceAddress address, std::uint64_t bytes, Access access) {
  const std::lock_guard lock(impl_->mutex);
  if (by >= impl_->settings.devices || !impl_->whole_pages(bytes) ||
      address % impl_->settings.granularity_bytes != 0) {
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
  impl_->change_state(address, bytes, by, access);
  return MemoryError::kNone;
}

PeerGroup AddressSpace::make_group(Ordinal owner) {
  const std::lock_guard lock(impl_->mutex);
  impl_->groups.push_back(Impl::own_group(owner));
  return static_cast<PeerGroup>(impl_->groups.size() - 1);
}

void AddressSpace::open_group(PeerGroup group, Ordinal to, Access access) {
  const std::lock_guard running(impl_->execution);
  const std::lock_guard lock(impl_->mutex);
  OpenGroup& opened = impl_->groups.at(group);
  if (to == opened.owner) return;
  opened.state = static_cast<std::uint8_t>((opened.state & ~Impl::shifted(3, to)) |
                                           Impl::shifted(static_cast<std::uint8_t>(access), to));
  for (const auto& [address, mapping] : impl_->mappings) {
    if (mapping.group == group) impl_->change_state(address, mapping.bytes, to, access);
  }
}

const Physical* AddressSpace::Impl::physical_at(std::uint64_t address) const {
  const auto after = mappings.upper_bound(address);
  if (after == mappings.begin()) return nullptr;
  const auto& [base, mapping] = *std::prev(after);
  return address - base < mapping.bytes ? &handles.at(mapping.handle) : nullptr;
}

std::optional<Ordinal> AddressSpace::owner_of(DeviceAddress address) const {
  const std::lock_guard lock(impl_->mutex);
  const Physical* physical = impl_->physical_at(address);
  return physical == nullptr ? std::nullopt : std::optional(physical->owner);
}

DeviceAddress AddressSpace::begin() const noexcept {
  return impl_->store.begin();
}

bool AddressSpace::owns(DeviceAddress address) const noexcept {
  return address >= impl_->store.begin() && address < impl_->store.end();
}

std::byte* AddressSpace::translate_pages(DeviceAddress address, std::uint64_t bytes, Access access,
                                         Accessor by) const noexcept {
  if (!impl_->store.allows(address, bytes, by.bits(access))) return nullptr;
  return impl_->store.host(address);
}

std::byte* AddressSpace::translate(DeviceAddress address, std::uint64_t bytes, Access access,
                                   Accessor by) const noexcept {
  std::byte* pages = translate_pages(address, bytes, access, by);
  if (pages == nullptr || !impl_->settings.shadow) return pages;
  return all_are(impl_->store.shadow(address), bytes, kOutside, false) ? pages : nullptr;
}

std::uint8_t* AddressSpace::shadow(DeviceAddress address) const noexcept {
  return impl_->store.shadow(address);
}

bool AddressSpace::written(DeviceAddress address, std::uint64_t bytes) const noexcept {
  const std::uint8_t* states = impl_->store.shadow(address);
  return states == nullptr || all_are(states, bytes, kWritten, true);
}

void AddressSpace::mark_written(DeviceAddress address, std::uint64_t bytes) const noexcept {
  impl_->set_states(address, bytes, kWritten);
}

void AddressSpace::copy_states(DeviceAddress to, DeviceAddress from, std::uint64_t bytes) const noexcept {
  if (impl_->settings.shadow) std::memmove(impl_->store.shadow(to), impl_->store.shadow(from), bytes);
}

std::uint64_t AddressSpace::physical_total_bytes() const noexcept {
  return impl_->settings.physical_bytes;
}
std::uint64_t AddressSpace::physical_used_bytes(Ordinal device) const noexcept {
  const std::lock_guard lock(impl_->mutex);
  return impl_->budgets.at(device).used;
}
std::uint64_t AddressSpace::physical_peak_bytes(Ordinal device) const noexcept {
  const std::lock_guard lock(impl_->mutex);
  return impl_->budgets.at(device).peak;
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
