// cudaMemcpy* and cudaMemset*. It must not touch the bytes.
#include "simgpu/runtime/convert.hpp"
#include "simgpu/runtime/registry.hpp"

namespace refrain::simgpu::runtime {
namespace {

CUdeviceptr device(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

void check_kind(cudaMemcpyKind kind) {
  require(kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault, cudaErrorInvalidMemcpyDirection);
}

CUresult copy(const DriverApi& cu, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  check_kind(kind);
  switch (kind) {
    case cudaMemcpyHostToDevice: return cu.cuMemcpyHtoD(device(to), from, bytes);
    case cudaMemcpyDeviceToHost: return cu.cuMemcpyDtoH(to, device(from), bytes);
    case cudaMemcpyDeviceToDevice: return cu.cuMemcpyDtoD(device(to), device(from), bytes);
    default: return cu.cuMemcpy(device(to), device(from), bytes);
  }
}

CUresult copy_async(const DriverApi& cu, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                    cudaStream_t stream) {
  check_kind(kind);
  switch (kind) {
    case cudaMemcpyHostToDevice: return cu.cuMemcpyHtoDAsync(device(to), from, bytes, stream);
    case cudaMemcpyDeviceToHost: return cu.cuMemcpyDtoHAsync(to, device(from), bytes, stream);
    case cudaMemcpyDeviceToDevice: return cu.cuMemcpyDtoDAsync(device(to), device(from), bytes, stream);
    default: return cu.cuMemcpyAsync(device(to), device(from), bytes, stream);
  }
}

CUmemorytype type_of(cudaMemcpyKind kind, bool source) {
  check_kind(kind);
  if (kind == cudaMemcpyDefault) return CU_MEMORYTYPE_UNIFIED;
  const cudaMemcpyKind from_host = source ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
  return kind == cudaMemcpyHostToHost || kind == from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

CUDA_MEMCPY2D as_2d(const CUDA_MEMCPY3D& from) {
  CUDA_MEMCPY2D out{};
  out.srcMemoryType = from.srcMemoryType;
  out.srcHost = from.srcHost;
  out.srcDevice = from.srcDevice;
  out.srcPitch = from.srcPitch;
  out.dstMemoryType = from.dstMemoryType;
  out.dstHost = from.dstHost;
  out.dstDevice = from.dstDevice;
  out.dstPitch = from.dstPitch;
  out.WidthInBytes = from.WidthInBytes;
  out.Height = from.Height;
  return out;
}

}  // namespace

CUDA_MEMCPY3D flat_copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                        std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  require(to_pitch >= width && from_pitch >= width, cudaErrorInvalidPitchValue);
  CUDA_MEMCPY3D out{};
  out.srcMemoryType = type_of(kind, true);
  out.srcHost = from;
  out.srcDevice = device(from);
  out.srcPitch = from_pitch;
  out.dstMemoryType = type_of(kind, false);
  out.dstHost = to;
  out.dstDevice = device(to);
  out.dstPitch = to_pitch;
  out.WidthInBytes = width;
  out.Height = height;
  out.Depth = 1;
  return out;
}

CUDA_MEMCPY3D copy_of(const cudaMemcpy3DParms& params) {
  require(params.srcArray == nullptr && params.dstArray == nullptr, cudaErrorNotSupported);
  CUDA_MEMCPY3D out = flat_copy(params.dstPtr.ptr, params.dstPtr.pitch, params.srcPtr.ptr,
                                params.srcPtr.pitch, params.extent.width, params.extent.height, params.kind);
  out.Depth = params.extent.depth;
  out.srcHeight = params.srcPtr.ysize;
  out.dstHeight = params.dstPtr.ysize;
  out.srcXInBytes = params.srcPos.x;
  out.srcY = params.srcPos.y;
  out.srcZ = params.srcPos.z;
  out.dstXInBytes = params.dstPos.x;
  out.dstY = params.dstPos.y;
  out.dstZ = params.dstPos.z;
  return out;
}

void* in_symbol(const DriverApi& cu, const void* symbol, std::size_t offset, std::size_t bytes) {
  const Symbol found = symbol_of(cu, symbol);
  require(offset <= found.bytes && bytes <= found.bytes - offset);
  return reinterpret_cast<void*>(found.address + offset);
}

cudaMemcpy3DParms params_of(const CUDA_MEMCPY3D& copy) {
  cudaMemcpy3DParms out{};
  const bool from_host = copy.srcMemoryType == CU_MEMORYTYPE_HOST;
  const bool to_host = copy.dstMemoryType == CU_MEMORYTYPE_HOST;
  void* from = from_host ? const_cast<void*>(copy.srcHost) : reinterpret_cast<void*>(copy.srcDevice);
  void* to = to_host ? copy.dstHost : reinterpret_cast<void*>(copy.dstDevice);
  out.srcPtr = {from, copy.srcPitch, copy.WidthInBytes, copy.srcHeight};
  out.dstPtr = {to, copy.dstPitch, copy.WidthInBytes, copy.dstHeight};
  out.extent = {copy.WidthInBytes, copy.Height, copy.Depth};
  out.kind = from_host ? (to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice)
                       : (to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice);
  return out;
}

CUDA_MEMSET_NODE_PARAMS fill_of(const cudaMemsetParams& params) {
  CUDA_MEMSET_NODE_PARAMS out{};
  out.dst = device(params.dst);
  out.pitch = params.pitch;
  out.value = params.value;
  out.elementSize = params.elementSize;
  out.width = params.width;
  out.height = params.height;
  return out;
}

}  // namespace refrain::simgpu::runtime

using namespace refrain::simgpu::runtime;

SIMGPU_FORWARD(cudaMemcpy, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind),
               copy(cu, to, from, bytes, kind))
