// The entry points that are not written by hand: per-thread variants and absent functions, expanded from
// functions.def. It must not hold the work of any function.
//
// Each exported name that has no C++ function of its own is one jump through a pointer, so that any signature
// fits.
#include <array>
#include <string_view>

#include "simgpu/driver/error.hpp"
#include "simgpu/driver/exports.hpp"
#include "simgpu/driver/session.hpp"
#include "simgpu/thunks.hpp"

namespace refrain::simgpu::driver {
namespace {

bool& per_thread_flag() {
  return thread_state().per_thread_default;
}

template <Name kName>
CUresult absent() {
  try {
    refuse(kName.characters);
  } catch (const CudaError& error) {
    return error.code;
  } catch (const std::exception& error) {
    say(error.what());
    return CUDA_ERROR_UNKNOWN;
  }
}

}  // namespace
}  // namespace refrain::simgpu::driver

#define DRIVER_FUNCTION(name, version, symbol)
#define DRIVER_FUNCTION_PT(name, version, symbol, pt_version, suffix)                         \
  SIMGPU_TARGET simgpu_target_##symbol##_##suffix = reinterpret_cast<void*>(                  \
      &refrain::simgpu::PerThread<&symbol, &refrain::simgpu::driver::per_thread_flag>::call); \
  SIMGPU_JUMP(#symbol "_" #suffix)
#define DRIVER_ABSENT(name, version, symbol)                                                                 \
  SIMGPU_TARGET simgpu_target_##symbol = reinterpret_cast<void*>(&refrain::simgpu::driver::absent<#symbol>); \
  SIMGPU_JUMP(#symbol)
#define DRIVER_ABSENT_PT(name, version, symbol, pt_version, suffix)                                          \
  SIMGPU_TARGET simgpu_target_##symbol = reinterpret_cast<void*>(&refrain::simgpu::driver::absent<#symbol>); \
  SIMGPU_JUMP(#symbol)                                                                                       \
  SIMGPU_TARGET simgpu_target_##symbol##_##suffix =                                                          \
      reinterpret_cast<void*>(&refrain::simgpu::driver::absent<#symbol "_" #suffix>);                        \
  SIMGPU_JUMP(#symbol "_" #suffix)
asm(".text");
#include "simgpu/driver/functions.def"
#undef DRIVER_FUNCTION
#undef DRIVER_FUNCTION_PT
#undef DRIVER_ABSENT
#undef DRIVER_ABSENT_PT
