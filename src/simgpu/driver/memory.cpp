// cuMemAlloc and friends, pinned host memory, stream-ordered allocation. It must not copy (copy.cpp) or map
// (virtual.cpp).
#include "simgpu/driver/graph_memory.hpp"
#include "simgpu/driver/managed.hpp"
#include "simgpu/driver/session.hpp"
#include "simgpu/driver/submit.hpp"

namespace refrain::simgpu::driver {
namespace {

constexpr std::size_t kPitchAlignment = 512;

DeviceAddress allocate(Session& session, std::size_t bytes) {
  require(bytes > 0);
  DeviceAddress address = 0;
  auto error = session.device.memory.allocate(bytes, address);
  require(error != MemoryError::kInvalidValue);
  require(error == MemoryError::kNone, CUDA_ERROR_OUT_OF_MEMORY);
  try {
    session.context->allocations.emplace(address, bytes);
  } catch (const std::bad_alloc&) {
    session.device.memory.free(address);
    throw;
  }
  return address;
}

// Frees that are queued may make room.
DeviceAddress allocate_in_order(Session& session, const StreamRef& stream, std::size_t bytes) {
  try {
    return allocate(session, bytes);
  } catch (const CudaError& error) {
    if (error.code != CUDA_ERROR_OUT_OF_MEMORY) throw;
  }
  session.wait(stream->last);
  return allocate(session, bytes);
}

CUresult allocate_host(void** out, std::size_t bytes, unsigned flags) {
  return api(Need::kContext, [&](Session& session) {
    session.forbid_while_capturing();
    require(out != nullptr && bytes > 0);
    require((flags & ~7U) == 0);
    DeviceAddress address = 0;
    require(session.device.memory.allocate(bytes, address, Kind::kHost) == MemoryError::kNone,
            CUDA_ERROR_OUT_OF_MEMORY);
    session.device.host_ranges[address] = {bytes, flags, true};
    *out = reinterpret_cast<void*>(address);
  });
}

CUmemoryPool default_pool(const Device& device) {
  return reinterpret_cast<CUmemoryPool>(const_cast<std::uint64_t*>(&device.pool_release_threshold));
}

CUresult get_pool(CUmemoryPool* out, CUdevice ordinal) {
  return api(Need::kDevice, [&](Session& session) {
    require(out != nullptr);
    require(ordinal == 0, CUDA_ERROR_INVALID_DEVICE);
    *out = default_pool(session.device);
  });
}

template <class Body>
CUresult with_pool(CUmemoryPool pool, Body body) {
  return api(Need::kDevice, [&](Session& session) {
    require(pool == default_pool(session.device));
    body(session.device);
  });
}

}  // namespace
}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;
using refrain::simgpu::MemoryError;

CUresult cuMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return api(Need::kContext, [&](Session& session) {
    const auto& memory = session.device.memory;
    if (free_bytes != nullptr) *free_bytes = memory.physical_total_bytes() - memory.physical_used_bytes();
    if (total_bytes != nullptr) *total_bytes = memory.physical_total_bytes();
  });
}

CUresult cuMemAlloc(CUdeviceptr* out, size_t bytes) {
  return api(Need::kContext, [&](Session& session) {
    require(out != nullptr);
    session.forbid_while_capturing();
    *out = allocate(session, bytes);
  });
}

