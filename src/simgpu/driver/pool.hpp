// Memory pools: accounts of stream-ordered allocations. It must not keep memory that nobody uses: freed is
// free.
#pragma once

#include "simgpu/driver/session.hpp"

namespace refrain::simgpu::driver {

struct Pool {
  Ordinal ordinal = 0;                                  // of its device
  PeerGroup group = 0;                                  // of its memory
  std::array<CUmemAccess_flags, kMaxDevices> access{};  // of each device
  std::uint64_t limit_bytes = 0;                        // 0: none
  std::uint64_t release_threshold = 0;
  bool reuse_events = true, reuse_opportunistic = true, reuse_internal = true;
  std::uint64_t used = 0, used_peak = 0;
};

// The one that cuMemAllocAsync takes from on that device.
std::shared_ptr<Pool> current_pool(Device& device, Ordinal ordinal);
std::shared_ptr<Pool> need_pool(Device& device, CUmemoryPool handle);

// Memory of the context; without a pool as cuMemAlloc gives it. Throws CUDA_ERROR_OUT_OF_MEMORY.
DeviceAddress allocate(Session& session, std::size_t bytes, const std::shared_ptr<Pool>& pool = nullptr);
// Whatever its pool and context were. False: it was no allocation.
bool free_allocation(Device& device, DeviceAddress address);
Access access_of(unsigned long long flags);  // from CUmemAccess_flags

}  // namespace refrain::simgpu::driver
