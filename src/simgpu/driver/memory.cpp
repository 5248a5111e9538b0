// cuMemAlloc and friends, pinned host memory, stream-ordered allocation. It must not copy (copy.cpp) or map
// (virtual.cpp).
#include "simgpu/driver/graph_memory.hpp"
#include "simgpu/driver/managed.hpp"
#include "simgpu/driver/pool.hpp"
#include "simgpu/driver/session.hpp"
#include "simgpu/driver/submit.hpp"

namespace refrain::simgpu::driver {
namespace {

constexpr std::size_t kPitchAlignment = 512;

// Frees that are queued may make room.
DeviceAddress allocate_in_order(Session& session, const StreamRef& stream, std::size_t bytes,
                                const std::shared_ptr<Pool>& pool) {
  try {
    return allocate(session, bytes, pool);
  } catch (const CudaError& error) {
    if (error.code != CUDA_ERROR_OUT_OF_MEMORY) throw;
  }
  session.wait(stream->last);
  return allocate(session, bytes, pool);
}

CUresult allocate_host(void** out, std::size_t bytes, unsigned flags) {
  return api(Need::kContext, [&](Session& session) {
    session.forbid_while_capturing();
    require(out != nullptr && bytes > 0);
    require((flags & ~7U) == 0);
    DeviceAddress address = 0;
    const Ordinal owner = session.context->ordinal;
    require(session.device.memory.allocate(owner, bytes, address, Kind::kHost) == MemoryError::kNone,
            CUDA_ERROR_OUT_OF_MEMORY);
    session.device.host_ranges[address] = {bytes, flags, true, session.context};
    *out = reinterpret_cast<void*>(address);
  });
}

// choose(session): the pool.
template <class Choose>
CUresult allocate_async(CUdeviceptr* out, std::size_t bytes, CUstream handle, Choose choose) {
  return api(Need::kContext, [&](Session& session) {
    require(out != nullptr);
    const StreamRef stream = session.stream(handle);
    const std::shared_ptr<Pool> pool = choose(session);
    if (stream->capture != nullptr) {
      auto memory = make_graph_memory(session.device, *stream->capture->graph, pool->ordinal, bytes);
      for (Ordinal by = 0; by < kMaxDevices; ++by) memory->access[by] = access_of(pool->access[by]);
      *out = memory->address;
      return capture_operation(*stream, AllocateMemory{std::move(memory)});
    }
    *out = allocate_in_order(session, stream, bytes, pool);
  });
}

}  // namespace
}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;
using refrain::simgpu::MemoryError;

CUresult cuMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return api(Need::kContext, [&](Session& session) {
    const auto& memory = session.device.memory;
    const std::uint64_t used = memory.physical_used_bytes(session.context->ordinal);
    if (free_bytes != nullptr) *free_bytes = memory.physical_total_bytes() - used;
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
    const auto managed = session.device.managed.find(address);
    const auto given = session.device.allocations.find(address);
    const bool is_managed = managed != session.device.managed.end();
    const auto of_graph = forget_graph_memory(session.device, address);
    require(is_managed || of_graph != nullptr || given != session.device.allocations.end());
    // Whichever context asks, that of the memory is meant.
    const Context* owner = is_managed                                  ? managed->second.context
                           : given != session.device.allocations.end() ? given->second.context
                                                                       : nullptr;
    if (owner != nullptr) session.enter(*owner);
    if (is_managed) session.wait_everywhere();
    session.wait_all();  // as on a device, a free waits for the work that may use the memory
    if (of_graph != nullptr) return require(detach_graph_memory(*of_graph));
    if (is_managed) return free_managed(session.device, address);
    require(free_allocation(session.device, address));
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
    session.wait_everywhere();
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
    ranges[begin] = {bytes, flags, false, session.context};
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

CUresult cuMemAllocAsync(CUdeviceptr* out, size_t bytes, CUstream stream) {
  return allocate_async(out, bytes, stream, [](Session& session) {
    return current_pool(session.device, session.context->ordinal);
  });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* out, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return allocate_async(out, bytes, stream,
                        [&](Session& session) { return need_pool(session.device, pool); });
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
      require(memory != nullptr || session.device.allocations.contains(address));
    }
    submit(session, stream, ReleaseMemory{address, std::move(memory)});
  });
}
