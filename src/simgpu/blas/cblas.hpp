// OpenBLAS by the type that is computed in: columns first, sizes of int. It must not do anything else.
#pragma once

#include <cblas.h>

#include <complex>

#include "simgpu/blas/arguments.hpp"

namespace refrain::simgpu::blas {

template <class W>
struct Cblas;

inline CBLAS_TRANSPOSE cblas_op(Op op) {
  return op == Op::kNone ? CblasNoTrans : op == Op::kTranspose ? CblasTrans : CblasConjTrans;
}
inline CBLAS_UPLO cblas_triangle(Triangle triangle) {
  return triangle == Triangle::kUpper ? CblasUpper : CblasLower;
}
inline CBLAS_SIDE cblas_side(Side side) {
  return side == Side::kLeft ? CblasLeft : CblasRight;
}
inline CBLAS_DIAG cblas_diagonal(bool unit) {
  return unit ? CblasUnit : CblasNonUnit;
}

// The names of one type. SCALAR: how alpha and beta are passed.
#define SIMGPU_CBLAS(W, x, SCALAR)                                \
  template <>                                                     \
  struct Cblas<W> {                                               \
    static constexpr auto gemm = &cblas_##x##gemm;                \
    static constexpr auto gemv = &cblas_##x##gemv;                \
    static constexpr auto symm = &cblas_##x##symm;                \
    static constexpr auto syrk = &cblas_##x##syrk;                \
    static constexpr auto syr2k = &cblas_##x##syr2k;              \
    static constexpr auto trmm = &cblas_##x##trmm;                \
    static constexpr auto trsm = &cblas_##x##trsm;                \
    static constexpr auto trmv = &cblas_##x##trmv;                \
    static constexpr auto trsv = &cblas_##x##trsv;                \
    static decltype(auto) pass(const W& value) { return SCALAR; } \
  };
SIMGPU_CBLAS(float, s, float{value})
SIMGPU_CBLAS(double, d, double{value})
SIMGPU_CBLAS(std::complex<float>, c, static_cast<const void*>(&value))
SIMGPU_CBLAS(std::complex<double>, z, static_cast<const void*>(&value))
#undef SIMGPU_CBLAS

}  // namespace refrain::simgpu::blas
