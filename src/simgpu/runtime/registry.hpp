// What nvcc's generated code registers before main: fat binaries, kernels, variables; loaded at first use.
// It must not call the driver while registering.
#pragma once

#include "simgpu/runtime/call.hpp"

namespace refrain::simgpu::runtime {

// The kernel behind a host function, or behind itself if it is a CUkernel already. Throws
// cudaErrorInvalidDeviceFunction.
CUkernel kernel_of(const DriverApi& cu, const void* host_function);
// The host function that a kernel was registered with, or the kernel itself.
void* host_function_of(CUkernel kernel);

struct Symbol {
  CUdeviceptr address;
  std::size_t bytes;
};
Symbol symbol_of(const DriverApi& cu, const void* host_variable);

// The program's pointers to managed variables, after the variables have been made anew.
void renew_managed(const DriverApi& cu);

// Loaded code is gone with the context.
void forget_loaded(const DriverApi& cu);

}  // namespace refrain::simgpu::runtime
