// Allocation, pinned memory, pools and pointer attributes. It must not copy (copy.cpp).
#include "simgpu/runtime/call.hpp"

using namespace refrain::simgpu::runtime;

namespace {

CUdeviceptr device(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

// Runs allocate(&address) and hands the address out as a pointer.
template <class Allocate>
cudaError_t allocate(void** out, Allocate body) {
  return call([&](const DriverApi& cu) {
    require(out != nullptr);
    CUdeviceptr address = 0;
    check(body(cu, &address));
    *out = reinterpret_cast<void*>(address);
  });
}

CUmemLocation location_of(const cudaMemLocation& from) {
  CUmemLocation out{};
  out.type = static_cast<CUmemLocationType>(from.type);
  out.id = from.id;
  return out;
}

}  // namespace

cudaError_t cudaMalloc(void** out, size_t bytes) {
  return allocate(out, [&](const DriverApi& cu, CUdeviceptr* address) {
    return bytes == 0 ? CUDA_SUCCESS : cu.cuMemAlloc(address, bytes);
  });
}

cudaError_t cudaMallocManaged(void** out, size_t bytes, unsigned flags) {
  return allocate(out, [&](const DriverApi& cu, CUdeviceptr* address) {
    return cu.cuMemAllocManaged(address, bytes, flags);
  });
}

cudaError_t cudaMallocPitch(void** out, size_t* pitch, size_t width, size_t height) {
  return allocate(out, [&](const DriverApi& cu, CUdeviceptr* address) {
    return cu.cuMemAllocPitch(address, pitch, width, height, 4);
  });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* out, cudaExtent extent) {
  if (out == nullptr) return thread_state().last_error = cudaErrorInvalidValue;
  out->xsize = extent.width;
  out->ysize = extent.height;
  return cudaMallocPitch(&out->ptr, &out->pitch, extent.width, extent.height * extent.depth);
}

cudaError_t cudaMallocAsync(void** out, size_t bytes, cudaStream_t stream) {
  return allocate(out, [&](const DriverApi& cu, CUdeviceptr* address) {
    return bytes == 0 ? CUDA_SUCCESS : cu.cuMemAllocAsync(address, bytes, stream);
  });
}

cudaError_t cudaMallocFromPoolAsync(void** out, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return allocate(out, [&](const DriverApi& cu, CUdeviceptr* address) {
    return bytes == 0 ? CUDA_SUCCESS : cu.cuMemAllocFromPoolAsync(address, bytes, pool, stream);
  });
}

SIMGPU_FORWARD(cudaFree, (void* pointer), cu.cuMemFree(device(pointer)))
SIMGPU_FORWARD(cudaFreeAsync, (void* pointer, cudaStream_t stream),
               cu.cuMemFreeAsync(device(pointer), stream))
SIMGPU_FORWARD(cudaMallocHost, (void** out, size_t bytes), cu.cuMemAllocHost(out, bytes))
SIMGPU_FORWARD(cudaHostAlloc, (void** out, size_t bytes, unsigned flags),
               cu.cuMemHostAlloc(out, bytes, flags))
SIMGPU_FORWARD(cudaFreeHost, (void* pointer), pointer == nullptr ? CUDA_SUCCESS : cu.cuMemFreeHost(pointer))
SIMGPU_FORWARD(cudaHostRegister, (void* pointer, size_t bytes, unsigned flags),
               cu.cuMemHostRegister(pointer, bytes, flags))
SIMGPU_FORWARD(cudaHostUnregister, (void* pointer), cu.cuMemHostUnregister(pointer))
SIMGPU_FORWARD(cudaHostGetFlags, (unsigned* flags, void* pointer), cu.cuMemHostGetFlags(flags, pointer))
SIMGPU_FORWARD(cudaMemGetInfo, (size_t * free, size_t* total), cu.cuMemGetInfo(free, total))
SIMGPU_FORWARD(cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t keep), cu.cuMemPoolTrimTo(pool, keep))
SIMGPU_FORWARD(cudaMemPoolSetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value),
               cu.cuMemPoolSetAttribute(pool, static_cast<CUmemPool_attribute>(attribute), value))
