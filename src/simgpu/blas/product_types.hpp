// Which types may be multiplied, and what is computed in. It must not know handles.
#pragma once

#pragma GCC visibility push(default)
#include <cublas_api.h>
#pragma GCC visibility pop

#include "simgpu/blas/library.hpp"

namespace refrain::simgpu::blas {

struct ProductTypes {
  cublasComputeType_t compute;
  std::int32_t scale, operands, result;
};

inline constexpr ProductTypes kProductTypes[] = {
#define PRODUCT_TYPES(compute, scale, operands, result) {compute, scale, operands, result},
#include "simgpu/blas/product_types.def"
#undef PRODUCT_TYPES
};

// The form that the table lists.
inline cublasComputeType_t plain_form(cublasComputeType_t compute) {
  switch (compute) {
    case CUBLAS_COMPUTE_16F_PEDANTIC: return CUBLAS_COMPUTE_16F;
    case CUBLAS_COMPUTE_32I_PEDANTIC: return CUBLAS_COMPUTE_32I;
    case CUBLAS_COMPUTE_64F_PEDANTIC: return CUBLAS_COMPUTE_64F;
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32: return CUBLAS_COMPUTE_32F;
    default: return compute;
  }
}

// scale: -1 where the caller does not say. nullptr: not supported.
inline const ProductTypes* find_product(cublasComputeType_t compute, std::int32_t scale, std::int32_t a,
                                        std::int32_t b, std::int32_t result) {
  const cublasComputeType_t plain = plain_form(compute);
  for (const ProductTypes& row : kProductTypes) {
    if (row.compute == plain && (scale == -1 || row.scale == scale) && row.operands == a &&
        row.operands == b && row.result == result) {
      return &row;
    }
  }
  return nullptr;
}

// Sums of 8-bit products are exact in doubles.
inline std::int32_t work_of(const ProductTypes& types) {
  switch (types.operands) {
    case CUDA_R_8I: return CUDA_R_64F;
    case CUDA_R_16F:
    case CUDA_R_16BF: return CUDA_R_32F;
    default: return types.operands;
  }
}

inline double rate_of(cublasComputeType_t compute, std::int32_t operand_type) {
  if (compute == CUBLAS_COMPUTE_32F_FAST_TF32) return 8;
  if (compute == CUBLAS_COMPUTE_32F_FAST_16F || compute == CUBLAS_COMPUTE_32F_FAST_16BF) return 16;
  return rate_of(operand_type);
}

}  // namespace refrain::simgpu::blas
