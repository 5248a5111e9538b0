// The virtual memory calls: ranges, physical handles, mappings, access. It must not wait for work: as on a
// device, what is still queued and touches an unmapped range faults.
#include "simgpu/driver/pool.hpp"
#include "simgpu/driver/profile.hpp"
#include "simgpu/driver/session.hpp"

namespace refrain::simgpu::driver {
namespace {

void check(MemoryError error) {
  require(error != MemoryError::kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
  require(error == MemoryError::kNone);
}

Ordinal checked_place(const Device& device, const CUmemAllocationProp* properties) {
  require(properties != nullptr && properties->type == CU_MEM_ALLOCATION_TYPE_PINNED);
  if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) refuse("cuMemCreate of host memory");
  const Ordinal ordinal = ordinal_of(device, properties->location);
  if (properties->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE)
    refuse("cuMemCreate of a shareable handle");
  return ordinal;
}

void drop_if_unused(Device& device, std::map<PhysicalHandle, PhysicalMemory>::iterator entry) {
  if (entry->second.handles > 0 || entry->second.mappings > 0) return;
  check(device.memory.release(entry->first));
  device.physical.erase(entry);
}

Card& card_of(Device& device, const PhysicalMemory& physical) {
  return device.card(physical.properties.location.id);
}

// The mapping that holds an address.
std::map<DeviceAddress, Mapping>::iterator mapping_at(Device& device, DeviceAddress address) {
  auto after = device.mappings.upper_bound(address);
  require(after != device.mappings.begin());
  --after;
  require(address - after->first < after->second.bytes);
  return after;
}

// Calls body for each mapping of a range that whole mappings cover without a gap.
template <class Body>
void for_whole_mappings(Device& device, DeviceAddress address, std::uint64_t bytes, Body body) {
  const auto first = device.mappings.find(address);
  require(first != device.mappings.end() && bytes > 0);
  std::uint64_t covered = 0;
  for (auto entry = first; covered < bytes; ++entry) {
    require(entry != device.mappings.end() && entry->first == address + covered);
    covered += entry->second.bytes;
  }
  require(covered == bytes);
  covered = 0;
  for (auto entry = first; covered < bytes;) {
    covered += entry->second.bytes;
    const auto here = entry++;
    body(here);
  }
}

}  // namespace
}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;
using refrain::simgpu::Access;
using refrain::simgpu::PhysicalHandle;

CUresult cuMemAddressReserve(CUdeviceptr* out, size_t bytes, size_t alignment, CUdeviceptr hint,
                             unsigned long long flags) {
  return api(Need::kDevice, [&](Session& session) {
    require(out != nullptr && bytes > 0 && flags == 0);
    refrain::simgpu::DeviceAddress address = 0;
    check(session.device.memory.reserve(bytes, alignment, hint, address));
    session.device.reservations[address] = bytes;
    *out = address;
  });
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  return api(Need::kDevice, [&](Session& session) {
    auto& device = session.device;
    const auto found = device.reservations.find(address);
    require(found != device.reservations.end() && found->second == bytes);
    const auto mapped = device.mappings.lower_bound(address);
    require(mapped == device.mappings.end() || mapped->first - address >= bytes);
    check(device.memory.release_range(address, bytes));
    device.reservations.erase(found);
  });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* out, size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  return api(Need::kDevice, [&](Session& session) {
    require(out != nullptr && bytes > 0 && flags == 0);
    const Ordinal ordinal = checked_place(session.device, properties);
    Card& card = session.device.cards[ordinal];
    ++card.statistics.create_calls;
    require(bytes % session.device.memory.granularity_bytes() == 0);
    PhysicalHandle handle = 0;
    check(session.device.memory.create(ordinal, bytes, handle));
    session.device.physical.emplace(handle, PhysicalMemory{bytes, 1, 0, *properties});
    card.stall_ns += profile().create_ns;
    *out = handle;
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return api(Need::kDevice, [&](Session& session) {
    auto& physical = session.device.physical;
    const auto found = physical.find(handle);
    require(found != physical.end() && found->second.handles > 0);
    --found->second.handles;
    card_of(session.device, found->second).stall_ns += profile().release_ns;
    drop_if_unused(session.device, found);
  });
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  return api(Need::kDevice, [&](Session& session) {
    require(flags == 0);
    auto& device = session.device;
    const auto found = device.physical.find(handle);
    require(found != device.physical.end() && found->second.handles > 0);
    require(offset == 0 && bytes == found->second.bytes);
    Card& card = card_of(device, found->second);
    ++card.statistics.map_calls;
    check(device.memory.map(address, bytes, offset, handle));
    device.mappings[address] = {bytes, handle, {}};
    ++found->second.mappings;
    card.stall_ns += profile().map_ns;
  });
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  return api(Need::kDevice, [&](Session& session) {
    auto& device = session.device;
    const auto first = mapping_at(device, address);
    ++card_of(device, device.physical.at(first->second.handle)).statistics.unmap_calls;
    for_whole_mappings(device, address, bytes, [&](auto entry) {
      Card& card = card_of(device, device.physical.at(entry->second.handle));
      check(device.memory.unmap(entry->first, entry->second.bytes));
      const auto physical = device.physical.find(entry->second.handle);
      --physical->second.mappings;
      drop_if_unused(device, physical);
      device.mappings.erase(entry);
      card.stall_ns += profile().unmap_ns;
    });
  });
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* descriptions,
                        size_t count) {
  return api(Need::kDevice, [&](Session& session) {
    require(descriptions != nullptr && count > 0);
    for (size_t index = 0; index < count; ++index) {
      const CUmemAccessDesc& wanted = descriptions[index];
      const Ordinal by = ordinal_of(session.device, wanted.location);
      const Access access = access_of(wanted.flags);
      for_whole_mappings(session.device, address, bytes,
                         [&](auto entry) { entry->second.access[by] = wanted.flags; });
      check(session.device.memory.set_access(by, address, bytes, access));
      session.device.cards[by].stall_ns += profile().set_access_ns;
    }
  });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  return api(Need::kDevice, [&](Session& session) {
    require(flags != nullptr && location != nullptr);
    const Ordinal by = ordinal_of(session.device, *location);
    *flags = mapping_at(session.device, address)->second.access[by];
  });
}

CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags) {
  return api(Need::kDevice, [&](Session& session) {
    require(bytes != nullptr);
    checked_place(session.device, properties);
    *bytes = session.device.memory.granularity_bytes();
  });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                CUmemGenericAllocationHandle handle) {
  return api(Need::kDevice, [&](Session& session) {
    const auto found = session.device.physical.find(handle);
    require(properties != nullptr && found != session.device.physical.end() && found->second.handles > 0);
    *properties = found->second.properties;
  });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* out, void* address) {
  return api(Need::kDevice, [&](Session& session) {
    require(out != nullptr);
    const auto mapping = mapping_at(session.device, reinterpret_cast<CUdeviceptr>(address));
    ++session.device.physical.find(mapping->second.handle)->second.handles;
    *out = mapping->second.handle;
  });
}
