// From the API's descriptions of launches to operations, and back. It must not queue them.
#pragma once

#include "simgpu/driver/graph.hpp"

namespace refrain::simgpu::driver {

// Checks the shape against device and function and copies the parameters.
KernelLaunch launch_of(const Device& device, CUfunction handle, const LaunchShape& shape, void* const* params,
                       void* const* extra, bool cooperative = false);
KernelLaunch launch_of(const Device& device, const CUDA_KERNEL_NODE_PARAMS_v2& params);
// Throws CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE.
void set_cooperative(KernelLaunch& launch, bool cooperative);
// Takes one in; hints are ignored, others refused.
void set_launch_attribute(KernelLaunch& launch, CUlaunchAttributeID id, const CUlaunchAttributeValue& value);
// The pointers in it are good until the node changes.
CUDA_KERNEL_NODE_PARAMS_v2 params_of(GraphNode& node);

}  // namespace refrain::simgpu::driver
