// From the API's descriptions of copies and fills to operations, and back. It must not queue them.
#pragma once

#include "simgpu/driver/session.hpp"

namespace refrain::simgpu::driver {

Place place_of(const Device& device, std::uint64_t address);
Copy linear_copy(const Device& device, std::uint64_t to, std::uint64_t from, std::size_t bytes);
// Throws CUDA_ERROR_NOT_SUPPORTED for CUDA arrays.
Copy copy_of(const Device& device, const CUDA_MEMCPY3D& description);
CUDA_MEMCPY3D description_of(const Copy& copy);

Fill fill_of(const CUDA_MEMSET_NODE_PARAMS& params);
CUDA_MEMSET_NODE_PARAMS params_of(const Fill& fill);

}  // namespace refrain::simgpu::driver
