// Memory pools: accounts of stream-ordered allocations. It must not keep memory that nobody uses: freed is
// free.
#pragma once

#include "simgpu/driver/session.hpp"

namespace refrain::simgpu::driver {

struct Pool {
  std::uint64_t limit_bytes = 0;  // 0: none
  std::uint64_t release_threshold = 0;
  bool reuse_events = true, reuse_opportunistic = true, reuse_internal = true;
  std::uint64_t used = 0, used_peak = 0;
};

// The one that cuMemAllocAsync takes from.
std::shared_ptr<Pool> current_pool(Device& device);
std::shared_ptr<Pool> need_pool(Device& device, CUmemoryPool handle);

// Memory of the context; without a pool as cuMemAlloc gives it. Throws CUDA_ERROR_OUT_OF_MEMORY.
DeviceAddress allocate(Session& session, std::size_t bytes, const std::shared_ptr<Pool>& pool = nullptr);
// Whatever its pool was. False: it was no allocation of the context.
bool free_allocation(Device& device, Context& context, DeviceAddress address);

}  // namespace refrain::simgpu::driver
