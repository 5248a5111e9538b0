// The driver functions that the runtime uses, found as any CUDA runtime finds them: dlopen("libcuda.so.1"),
// dlsym("cuGetProcAddress_v2"), the rest through cuGetProcAddress. It must not link or include the driver of
// ours.
#pragma once

#include <cuda.h>
#include <cudaProfiler.h>

namespace refrain::simgpu::runtime {

struct DriverApi {
#define DRIVER_CALL(name, version) decltype(&::name) name = nullptr;
#include "simgpu/runtime/driver_api.def"
#undef DRIVER_CALL
};

enum class DefaultStream { kLegacy, kPerThread };

// Throws RuntimeError when there is no driver or it lacks a function.
const DriverApi& driver_api(DefaultStream kind);

}  // namespace refrain::simgpu::runtime
