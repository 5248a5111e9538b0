// From the API's descriptions of launches to operations, and back. It must not queue them.
#pragma once

#include "simgpu/driver/graph.hpp"

namespace refrain::simgpu::driver {

// Of the function on that device: checks the shape and copies the parameters.
KernelLaunch launch_of(Device& device, Ordinal ordinal, CUfunction handle, const LaunchShape& shape,
                       void* const* params, void* const* extra, bool cooperative = false);
// On the device of the context in params, of the function's module, or else that one.
KernelLaunch launch_of(Device& device, Ordinal otherwise, const CUDA_KERNEL_NODE_PARAMS_v2& params);
// Throws CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE.
void set_cooperative(KernelLaunch& launch, bool cooperative);
// Takes one in; hints are ignored, others refused.
void set_launch_attribute(KernelLaunch& launch, CUlaunchAttributeID id, const CUlaunchAttributeValue& value);
// The pointers in it are good until the node changes.
CUDA_KERNEL_NODE_PARAMS_v2 params_of(GraphNode& node);

}  // namespace refrain::simgpu::driver