SIMGPU_FORWARD(cudaMemPoolGetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value),
               cu.cuMemPoolGetAttribute(pool, static_cast<CUmemPool_attribute>(attribute), value))
SIMGPU_FORWARD(cudaMemPoolCreate, (cudaMemPool_t * out, const cudaMemPoolProps* properties),
               cu.cuMemPoolCreate(out, reinterpret_cast<const CUmemPoolProps*>(properties)))
SIMGPU_FORWARD(cudaMemPoolDestroy, (cudaMemPool_t pool), cu.cuMemPoolDestroy(pool))
SIMGPU_FORWARD(cudaMemPoolSetAccess, (cudaMemPool_t pool, const cudaMemAccessDesc* wanted, size_t count),
               cu.cuMemPoolSetAccess(pool, reinterpret_cast<const CUmemAccessDesc*>(wanted), count))
SIMGPU_FORWARD(cudaMemPoolGetAccess,
               (cudaMemAccessFlags * flags, cudaMemPool_t pool, cudaMemLocation* location),
               cu.cuMemPoolGetAccess(reinterpret_cast<CUmemAccess_flags*>(flags), pool,
                                     reinterpret_cast<CUmemLocation*>(location)))
SIMGPU_FORWARD(cudaMemGetDefaultMemPool,
               (cudaMemPool_t * out, cudaMemLocation* location, cudaMemAllocationType type),
               cu.cuMemGetDefaultMemPool(out, reinterpret_cast<CUmemLocation*>(location),
                                         static_cast<CUmemAllocationType>(type)))
SIMGPU_FORWARD(cudaMemGetMemPool,
               (cudaMemPool_t * out, cudaMemLocation* location, cudaMemAllocationType type),
               cu.cuMemGetMemPool(out, reinterpret_cast<CUmemLocation*>(location),
                                  static_cast<CUmemAllocationType>(type)))
SIMGPU_FORWARD(cudaMemSetMemPool,
               (cudaMemLocation * location, cudaMemAllocationType type, cudaMemPool_t pool),
               cu.cuMemSetMemPool(reinterpret_cast<CUmemLocation*>(location),
                                  static_cast<CUmemAllocationType>(type), pool))
SIMGPU_FORWARD(cudaMemAdvise,
               (const void* pointer, size_t bytes, cudaMemoryAdvise advice, cudaMemLocation where),
               cu.cuMemAdvise(device(pointer), bytes, static_cast<CUmem_advise>(advice), location_of(where)))
SIMGPU_FORWARD(cudaMemPrefetchAsync,
               (const void* pointer, size_t bytes, cudaMemLocation where, unsigned flags,
                cudaStream_t stream),
               cu.cuMemPrefetchAsync(device(pointer), bytes, location_of(where), flags, stream))

cudaError_t cudaHostGetDevicePointer(void** out, void* pointer, unsigned flags) {
  return allocate(out, [&](const DriverApi& cu, CUdeviceptr* address) {
    return cu.cuMemHostGetDevicePointer(address, pointer, flags);
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* out, const void* pointer) {
  return call([&](const DriverApi& cu) {
    require(out != nullptr);
    *out = {};
    unsigned type = 0;
    int ordinal = 0;
    unsigned char managed = 0;
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                    CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void* into[] = {&type, &out->devicePointer, &out->hostPointer, &managed, &ordinal};
    check(cu.cuPointerGetAttributes(5, wanted, into, device(pointer)));
    out->device = ordinal;
    out->type = managed != 0                   ? cudaMemoryTypeManaged
                : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
                                               : cudaMemoryTypeUnregistered;
    if (out->type == cudaMemoryTypeUnregistered) out->hostPointer = const_cast<void*>(pointer);
  });
}
