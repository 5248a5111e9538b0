// The frame around every cuBLAS function: the handle, refusals, and statuses. It must not know any particular
// function.
#pragma once

#include <array>
#include <cstring>

#include "simgpu/blas/convert.hpp"
#include "simgpu/blas/frame.hpp"
#include "simgpu/thunks.hpp"

// What a cublasHandle_t is. Thread safety: as documented, one thread at a time.
struct cublasContext {
  CUcontext context = nullptr;  // current when it was made; first, as in cublasLt's handles
  CUstream stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
  int math_mode = CUBLAS_DEFAULT_MATH;
  int sm_count_target = 0;
  CUdeviceptr result = 0;  // where results land that the host waits for
};

namespace refrain::simgpu::cublas {

using namespace blas::frame;
using blas::Arguments;
using blas::KernelId;
using blas::Op;
using blas::Operand;
using blas::Scalar;

template <class Body>
cublasStatus_t with_handle(cublasHandle_t handle, Body&& body) noexcept {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  return call([&] { body(*handle); });
}

// The name that a program writes for a symbol: without _v2.
template <Name kSymbol>
struct CallName {
  static constexpr auto kCharacters = [] {
    std::array<char, sizeof kSymbol.characters> out{};
    for (std::size_t from = 0, to = 0; kSymbol.characters[from] != '\0'; ++from) {
      const char* at = kSymbol.characters + from;
      if (at[0] == '_' && at[1] == 'v' && at[2] == '2') {
        from += 2;
        continue;
      }
      out[to++] = *at;
    }
    return out;
  }();
};
template <Name kSymbol>
Arguments arguments_of() {
  Arguments out;
  out.call = CallName<kSymbol>::kCharacters.data();
  return out;
}

// The library's type of a C type.
template <class T>
inline constexpr std::int32_t kType = -1;
template <>
inline constexpr std::int32_t kType<float> = CUDA_R_32F;
template <>
inline constexpr std::int32_t kType<double> = CUDA_R_64F;
template <>
inline constexpr std::int32_t kType<__half> = CUDA_R_16F;
template <>
inline constexpr std::int32_t kType<__nv_bfloat16> = CUDA_R_16BF;
template <>
inline constexpr std::int32_t kType<cuComplex> = CUDA_C_32F;
template <>
inline constexpr std::int32_t kType<cuDoubleComplex> = CUDA_C_64F;

inline void check_type(std::int32_t type, const char* call) {
  if (!blas::is_type(type)) refuse(std::string(call) + " with element type " + std::to_string(type));
}

inline Operand operand(const void* pointer, std::int64_t ld, std::int32_t type, std::int64_t stride = 0) {
  return {.address = address_of(pointer), .ld = ld, .stride = stride, .type = type};
}
// An array of pointers in device memory.
inline Operand operands(const void* array, std::int64_t ld, std::int32_t type) {
  return {.address = address_of(array), .ld = ld, .type = type, .pointers = true};
}

// alpha and the like, as the handle's pointer mode says.
inline Scalar scalar(const cublasContext& handle, const void* pointer, std::int32_t type) {
  require(pointer != nullptr);
  Scalar out{.type = type};
  if (handle.pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
    out.address = address_of(pointer);
  } else {
    std::memcpy(out.value, pointer, blas::element_bytes(type));
  }
  return out;
}

inline blas::Triangle triangle_of(cublasFillMode_t fill) {
  require(fill == CUBLAS_FILL_MODE_LOWER || fill == CUBLAS_FILL_MODE_UPPER);
  return fill == CUBLAS_FILL_MODE_UPPER ? blas::Triangle::kUpper : blas::Triangle::kLower;
}
inline blas::Side side_of(cublasSideMode_t side) {
  require(side == CUBLAS_SIDE_LEFT || side == CUBLAS_SIDE_RIGHT);
  return side == CUBLAS_SIDE_LEFT ? blas::Side::kLeft : blas::Side::kRight;
}
inline bool unit_of(cublasDiagType_t diagonal) {
  require(diagonal == CUBLAS_DIAG_NON_UNIT || diagonal == CUBLAS_DIAG_UNIT);
  return diagonal == CUBLAS_DIAG_UNIT;
}
inline void launch(const cublasContext& handle, KernelId kernel, const Arguments& arguments) {
  check(blas::launch(kernel, arguments, handle.context, handle.stream));
}

// A kernel that writes arguments.d: where the program wants it, which, on the host, means waiting for it.
void launch_for_result(cublasContext& handle, KernelId kernel, Arguments& arguments, void* result,
                       std::size_t bytes);

}  // namespace refrain::simgpu::cublas