SIMGPU_FORWARD(cudaMemcpyAsync,
               (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
               copy_async(cu, to, from, bytes, kind, stream))

SIMGPU_FORWARD(cudaMemcpyToSymbol,
               (const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind),
               copy(cu, in_symbol(cu, symbol, offset, bytes), from, bytes, kind))
SIMGPU_FORWARD(cudaMemcpyToSymbolAsync,
               (const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind,
                cudaStream_t stream),
               copy_async(cu, in_symbol(cu, symbol, offset, bytes), from, bytes, kind, stream))
SIMGPU_FORWARD(cudaMemcpyFromSymbol,
               (void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind),
               copy(cu, to, in_symbol(cu, symbol, offset, bytes), bytes, kind))
SIMGPU_FORWARD(cudaMemcpyFromSymbolAsync,
               (void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                cudaStream_t stream),
               copy_async(cu, to, in_symbol(cu, symbol, offset, bytes), bytes, kind, stream))

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  return call([&](const DriverApi& cu) {
    const CUDA_MEMCPY2D copy = as_2d(flat_copy(to, to_pitch, from, from_pitch, width, height, kind));
    return cu.cuMemcpy2DUnaligned(&copy);
  });
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return call([&](const DriverApi& cu) {
    const CUDA_MEMCPY2D copy = as_2d(flat_copy(to, to_pitch, from, from_pitch, width, height, kind));
    return cu.cuMemcpy2DAsync(&copy, stream);
  });
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* params) {
  return call([&](const DriverApi& cu) {
    require(params != nullptr);
    const CUDA_MEMCPY3D copy = copy_of(*params);
    return cu.cuMemcpy3D(&copy);
  });
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* params, cudaStream_t stream) {
  return call([&](const DriverApi& cu) {
    require(params != nullptr);
    const CUDA_MEMCPY3D copy = copy_of(*params);
    return cu.cuMemcpy3DAsync(&copy, stream);
  });
}

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  return call([&](const DriverApi& cu) {
    const CUcontext target = primary_of(cu, to_device), source = primary_of(cu, from_device);
    return target == source ? cu.cuMemcpyDtoD(device(to), device(from), bytes)
                            : cu.cuMemcpyPeer(device(to), target, device(from), source, bytes);
  });
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t stream) {
  return call([&](const DriverApi& cu) {
    const CUcontext target = primary_of(cu, to_device), source = primary_of(cu, from_device);
    return target == source ? cu.cuMemcpyDtoDAsync(device(to), device(from), bytes, stream)
                            : cu.cuMemcpyPeerAsync(device(to), target, device(from), source, bytes, stream);
  });
}
namespace {

CUDA_MEMCPY3D_PEER peer_copy_of(const DriverApi& cu, const cudaMemcpy3DPeerParms& from) {
  cudaMemcpy3DParms plain{};
  plain.srcArray = from.srcArray;
  plain.srcPos = from.srcPos;
  plain.srcPtr = from.srcPtr;
  plain.dstArray = from.dstArray;
  plain.dstPos = from.dstPos;
  plain.dstPtr = from.dstPtr;
  plain.extent = from.extent;
  plain.kind = cudaMemcpyDefault;
  const CUDA_MEMCPY3D copy = copy_of(plain);
  CUDA_MEMCPY3D_PEER out{};
  out.srcContext = primary_of(cu, from.srcDevice);
  out.dstContext = primary_of(cu, from.dstDevice);
  out.srcXInBytes = copy.srcXInBytes;
  out.srcY = copy.srcY;
  out.srcZ = copy.srcZ;
  out.srcMemoryType = copy.srcMemoryType;
  out.srcDevice = copy.srcDevice;
  out.srcPitch = copy.srcPitch;
  out.srcHeight = copy.srcHeight;
  out.dstXInBytes = copy.dstXInBytes;
  out.dstY = copy.dstY;
  out.dstZ = copy.dstZ;
  out.dstMemoryType = copy.dstMemoryType;
  out.dstDevice = copy.dstDevice;
  out.dstPitch = copy.dstPitch;
  out.dstHeight = copy.dstHeight;
  out.WidthInBytes = copy.WidthInBytes;
  out.Height = copy.Height;
  out.Depth = copy.Depth;
  return out;
}

// fill(address, rows): each slice on its own, or all in one if there is nothing between them.
template <class FillRows>
CUresult fill_slices(const cudaPitchedPtr& to, const cudaExtent& extent, FillRows fill) {
  if (extent.height == to.ysize || extent.depth <= 1)
    return fill(device(to.ptr), extent.height * extent.depth);
  for (std::size_t slice = 0; slice < extent.depth; ++slice) {
    const CUresult result = fill(device(to.ptr) + slice * to.pitch * to.ysize, extent.height);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace

cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* params) {
  return with_params(params, peer_copy_of, [](const DriverApi& cu, const CUDA_MEMCPY3D_PEER* copy) {
    return cu.cuMemcpy3DPeer(copy);
  });
}
cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* params, cudaStream_t stream) {
  return with_params(params, peer_copy_of, [&](const DriverApi& cu, const CUDA_MEMCPY3D_PEER* copy) {
    return cu.cuMemcpy3DPeerAsync(copy, stream);
  });
}
SIMGPU_FORWARD(cudaMemcpyBatchAsync,
               (void* const* to, const void* const* from, const size_t* bytes, size_t count,
                cudaMemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                cudaStream_t stream),
               cu.cuMemcpyBatchAsync(reinterpret_cast<CUdeviceptr*>(const_cast<void**>(to)),
                                     reinterpret_cast<CUdeviceptr*>(const_cast<const void**>(from)),
                                     const_cast<size_t*>(bytes), count,
                                     reinterpret_cast<CUmemcpyAttributes*>(attributes), indices,
                                     attribute_count, stream))
cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
  return call([&](const DriverApi& cu) {
    return fill_slices(to, extent, [&](CUdeviceptr at, std::size_t rows) {
      return cu.cuMemsetD2D8(at, to.pitch, static_cast<unsigned char>(value), extent.width, rows);
    });
  });
}
cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
  return call([&](const DriverApi& cu) {
    return fill_slices(to, extent, [&](CUdeviceptr at, std::size_t rows) {
      return cu.cuMemsetD2D8Async(at, to.pitch, static_cast<unsigned char>(value), extent.width, rows,
                                  stream);
    });
  });
}

SIMGPU_FORWARD(cudaMemset, (void* to, int value, size_t bytes),
               cu.cuMemsetD8(device(to), static_cast<unsigned char>(value), bytes))
SIMGPU_FORWARD(cudaMemsetAsync, (void* to, int value, size_t bytes, cudaStream_t stream),
               cu.cuMemsetD8Async(device(to), static_cast<unsigned char>(value), bytes, stream))
SIMGPU_FORWARD(cudaMemset2D, (void* to, size_t pitch, int value, size_t width, size_t height),
               cu.cuMemsetD2D8(device(to), pitch, static_cast<unsigned char>(value), width, height))
SIMGPU_FORWARD(cudaMemset2DAsync,
               (void* to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
               cu.cuMemsetD2D8Async(device(to), pitch, static_cast<unsigned char>(value), width, height,
                                    stream))
