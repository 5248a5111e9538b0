// cuMemPool* and what counts for pools. It must not order allocations (memory.cpp).
#include "simgpu/driver/pool.hpp"

#include <algorithm>

namespace refrain::simgpu::driver {
namespace {

std::shared_ptr<Pool> make_pool(Device& device, Ordinal ordinal) {
  auto pool = std::make_shared<Pool>();
  pool->ordinal = ordinal;
  pool->group = device.memory.make_group(ordinal);
  pool->access[ordinal] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  device.pools.add(pool);
  return pool;
}

std::shared_ptr<Pool> default_pool(Device& device, Ordinal ordinal) {
  auto& pool = device.cards[ordinal].default_pool;
  if (pool == nullptr) pool = make_pool(device, ordinal);
  return pool;
}

// A pool serves its own device only.
void set_current(Device& device, Ordinal ordinal, const std::shared_ptr<Pool>& pool) {
  require(pool->ordinal == ordinal);
  device.cards[ordinal].current_pool = pool;
}

CUmemoryPool handle_of(const std::shared_ptr<Pool>& pool) {
  return reinterpret_cast<CUmemoryPool>(pool.get());
}

// Pools are of a device, pinned there; others are refused.
Ordinal checked_place(const Device& device, const CUmemLocation* location, CUmemAllocationType type) {
  require(location != nullptr);
  if (type == CU_MEM_ALLOCATION_TYPE_MANAGED) refuse("a pool of managed memory");
  require(type == CU_MEM_ALLOCATION_TYPE_PINNED);
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) refuse("a pool of host memory");
  return ordinal_of(device, *location);
}

template <class Find>
CUresult tell_pool(CUmemoryPool* out, Find find) {
  return api(Need::kDevice, [&](Session& session) {
    require(out != nullptr);
    *out = handle_of(find(session.device));
  });
}

template <class Body>
CUresult with_pool(CUmemoryPool handle, Body body) {
  return api(Need::kDevice,
             [&](Session& session) { body(session.device, need_pool(session.device, handle)); });
}

template <class T>
T& value_as(void* value) {
  return *static_cast<T*>(value);
}

void set_attribute(Pool& pool, CUmemPool_attribute attribute, void* value) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      pool.reuse_events = value_as<int>(value) != 0;
      return;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      pool.reuse_opportunistic = value_as<int>(value) != 0;
      return;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      pool.reuse_internal = value_as<int>(value) != 0;
      return;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: pool.release_threshold = value_as<cuuint64_t>(value); return;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      require(value_as<cuuint64_t>(value) == 0);
      pool.used_peak = pool.used;
      return;
    default: throw CudaError(CUDA_ERROR_INVALID_VALUE);
  }
}

void get_attribute(const Pool& pool, CUmemPool_attribute attribute, void* value) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: value_as<int>(value) = pool.reuse_events; return;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: value_as<int>(value) = pool.reuse_opportunistic; return;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      value_as<int>(value) = pool.reuse_internal;
      return;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: value_as<cuuint64_t>(value) = pool.release_threshold; return;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: value_as<cuuint64_t>(value) = pool.used; return;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: value_as<cuuint64_t>(value) = pool.used_peak; return;
    default: throw CudaError(CUDA_ERROR_INVALID_VALUE);
  }
}

}  // namespace

std::shared_ptr<Pool> current_pool(Device& device, Ordinal ordinal) {
  const auto& chosen = device.cards[ordinal].current_pool;
  return chosen == nullptr ? default_pool(device, ordinal) : chosen;
}

std::shared_ptr<Pool> need_pool(Device& device, CUmemoryPool handle) {
  return device.pools.need(handle, CUDA_ERROR_INVALID_VALUE);
}

DeviceAddress allocate(Session& session, std::size_t bytes, const std::shared_ptr<Pool>& pool) {
  require(bytes > 0);
  const bool fits = pool == nullptr || pool->limit_bytes == 0 ||
                    (pool->used <= pool->limit_bytes && bytes <= pool->limit_bytes - pool->used);
  require(fits, CUDA_ERROR_OUT_OF_MEMORY);
  DeviceAddress address = 0;
  const PeerGroup group = pool == nullptr ? session.context->ordinal : pool->group;
  const MemoryError error = session.device.memory.allocate(group, bytes, address);
  require(error != MemoryError::kInvalidValue);
  require(error == MemoryError::kNone, CUDA_ERROR_OUT_OF_MEMORY);
  try {
    session.device.allocations.emplace(address, Allocation{bytes, session.context.get(), pool});
  } catch (const std::bad_alloc&) {
    session.device.memory.free(address);
    throw;
  }
  if (pool != nullptr) {
    pool->used += bytes;
    pool->used_peak = std::max(pool->used_peak, pool->used);
  }
  return address;
}

