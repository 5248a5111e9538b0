// The kernels of kernels.def, each a function that runs on device memory. It must not know handles or
// streams.
#pragma once

#include "simgpu/blas/arguments.hpp"
#include "simgpu/native/memory.hpp"

namespace refrain::simgpu::blas {

#define BLAS_KERNEL(id, work) void work(const Arguments& arguments, native::Memory& memory);
#include "simgpu/blas/kernels.def"
#undef BLAS_KERNEL

}  // namespace refrain::simgpu::blas
