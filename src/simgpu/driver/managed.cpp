// cuMemAllocManaged, advice and prefetches. It must not move data: there is one copy, which device and host
// both see.
#include "simgpu/driver/managed.hpp"

#include "simgpu/driver/session.hpp"

namespace refrain::simgpu::driver {
namespace {

DeviceAddress allocate_managed(Session& session, std::size_t bytes) {
  Device& device = session.device;
  DeviceAddress address = 0;
  require(
      device.memory.allocate(session.context->ordinal, bytes, address, Kind::kManaged) == MemoryError::kNone,
      CUDA_ERROR_OUT_OF_MEMORY);
  try {
    device.managed.emplace(address, ManagedRange{bytes, session.context.get()});
  } catch (const std::bad_alloc&) {
    device.memory.free(address);
    throw;
  }
  return address;
}

// Advice and prefetches are hints; what they name must be managed.
void check_managed(const Session& session, CUdeviceptr address, std::size_t bytes) {
  const auto* found = find_managed(session.device, address);
  require(found != nullptr && bytes > 0 && bytes <= found->second.bytes - (address - found->first));
}

// The host, or a device.
void check_place(const Device& device, const CUmemLocation& where) {
  require(where.type != CU_MEM_LOCATION_TYPE_INVALID);
  if (where.type == CU_MEM_LOCATION_TYPE_DEVICE) ordinal_of(device, where);
}

CUmemLocation place_of(CUdevice device) {
  CUmemLocation out{};
  out.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  out.id = device;
  return out;
}

bool names_place(CUmem_advise advice) {
  return advice != CU_MEM_ADVISE_SET_READ_MOSTLY && advice != CU_MEM_ADVISE_UNSET_READ_MOSTLY &&
         advice != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
}

CUresult advise(CUdeviceptr address, std::size_t bytes, CUmem_advise advice, const CUmemLocation& where) {
  return api(Need::kContext, [&](Session& session) {
    if (names_place(advice)) check_place(session.device, where);
    check_managed(session, address, bytes);
  });
}

CUresult prefetch(CUdeviceptr address, std::size_t bytes, const CUmemLocation& where, CUstream stream) {
  return api(Need::kContext, [&](Session& session) {
    check_place(session.device, where);
    session.stream(stream);
    check_managed(session, address, bytes);
  });
}

}  // namespace

const std::pair<const DeviceAddress, ManagedRange>* find_managed(const Device& device,
                                                                 DeviceAddress address) {
  auto after = device.managed.upper_bound(address);
  if (after == device.managed.begin()) return nullptr;
  --after;
  return address - after->first < after->second.bytes ? &*after : nullptr;
}

void free_managed(Device& device, DeviceAddress address) {
  const auto found = device.managed.find(address);
  require(found != device.managed.end() && found->second.context != nullptr);
  require(device.memory.free(address) == MemoryError::kNone);
  device.managed.erase(found);
}

void free_managed_of(Device& device, const Context& context) {
  for (auto entry = device.managed.begin(); entry != device.managed.end();) {
    const auto here = entry++;
    if (here->second.context == &context) free_managed(device, here->first);
  }
}

}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuMemAllocManaged(CUdeviceptr* out, size_t bytes, unsigned flags) {
  return api(Need::kContext, [&](Session& session) {
    require(out != nullptr && bytes > 0);
    require(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST);
    session.forbid_while_capturing();
    *out = allocate_managed(session, bytes);
  });
}

CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device) {
  return advise(address, bytes, advice, place_of(device));
}
CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation where) {
  return advise(address, bytes, advice, where);
}
CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream) {
  return prefetch(address, bytes, place_of(device), stream);
}
CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation where, unsigned,
                               CUstream stream) {
  return prefetch(address, bytes, where, stream);
}
CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t, unsigned) {
  return prefetch(address, 1, place_of(CU_DEVICE_CPU), stream);
}
