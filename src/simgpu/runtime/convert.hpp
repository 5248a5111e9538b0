// The runtime's descriptions of copies, fills and launches as the driver's. It must not call the driver's
// work functions.
#pragma once

#include "simgpu/runtime/call.hpp"

namespace refrain::simgpu::runtime {

CUDA_MEMCPY3D flat_copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                        std::size_t width, std::size_t height, cudaMemcpyKind kind);
CUDA_MEMCPY3D copy_of(const cudaMemcpy3DParms& params);
CUDA_MEMSET_NODE_PARAMS fill_of(const cudaMemsetParams& params);
CUDA_KERNEL_NODE_PARAMS kernel_params_of(const DriverApi& cu, const cudaKernelNodeParams& params);

// And back.
cudaMemcpy3DParms params_of(const CUDA_MEMCPY3D& copy);

// The address inside a symbol of [offset, offset + bytes), checked.
void* in_symbol(const DriverApi& cu, const void* symbol, std::size_t offset, std::size_t bytes);

CUcontext current_context(const DriverApi& cu);

// Converts parameters, which must not be null, and hands them on: use(driver functions, &converted).
template <class Params, class Convert, class Use>
cudaError_t with_params(const Params* params, Convert convert, Use use) {
  return call([&](const DriverApi& cu) {
    require(params != nullptr);
    const auto converted = convert(cu, *params);
    return use(cu, &converted);
  });
}

}  // namespace refrain::simgpu::runtime
