// cuMemAllocManaged, advice and prefetches. It must not move data: there is one copy, which device and host
// both see.
//
// Device memory is a shared mapping at another host address (AddressSpace::translate). A second mapping of
// the same pages at the device's own address lets the host use the pointer. Where that range is not managed,
// the host may not touch it.
#include "simgpu/driver/managed.hpp"

#include <sys/mman.h>

#include "simgpu/driver/session.hpp"

namespace refrain::simgpu::driver {
namespace {

// Opens device pages to the host, or closes them again.
bool show(std::byte* pages, DeviceAddress address, std::uint64_t bytes) {
  // An old size of 0 makes a second mapping of shared pages instead of moving them: mremap(2).
  return mremap(pages, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<void*>(address)) !=
         MAP_FAILED;
}
void hide(DeviceAddress address, std::uint64_t bytes) {
  void* at = reinterpret_cast<void*>(address);
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  // If the host cannot spare a mapping, protecting is enough.
  if (mmap(at, bytes, PROT_NONE, kFlags, -1, 0) == MAP_FAILED) mprotect(at, bytes, PROT_NONE);
}

void check(MemoryError error) {
  require(error != MemoryError::kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
  require(error == MemoryError::kNone);
}

// Gives back what a half-made allocation holds.
void abandon(Device& device, DeviceAddress address, const ManagedRange& range) {
  hide(address, range.mapped_bytes);
  device.memory.unmap(address, range.mapped_bytes);
  if (range.handle != 0) device.memory.release(range.handle);
  device.memory.release_range(address, range.mapped_bytes);
}

DeviceAddress allocate_managed(Session& session, std::size_t bytes) {
  Device& device = session.device;
  const std::uint64_t unit = device.memory.granularity_bytes();
  require(bytes <= device.memory.physical_total_bytes(), CUDA_ERROR_OUT_OF_MEMORY);
  ManagedRange range{bytes, (bytes + unit - 1) / unit * unit, 0, session.context.get()};
  DeviceAddress address = 0;
  check(device.memory.reserve(range.mapped_bytes, 0, 0, address));
  try {
    check(device.memory.create(range.mapped_bytes, range.handle));
    check(device.memory.map(address, range.mapped_bytes, 0, range.handle));
    check(device.memory.set_access(address, range.mapped_bytes, Access::kReadWrite));
    std::byte* pages = device.memory.translate(address, range.mapped_bytes, Access::kReadWrite);
    require(pages != nullptr && show(pages, address, range.mapped_bytes), CUDA_ERROR_OUT_OF_MEMORY);
    device.memory.mark_written(address, range.mapped_bytes);  // the host may write it at any time, unseen
    device.managed.emplace(address, range);
  } catch (const std::exception&) {
    abandon(device, address, range);
    throw;
  }
  return address;
}

// Advice and prefetches are hints; what they name must be managed.
void check_managed(const Session& session, CUdeviceptr address, std::size_t bytes) {
  const auto* found = find_managed(session.device, address);
  require(found != nullptr && bytes > 0 && bytes <= found->second.bytes - (address - found->first));
}

CUresult advise(CUdeviceptr address, std::size_t bytes) {
  return api(Need::kContext, [&](Session& session) { check_managed(session, address, bytes); });
}

CUresult prefetch(CUdeviceptr address, std::size_t bytes, CUstream stream) {
  return api(Need::kContext, [&](Session& session) {
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
  require(found != device.managed.end());
  abandon(device, address, found->second);
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

CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise, CUdevice) {
  return advise(address, bytes);
}
CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise, CUmemLocation) {
  return advise(address, bytes);
}
CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice, CUstream stream) {
  return prefetch(address, bytes, stream);
}
CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation, unsigned, CUstream stream) {
  return prefetch(address, bytes, stream);
}
CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t, unsigned) {
  return prefetch(address, 1, stream);
}
