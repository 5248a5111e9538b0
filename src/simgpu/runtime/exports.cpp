// The entry points that are not written by hand: per-thread variants and absent functions, expanded from
// functions.def. It must not hold the work of any function. Each is one jump through a pointer, so that any
// signature fits.
#include <cstdio>

#include "simgpu/runtime/call.hpp"

// Before the thunks that call them: deprecated functions are exported too.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include "simgpu/thunks.hpp"

extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** params,
                                          size_t shared_bytes, cudaStream_t stream);

namespace refrain::simgpu::runtime {
namespace {

bool& per_thread_flag() {
  return thread_state().per_thread_default;
}

template <Name kName>
cudaError_t absent() {
  std::fprintf(stderr, "simgpu: %s is not supported\n", kName.characters);
  return thread_state().last_error = cudaErrorNotSupported;
}

}  // namespace
}  // namespace refrain::simgpu::runtime

#define RUNTIME_FUNCTION(symbol)
#define RUNTIME_FUNCTION_PT(symbol, suffix)                                                    \
  SIMGPU_TARGET simgpu_target_##symbol##_##suffix = reinterpret_cast<void*>(                   \
      &refrain::simgpu::PerThread<&symbol, &refrain::simgpu::runtime::per_thread_flag>::call); \
  SIMGPU_JUMP(#symbol "_" #suffix)
#define RUNTIME_ABSENT(symbol)                                             \
  SIMGPU_TARGET simgpu_target_##symbol =                                   \
      reinterpret_cast<void*>(&refrain::simgpu::runtime::absent<#symbol>); \
  SIMGPU_JUMP(#symbol)
#define RUNTIME_ABSENT_PT(symbol, suffix)                                              \
  SIMGPU_TARGET simgpu_target_##symbol =                                               \
      reinterpret_cast<void*>(&refrain::simgpu::runtime::absent<#symbol>);             \
  SIMGPU_JUMP(#symbol)                                                                 \
  SIMGPU_TARGET simgpu_target_##symbol##_##suffix =                                    \
      reinterpret_cast<void*>(&refrain::simgpu::runtime::absent<#symbol "_" #suffix>); \
  SIMGPU_JUMP(#symbol "_" #suffix)
asm(".text");
#include "simgpu/runtime/functions.def"
#undef RUNTIME_FUNCTION
#undef RUNTIME_FUNCTION_PT
#undef RUNTIME_ABSENT
#undef RUNTIME_ABSENT_PT