bool free_allocation(Device& device, DeviceAddress address) {
  const auto found = device.allocations.find(address);
  if (found == device.allocations.end() || device.memory.free(address) != MemoryError::kNone) return false;
  if (found->second.pool != nullptr) found->second.pool->used -= found->second.bytes;
  device.allocations.erase(found);
  return true;
}

Access access_of(unsigned long long flags) {
  switch (flags) {
    case CU_MEM_ACCESS_FLAGS_PROT_NONE: return Access::kNone;
    case CU_MEM_ACCESS_FLAGS_PROT_READ: return Access::kRead;
    case CU_MEM_ACCESS_FLAGS_PROT_READWRITE: return Access::kReadWrite;
    default: throw CudaError(CUDA_ERROR_INVALID_VALUE);
  }
}

}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* properties) {
  return api(Need::kDevice, [&](Session& session) {
    require(out != nullptr && properties != nullptr);
    const Ordinal ordinal = checked_place(session.device, &properties->location, properties->allocType);
    if (properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE) refuse("a pool with shareable handles");
    const auto pool = make_pool(session.device, ordinal);
    pool->limit_bytes = properties->maxSize;
    *out = handle_of(pool);
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  return with_pool(handle, [](Device& device, const std::shared_ptr<Pool>& pool) {
    Card& card = device.cards[pool->ordinal];
    require(pool != card.default_pool);
    if (card.current_pool == pool) card.current_pool = nullptr;
    device.pools.remove(pool.get());  // its allocations keep it
  });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice ordinal) {
  return tell_pool(out, [&](Device& device) { return default_pool(device, ordinal_of(device, ordinal)); });
}

CUresult cuDeviceGetMemPool(CUmemoryPool* out, CUdevice ordinal) {
  return tell_pool(out, [&](Device& device) { return current_pool(device, ordinal_of(device, ordinal)); });
}

CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool handle) {
  return with_pool(handle, [&](Device& device, const std::shared_ptr<Pool>& pool) {
    set_current(device, ordinal_of(device, ordinal), pool);
  });
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool* out, CUmemLocation* location, CUmemAllocationType type) {
  return tell_pool(
      out, [&](Device& device) { return default_pool(device, checked_place(device, location, type)); });
}

CUresult cuMemGetMemPool(CUmemoryPool* out, CUmemLocation* location, CUmemAllocationType type) {
  return tell_pool(
      out, [&](Device& device) { return current_pool(device, checked_place(device, location, type)); });
}

CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool handle) {
  return with_pool(handle, [&](Device& device, const std::shared_ptr<Pool>& pool) {
    set_current(device, checked_place(device, location, type), pool);
  });
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t) {
  return with_pool(handle, [](Device&, const std::shared_ptr<Pool>&) {});  // freed memory is never kept
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return with_pool(handle, [&](Device&, const std::shared_ptr<Pool>& pool) {
    require(value != nullptr);
    set_attribute(*pool, attribute, value);
  });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return with_pool(handle, [&](Device&, const std::shared_ptr<Pool>& pool) {
    require(value != nullptr);
    get_attribute(*pool, attribute, value);
  });
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* wanted, size_t count) {
  return with_pool(handle, [&](Device& device, const std::shared_ptr<Pool>& pool) {
    require(wanted != nullptr || count == 0);
    for (size_t index = 0; index < count; ++index) {
      const Ordinal by = ordinal_of(device, wanted[index].location);
      const CUmemAccess_flags flags = wanted[index].flags;
      require(by != pool->ordinal || flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);  // it keeps its own
      device.memory.open_group(pool->group, by, access_of(flags));
      pool->access[by] = flags;
    }
  });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle, CUmemLocation* location) {
  return with_pool(handle, [&](Device& device, const std::shared_ptr<Pool>& pool) {
    require(flags != nullptr && location != nullptr);
    *flags = pool->access[ordinal_of(device, *location)];
  });
}
