// Modules of native kernels (simgpu/native/image.hpp). It must not launch.
#pragma once

#include <memory>

#include "simgpu/exec/module.hpp"
#include "simgpu/native/image.hpp"

namespace refrain::simgpu::driver {

// The image as one of native kernels, or nullptr. Throws CudaError if it is one, but not for this device.
const native::Image* native_image(const void* image);

// The kernels run on a device of `memory`. The image must stay while the module is loaded.
std::unique_ptr<Module> load_native(const native::Image& image, AddressSpace& memory, Ordinal device);

}  // namespace refrain::simgpu::driver
