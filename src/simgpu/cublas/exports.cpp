// What libcublas.so.13 exports beyond handle.cpp, expanded from functions.def. It must not hold the work of
// any function.
#include "simgpu/cublas/copies.hpp"
#include "simgpu/cublas/gemm.hpp"
#include "simgpu/cublas/level1.hpp"
#include "simgpu/cublas/level2.hpp"
#include "simgpu/cublas/level3.hpp"

namespace refrain::simgpu::cublas {
namespace {

template <Name kName>
cublasStatus_t absent() {
  native::say_unsupported("cublas", kName.characters);
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // namespace
}  // namespace refrain::simgpu::cublas

// The header's own type of the symbol chooses, and checks, the instance. In C++ it has a second function of
// some names, with older types for the compute type: those are told apart by the instance's own type.
#define CUBLAS_FUNCTION(symbol)
#define CUBLAS_INSTANCE(symbol, function)                                             \
  SIMGPU_TARGET simgpu_target_##symbol = reinterpret_cast<void*>(                     \
      static_cast<decltype(&::symbol)>(&refrain::simgpu::cublas::function<#symbol>)); \
  SIMGPU_JUMP(#symbol)
#define CUBLAS_OVERLOADED(symbol, function, Int)                                 \
  SIMGPU_TARGET simgpu_target_##symbol =                                         \
      reinterpret_cast<void*>(&refrain::simgpu::cublas::function<#symbol, Int>); \
  SIMGPU_JUMP(#symbol)
#define CUBLAS_ABSENT(symbol)                                                                                \
  SIMGPU_TARGET simgpu_target_##symbol = reinterpret_cast<void*>(&refrain::simgpu::cublas::absent<#symbol>); \
  SIMGPU_JUMP(#symbol)
asm(".text");
#include "simgpu/cublas/functions.def"
#undef CUBLAS_FUNCTION
#undef CUBLAS_INSTANCE
#undef CUBLAS_OVERLOADED
#undef CUBLAS_ABSENT
