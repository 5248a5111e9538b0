// cuMemPool* and what counts for pools. It must not order allocations (memory.cpp).
#include "simgpu/driver/pool.hpp"

#include <algorithm>

namespace refrain::simgpu::driver {
namespace {

std::shared_ptr<Pool> default_pool(Device& device) {
  if (device.default_pool == nullptr) {
    device.default_pool = std::make_shared<Pool>();
    device.pools.add(device.default_pool);
  }
  return device.default_pool;
}

CUmemoryPool handle_of(const std::shared_ptr<Pool>& pool) {
  return reinterpret_cast<CUmemoryPool>(pool.get());
}

// Pools are of the device, pinned there; others are refused.
void check_place(const CUmemLocation* location, CUmemAllocationType type) {
  require(location != nullptr);
  if (type == CU_MEM_ALLOCATION_TYPE_MANAGED) refuse("a pool of managed memory");
  require(type == CU_MEM_ALLOCATION_TYPE_PINNED);
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) refuse("a pool of host memory");
  require(location->id == 0, CUDA_ERROR_INVALID_DEVICE);
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

std::shared_ptr<Pool> current_pool(Device& device) {
  return device.current_pool == nullptr ? default_pool(device) : device.current_pool;
}

std::shared_ptr<Pool> need_pool(Device& device, CUmemoryPool handle) {
  default_pool(device);
  return device.pools.need(handle, CUDA_ERROR_INVALID_VALUE);
}

DeviceAddress allocate(Session& session, std::size_t bytes, const std::shared_ptr<Pool>& pool) {
  require(bytes > 0);
  const bool fits = pool == nullptr || pool->limit_bytes == 0 ||
                    (pool->used <= pool->limit_bytes && bytes <= pool->limit_bytes - pool->used);
  require(fits, CUDA_ERROR_OUT_OF_MEMORY);
  DeviceAddress address = 0;
  const MemoryError error = session.device.memory.allocate(bytes, address);
  require(error != MemoryError::kInvalidValue);
  require(error == MemoryError::kNone, CUDA_ERROR_OUT_OF_MEMORY);
  try {
    session.context->allocations.emplace(address, bytes);
    if (pool != nullptr) session.device.pool_of.emplace(address, pool);
  } catch (const std::bad_alloc&) {
    session.context->allocations.erase(address);
    session.device.memory.free(address);
    throw;
  }
  if (pool != nullptr) {
    pool->used += bytes;
    pool->used_peak = std::max(pool->used_peak, pool->used);
  }
  return address;
}

bool free_allocation(Device& device, Context& context, DeviceAddress address) {
  const auto found = context.allocations.find(address);
  if (found == context.allocations.end() || device.memory.free(address) != MemoryError::kNone) return false;
  if (const auto pool = device.pool_of.find(address); pool != device.pool_of.end()) {
    pool->second->used -= found->second;
    device.pool_of.erase(pool);
  }
  context.allocations.erase(found);
  return true;
}

}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* properties) {
  return api(Need::kDevice, [&](Session& session) {
    require(out != nullptr && properties != nullptr);
    check_place(&properties->location, properties->allocType);
    if (properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE) refuse("a pool with shareable handles");
    auto pool = std::make_shared<Pool>();
    pool->limit_bytes = properties->maxSize;
    session.device.pools.add(pool);
    *out = handle_of(pool);
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  return with_pool(handle, [](Device& device, const std::shared_ptr<Pool>& pool) {
    require(pool != device.default_pool);
    if (device.current_pool == pool) device.current_pool = nullptr;
    device.pools.remove(pool.get());  // its allocations keep it
  });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice ordinal) {
  if (ordinal != 0) return CUDA_ERROR_INVALID_DEVICE;
  return tell_pool(out, &default_pool);
}

CUresult cuDeviceGetMemPool(CUmemoryPool* out, CUdevice ordinal) {
  if (ordinal != 0) return CUDA_ERROR_INVALID_DEVICE;
  return tell_pool(out, &current_pool);
}

CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool handle) {
  if (ordinal != 0) return CUDA_ERROR_INVALID_DEVICE;
  return with_pool(handle,
                   [](Device& device, const std::shared_ptr<Pool>& pool) { device.current_pool = pool; });
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool* out, CUmemLocation* location, CUmemAllocationType type) {
  return tell_pool(out, [&](Device& device) {
    check_place(location, type);
    return default_pool(device);
  });
}

CUresult cuMemGetMemPool(CUmemoryPool* out, CUmemLocation* location, CUmemAllocationType type) {
  return tell_pool(out, [&](Device& device) {
    check_place(location, type);
    return current_pool(device);
  });
}

CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool handle) {
  return with_pool(handle, [&](Device& device, const std::shared_ptr<Pool>& pool) {
    check_place(location, type);
    device.current_pool = pool;
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
  return with_pool(handle, [&](Device&, const std::shared_ptr<Pool>&) {
    require(wanted != nullptr || count == 0);
    for (size_t index = 0; index < count; ++index) {
      const CUmemLocation& where = wanted[index].location;
      require(where.type == CU_MEM_LOCATION_TYPE_DEVICE && where.id == 0, CUDA_ERROR_INVALID_DEVICE);
      require(wanted[index].flags ==
              CU_MEM_ACCESS_FLAGS_PROT_READWRITE);  // a device keeps access to its own memory
    }
  });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle, CUmemLocation* location) {
  return with_pool(handle, [&](Device&, const std::shared_ptr<Pool>&) {
    require(flags != nullptr && location != nullptr);
    require(location->type == CU_MEM_LOCATION_TYPE_DEVICE && location->id == 0, CUDA_ERROR_INVALID_DEVICE);
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  });
}
