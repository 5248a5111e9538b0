// The entry points that are not written by hand: per-thread variants and absent functions, expanded from
// functions.def. It must not hold the work of any function. Each is one jump through a pointer, so that any
// signature fits.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "simgpu/runtime/call.hpp"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // deprecated functions are exported too

extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** params,
                                          size_t shared_bytes, cudaStream_t stream);

namespace refrain::simgpu::runtime {
namespace {

// Calls a function so that stream 0 means the calling thread's own default stream.
template <auto kFunction>
struct PerThread;

template <class... Arguments, cudaError_t (*kFunction)(Arguments...)>
struct PerThread<kFunction> {
  static cudaError_t call(Arguments... arguments) {
    bool& flag = thread_state().per_thread_default;
    const bool before = std::exchange(flag, true);
    const cudaError_t result = kFunction(arguments...);
    flag = before;
    return result;
  }
};

template <std::size_t kLength>
struct Name {
  constexpr Name(const char (&text)[kLength]) {
    std::copy_n(text, kLength, characters);
  }  // NOLINT: from a literal
  char characters[kLength];
};

template <Name kName>
cudaError_t absent() {
  std::fprintf(stderr, "simgpu: %s is not supported\n", kName.characters);
  return thread_state().last_error = cudaErrorNotSupported;
}

}  // namespace
}  // namespace refrain::simgpu::runtime

#define SIMGPU_JUMP(text)                \
  asm(".globl " text                     \
      "\n"                               \
      ".type " text ", @function\n" text \
      ":\n"                              \
      "  jmp *simgpu_target_" text       \
      "(%rip)\n"                         \
      ".size " text ", . - " text "\n");
#define SIMGPU_TARGET extern "C" [[gnu::visibility("hidden"), gnu::used]] void* const

#define RUNTIME_FUNCTION(symbol)
#define RUNTIME_FUNCTION_PT(symbol, suffix)                                         \
  SIMGPU_TARGET simgpu_target_##symbol##_##suffix =                                 \
      reinterpret_cast<void*>(&refrain::simgpu::runtime::PerThread<&symbol>::call); \
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
