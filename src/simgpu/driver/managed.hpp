// Managed memory: device pages that the host sees at the same address. It must not be used for pinned host
// memory, which is not the device's.
#pragma once

#include "simgpu/driver/device.hpp"

namespace refrain::simgpu::driver {

// The managed allocation that holds an address, or nullptr.
const std::pair<const DeviceAddress, ManagedRange>* find_managed(const Device& device, DeviceAddress address);
// Not of a variable: that is CUDA_ERROR_INVALID_VALUE.
void free_managed(Device& device, DeviceAddress address);
void free_managed_of(Device& device, const Context& context);

}  // namespace refrain::simgpu::driver