CUresult cuMemAllocPitch(CUdeviceptr* out, size_t* pitch, size_t width_bytes, size_t height,
                         unsigned element) {
  return api(Need::kContext, [&](Session& session) {
    require(out != nullptr && pitch != nullptr && width_bytes > 0 && height > 0);
    require(element == 4 || element == 8 || element == 16);
    session.forbid_while_capturing();
    const std::size_t rounded = (width_bytes + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
    require(rounded >= width_bytes && height <= SIZE_MAX / rounded);
    *out = allocate(session, rounded * height);
    *pitch = rounded;
  });
}

CUresult cuMemFree(CUdeviceptr address) {
  return api(Need::kContext, [&](Session& session) {
    if (address == 0) return;
    session.forbid_while_capturing();
    const bool managed = session.device.managed.contains(address);
    const auto of_graph = forget_graph_memory(session.device, address);
    require(managed || of_graph != nullptr || session.context->allocations.contains(address));
    session.wait_all();  // as on a device, a free waits for the work that may use the memory
    if (of_graph != nullptr) return require(detach_graph_memory(*of_graph));
    if (managed) return free_managed(session.device, address);
    require(session.context->allocations.erase(address) == 1);
    require(session.device.memory.free(address) == MemoryError::kNone);
  });
}

CUresult cuMemAllocHost(void** out, size_t bytes) {
  return allocate_host(out, bytes, 0);
}
CUresult cuMemHostAlloc(void** out, size_t bytes, unsigned flags) {
  return allocate_host(out, bytes, flags);
}

CUresult cuMemFreeHost(void* pointer) {
  return api(Need::kContext, [&](Session& session) {
    auto& ranges = session.device.host_ranges;
    const auto found = ranges.find(reinterpret_cast<std::uintptr_t>(pointer));
    require(found != ranges.end() && found->second.owned);
    session.forbid_while_capturing();
    session.wait_all();
    ranges.erase(reinterpret_cast<std::uintptr_t>(pointer));
    require(session.device.memory.free(reinterpret_cast<CUdeviceptr>(pointer)) == MemoryError::kNone);
  });
}

CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned flags) {
  return api(Need::kContext, [&](Session& session) {
    require(pointer != nullptr && bytes > 0 && (flags & ~15U) == 0);
    auto& ranges = session.device.host_ranges;
    const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
    const auto after = ranges.lower_bound(begin);
    const bool next = after != ranges.end() && after->first - begin < bytes;
    require(!next && find_host_range(session.device, pointer, 1) == nullptr,
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    ranges[begin] = {bytes, flags, false};
  });
}

CUresult cuMemHostRegister(void* pointer, size_t bytes, unsigned flags) {
  return cuMemHostRegister_v2(pointer, bytes, flags);
}

CUresult cuMemHostUnregister(void* pointer) {
  return api(Need::kContext, [&](Session& session) {
    auto& ranges = session.device.host_ranges;
    const auto found = ranges.find(reinterpret_cast<std::uintptr_t>(pointer));
    require(found != ranges.end() && !found->second.owned, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    ranges.erase(found);
  });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* out, void* pointer, unsigned flags) {
  return api(Need::kContext, [&](Session& session) {
    require(out != nullptr && flags == 0);
    const auto* range = find_host_range(session.device, pointer, 1);
    require(range != nullptr);
    if (!range->second.owned) refuse("the device address of registered host memory");
    *out = reinterpret_cast<CUdeviceptr>(pointer);
  });
}

CUresult cuMemHostGetFlags(unsigned* flags, void* pointer) {
  return api(Need::kContext, [&](Session& session) {
    const auto* range = find_host_range(session.device, pointer, 1);
    require(flags != nullptr && range != nullptr && range->second.owned);
    *flags = range->second.flags;
  });
}

CUresult cuMemAllocAsync(CUdeviceptr* out, size_t bytes, CUstream handle) {
  return api(Need::kContext, [&](Session& session) {
    require(out != nullptr);
    const StreamRef stream = session.stream(handle);
    if (stream->capture != nullptr) {
      auto memory = make_graph_memory(session.device, *stream->capture->graph, bytes);
      *out = memory->address;
      return capture_operation(*stream, AllocateMemory{std::move(memory)});
    }
    *out = allocate_in_order(session, stream, bytes);
  });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* out, size_t bytes, CUmemoryPool pool, CUstream handle) {
  if (find_device() != nullptr && pool != default_pool(*find_device())) return CUDA_ERROR_INVALID_VALUE;
  return cuMemAllocAsync(out, bytes, handle);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  return api(Need::kContext, [&](Session& session) {
    if (address == 0) return;
    const StreamRef stream = session.stream(handle);
    std::shared_ptr<GraphMemory> memory;
    if (stream->capture != nullptr) {
      memory = graph_memory_of(session.device, *stream->capture->graph, address);
    } else {
      memory = forget_graph_memory(session.device, address);
      require(memory != nullptr || session.context->allocations.contains(address));
    }
    submit(session, stream, ReleaseMemory{address, std::move(memory)});
  });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice ordinal) {
  return get_pool(out, ordinal);
}
CUresult cuDeviceGetMemPool(CUmemoryPool* out, CUdevice ordinal) {
  return get_pool(out, ordinal);
}

CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool pool) {
  if (ordinal != 0) return CUDA_ERROR_INVALID_DEVICE;
  return with_pool(pool, [](Device&) {});
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t) {
  return with_pool(pool, [](Device&) {});  // freed memory is never kept
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return with_pool(pool, [&](Device& device) {
    require(value != nullptr);
    if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
      device.pool_release_threshold = *static_cast<const cuuint64_t*>(value);
    }
  });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return with_pool(pool, [&](Device& device) {
    require(value != nullptr);
    switch (attribute) {
      case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: *static_cast<int*>(value) = 1; break;
      case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        *static_cast<cuuint64_t*>(value) = device.pool_release_threshold;
        break;
      case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        *static_cast<cuuint64_t*>(value) = device.memory.physical_used_bytes();
        break;
      case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        *static_cast<cuuint64_t*>(value) = device.memory.physical_peak_bytes();
        break;
      default: throw CudaError(CUDA_ERROR_INVALID_VALUE);
    }
  });
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc*, size_t) {
  return with_pool(pool, [](Device&) {});
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation* location) {
  return with_pool(pool, [&](Device&) {
    require(flags != nullptr && location != nullptr);
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  });
}
