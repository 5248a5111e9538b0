// The BLAS kernels as a library of the device: one for libcublas and libcublasLt. It must not know their
// APIs.
#pragma once

#include "simgpu/blas/arguments.hpp"
#include "simgpu/native/client.hpp"

// Lives in libcublasLt.so.13, which libcublas.so.13 needs, as the real ones do.
extern "C" refrain::simgpu::native::Client* simgpu_blas_client();

namespace refrain::simgpu::blas {

inline CUresult launch(KernelId kernel, const Arguments& arguments, CUcontext context, CUstream stream) {
  return simgpu_blas_client()->launch(static_cast<std::size_t>(kernel), &arguments, context, stream);
}

// How many multiply-adds an instruction of a thread does for operands of that type, from the data sheet that
// the device's profile follows (A100): tensor cores make 16-bit products 16 times as fast as 32-bit ones.
inline double rate_of(std::int32_t operand_type) {
  switch (operand_type) {
    case CUDA_R_16F:
    case CUDA_R_16BF: return 16;
    case CUDA_R_8I: return 32;
    default: return 1;
  }
}

}  // namespace refrain::simgpu::blas
