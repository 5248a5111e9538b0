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

}  // namespace refrain::simgpu::runtime
