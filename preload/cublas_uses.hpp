// What each cuBLAS function reads and writes, from its documentation: one template for a family, with the
// parameters of its functions. library_calls.def says which symbol is which instance. Nothing is called here.
//
// T: the type of the elements; Int: of the sizes. A C, y or result that beta is zero for is not read.
#pragma once

#include <cublas_v2.h>

#include "preload/cublas_types.hpp"
#include "preload/library_uses.hpp"

namespace refrain::preload::cublas {

using Handle = cublasHandle_t;
using How = LibraryUses::How;

// An operand: the parameter itself, because its place in the record counts, and how its elements lie.
template <class Pointer>
struct Operand {
  const Pointer& pointer;
  std::uint32_t element_bytes;
  std::int64_t ld;
  std::int64_t stride = 0;
};
template <class Pointer>
Operand(const Pointer&, std::uint32_t, std::int64_t) -> Operand<Pointer>;
template <class Pointer>
Operand(const Pointer&, std::uint32_t, std::int64_t, std::int64_t) -> Operand<Pointer>;

template <class Pointer>
void matrix(LibraryUses& uses, const Operand<Pointer>& o, How how, std::int64_t rows, std::int64_t columns,
            std::int64_t batches = 1) {
  if (o.element_bytes == 0) return uses.refuse();
  uses.touch(o.pointer, how, access::extent_of({rows, columns, o.ld, batches, o.stride}, o.element_bytes));
}
template <class Pointer>
void vector(LibraryUses& uses, const Operand<Pointer>& o, How how, std::int64_t n, std::int64_t batches = 1) {
  if (o.element_bytes == 0) return uses.refuse();
  uses.touch(o.pointer, how, access::extent_of_vector(n, o.ld, o.element_bytes, batches, o.stride));
}

inline How written(bool beta_is_zero) {
  return beta_is_zero ? How::kWrite : How::kUpdate;
}

struct Product {
  cublasOperation_t op_a, op_b;
  std::int64_t m, n, k;
  std::int64_t batches = 1;
  bool empty() const { return m == 0 || n == 0 || batches == 0; }
};

template <class Scalar, class A, class B, class C>
void product(LibraryUses& uses, const Product& p, const Scalar& alpha, const Scalar& beta,
             std::uint32_t bytes, const Operand<A>& a, const Operand<B>& b, const Operand<C>& c) {
  if (p.m < 0 || p.n < 0 || p.k < 0) return uses.refuse();
  if (p.empty()) return;
  uses.scalar(alpha, bytes);
  const bool beta_is_zero = uses.scalar(beta, bytes);
  const bool plain_a = p.op_a == CUBLAS_OP_N;
  const bool plain_b = p.op_b == CUBLAS_OP_N;
  matrix(uses, a, How::kRead, plain_a ? p.m : p.k, plain_a ? p.k : p.m, p.batches);
  matrix(uses, b, How::kRead, plain_b ? p.k : p.n, plain_b ? p.n : p.k, p.batches);
  matrix(uses, c, written(beta_is_zero), p.m, p.n, p.batches);
}

template <class T, class Int>
void gemm(LibraryUses& uses, const Handle&, const cublasOperation_t& op_a, const cublasOperation_t& op_b,
          const Int& m, const Int& n, const Int& k, const T* const& alpha, const T* const& a, const Int& lda,
          const T* const& b, const Int& ldb, const T* const& beta, T* const& c, const Int& ldc) {
  product(uses, {op_a, op_b, m, n, k}, alpha, beta, sizeof(T), Operand{a, sizeof(T), lda},
          Operand{b, sizeof(T), ldb}, Operand{c, sizeof(T), ldc});
}

template <class T, class Int>
void gemm_strided(LibraryUses& uses, const Handle&, const cublasOperation_t& op_a,
                  const cublasOperation_t& op_b, const Int& m, const Int& n, const Int& k,
                  const T* const& alpha, const T* const& a, const Int& lda, const long long& stride_a,
                  const T* const& b, const Int& ldb, const long long& stride_b, const T* const& beta,
                  T* const& c, const Int& ldc, const long long& stride_c, const Int& batches) {
  product(uses, {op_a, op_b, m, n, k, batches}, alpha, beta, sizeof(T), Operand{a, sizeof(T), lda, stride_a},
          Operand{b, sizeof(T), ldb, stride_b}, Operand{c, sizeof(T), ldc, stride_c});
}

// SgemmEx and CgemmEx: scalars of type T.
template <class T, class Int>
void gemm_typed(LibraryUses& uses, const Handle&, const cublasOperation_t& op_a,
                const cublasOperation_t& op_b, const Int& m, const Int& n, const Int& k,
                const T* const& alpha, const void* const& a, const cudaDataType& a_type, const Int& lda,
                const void* const& b, const cudaDataType& b_type, const Int& ldb, const T* const& beta,
                void* const& c, const cudaDataType& c_type, const Int& ldc) {
  product(uses, {op_a, op_b, m, n, k}, alpha, beta, sizeof(T), Operand{a, bytes_of(a_type), lda},
          Operand{b, bytes_of(b_type), ldb}, Operand{c, bytes_of(c_type), ldc});
}

template <class Int>
void gemm_ex(LibraryUses& uses, const Handle&, const cublasOperation_t& op_a, const cublasOperation_t& op_b,
             const Int& m, const Int& n, const Int& k, const void* const& alpha, const void* const& a,
             const cudaDataType& a_type, const Int& lda, const void* const& b, const cudaDataType& b_type,
             const Int& ldb, const void* const& beta, void* const& c, const cudaDataType& c_type,
             const Int& ldc, const cublasComputeType_t& compute, const cublasGemmAlgo_t&) {
  const std::uint32_t bytes = scalar_bytes(compute, a_type);
  if (bytes == 0) return uses.refuse();
  product(uses, {op_a, op_b, m, n, k}, alpha, beta, bytes, Operand{a, bytes_of(a_type), lda},
          Operand{b, bytes_of(b_type), ldb}, Operand{c, bytes_of(c_type), ldc});
}

template <class Int>
void gemm_strided_ex(LibraryUses& uses, const Handle&, const cublasOperation_t& op_a,
                     const cublasOperation_t& op_b, const Int& m, const Int& n, const Int& k,
                     const void* const& alpha, const void* const& a, const cudaDataType& a_type,
                     const Int& lda, const long long& stride_a, const void* const& b,
                     const cudaDataType& b_type, const Int& ldb, const long long& stride_b,
                     const void* const& beta, void* const& c, const cudaDataType& c_type, const Int& ldc,
                     const long long& stride_c, const Int& batches, const cublasComputeType_t& compute,
                     const cublasGemmAlgo_t&) {
  const std::uint32_t bytes = scalar_bytes(compute, a_type);
  if (bytes == 0) return uses.refuse();
  product(uses, {op_a, op_b, m, n, k, batches}, alpha, beta, bytes,
          Operand{a, bytes_of(a_type), lda, stride_a}, Operand{b, bytes_of(b_type), ldb, stride_b},
          Operand{c, bytes_of(c_type), ldc, stride_c});
}

template <class T, class Int>
void gemv(LibraryUses& uses, const Handle&, const cublasOperation_t& op, const Int& m, const Int& n,
          const T* const& alpha, const T* const& a, const Int& lda, const T* const& x, const Int& incx,
          const T* const& beta, T* const& y, const Int& incy) {
  if (m <= 0 || n <= 0) return uses.refuse();
  const bool plain = op == CUBLAS_OP_N;
  uses.scalar(alpha, sizeof(T));
  const bool beta_is_zero = uses.scalar(beta, sizeof(T));
  matrix(uses, Operand{a, sizeof(T), lda}, How::kRead, m, n);
  vector(uses, Operand{x, sizeof(T), incx}, How::kRead, plain ? n : m);
  vector(uses, Operand{y, sizeof(T), incy}, written(beta_is_zero), plain ? m : n);
}

template <class T, class Int>
void gemv_strided(LibraryUses& uses, const Handle&, const cublasOperation_t& op, const Int& m, const Int& n,
                  const T* const& alpha, const T* const& a, const Int& lda, const long long& stride_a,
                  const T* const& x, const Int& incx, const long long& stride_x, const T* const& beta,
                  T* const& y, const Int& incy, const long long& stride_y, const Int& batches) {
  if (m <= 0 || n <= 0) return uses.refuse();
  const bool plain = op == CUBLAS_OP_N;
  uses.scalar(alpha, sizeof(T));
  const bool beta_is_zero = uses.scalar(beta, sizeof(T));
  matrix(uses, Operand{a, sizeof(T), lda, stride_a}, How::kRead, m, n, batches);
  vector(uses, Operand{x, sizeof(T), incx, stride_x}, How::kRead, plain ? n : m, batches);
  vector(uses, Operand{y, sizeof(T), incy, stride_y}, written(beta_is_zero), plain ? m : n, batches);
}

template <class T, class Int>
void ger(LibraryUses& uses, const Handle&, const Int& m, const Int& n, const T* const& alpha,
         const T* const& x, const Int& incx, const T* const& y, const Int& incy, T* const& a,
         const Int& lda) {
  uses.scalar(alpha, sizeof(T));
  vector(uses, Operand{x, sizeof(T), incx}, How::kRead, m);
  vector(uses, Operand{y, sizeof(T), incy}, How::kRead, n);
  matrix(uses, Operand{a, sizeof(T), lda}, How::kUpdate, m, n);
}

// A matrix that a zero scalar stands before is not looked at, and may be none.
template <class T, class Int>
void geam(LibraryUses& uses, const Handle&, const cublasOperation_t& op_a, const cublasOperation_t& op_b,
          const Int& m, const Int& n, const T* const& alpha, const T* const& a, const Int& lda,
          const T* const& beta, const T* const& b, const Int& ldb, T* const& c, const Int& ldc) {
  const bool plain_a = op_a == CUBLAS_OP_N;
  const bool plain_b = op_b == CUBLAS_OP_N;
  if (!uses.scalar(alpha, sizeof(T))) {
    matrix(uses, Operand{a, sizeof(T), lda}, How::kRead, plain_a ? m : n, plain_a ? n : m);
  }
  if (!uses.scalar(beta, sizeof(T))) {
    matrix(uses, Operand{b, sizeof(T), ldb}, How::kRead, plain_b ? m : n, plain_b ? n : m);
  }
  matrix(uses, Operand{c, sizeof(T), ldc}, How::kWrite, m, n);
}

template <class T, class Int>
void dgmm(LibraryUses& uses, const Handle&, const cublasSideMode_t& side, const Int& m, const Int& n,
          const T* const& a, const Int& lda, const T* const& x, const Int& incx, T* const& c,
          const Int& ldc) {
  matrix(uses, Operand{a, sizeof(T), lda}, How::kRead, m, n);
  vector(uses, Operand{x, sizeof(T), incx}, How::kRead, side == CUBLAS_SIDE_LEFT ? m : n);
  matrix(uses, Operand{c, sizeof(T), ldc}, How::kWrite, m, n);
}

template <class T, class Int>
void trsm(LibraryUses& uses, const Handle&, const cublasSideMode_t& side, const cublasFillMode_t&,
          const cublasOperation_t&, const cublasDiagType_t&, const Int& m, const Int& n,
          const T* const& alpha, const T* const& a, const Int& lda, T* const& b, const Int& ldb) {
  const Int order = side == CUBLAS_SIDE_LEFT ? m : n;
  uses.scalar(alpha, sizeof(T));
  matrix(uses, Operand{a, sizeof(T), lda}, How::kRead, order, order);
  matrix(uses, Operand{b, sizeof(T), ldb}, How::kUpdate, m, n);
}

// S: the type of the scalar, which is real for some complex vectors.
template <class T, class S, class Int>
void scal(LibraryUses& uses, const Handle&, const Int& n, const S* const& alpha, T* const& x,
          const Int& incx) {
  uses.scalar(alpha, sizeof(S));
  vector(uses, Operand{x, sizeof(T), incx}, How::kUpdate, n);
}

template <class T, class Int>
void axpy(LibraryUses& uses, const Handle&, const Int& n, const T* const& alpha, const T* const& x,
          const Int& incx, T* const& y, const Int& incy) {
  uses.scalar(alpha, sizeof(T));
  vector(uses, Operand{x, sizeof(T), incx}, How::kRead, n);
  vector(uses, Operand{y, sizeof(T), incy}, How::kUpdate, n);
}

template <class T, class Int>
void copy(LibraryUses& uses, const Handle&, const Int& n, const T* const& x, const Int& incx, T* const& y,
          const Int& incy) {
  vector(uses, Operand{x, sizeof(T), incx}, How::kRead, n);
  vector(uses, Operand{y, sizeof(T), incy}, How::kWrite, n);
}

template <class T, class Int>
void swap(LibraryUses& uses, const Handle&, const Int& n, T* const& x, const Int& incx, T* const& y,
          const Int& incy) {
  vector(uses, Operand{x, sizeof(T), incx}, How::kUpdate, n);
  vector(uses, Operand{y, sizeof(T), incy}, How::kUpdate, n);
}

template <class T, class Int>
void dot(LibraryUses& uses, const Handle&, const Int& n, const T* const& x, const Int& incx,
         const T* const& y, const Int& incy, T* const& result) {
  vector(uses, Operand{x, sizeof(T), incx}, How::kRead, n);
  vector(uses, Operand{y, sizeof(T), incy}, How::kRead, n);
  uses.result(result, sizeof(T));
}

// One number from one vector: norms, sums, and the place of the largest or the smallest. R: its type.
template <class T, class R, class Int>
void reduce(LibraryUses& uses, const Handle&, const Int& n, const T* const& x, const Int& incx,
            R* const& result) {
  vector(uses, Operand{x, sizeof(T), incx}, How::kRead, n);
  uses.result(result, sizeof(R));
}

template <class Int>
void scal_ex(LibraryUses& uses, const Handle&, const Int& n, const void* const& alpha,
             const cudaDataType& alpha_type, void* const& x, const cudaDataType& x_type, const Int& incx,
             const cudaDataType&) {
  uses.scalar(alpha, bytes_of(alpha_type));
  vector(uses, Operand{x, bytes_of(x_type), incx}, How::kUpdate, n);
}

template <class Int>
void axpy_ex(LibraryUses& uses, const Handle&, const Int& n, const void* const& alpha,
             const cudaDataType& alpha_type, const void* const& x, const cudaDataType& x_type,
             const Int& incx, void* const& y, const cudaDataType& y_type, const Int& incy,
             const cudaDataType&) {
  uses.scalar(alpha, bytes_of(alpha_type));
  vector(uses, Operand{x, bytes_of(x_type), incx}, How::kRead, n);
  vector(uses, Operand{y, bytes_of(y_type), incy}, How::kUpdate, n);
}

template <class Int>
void dot_ex(LibraryUses& uses, const Handle&, const Int& n, const void* const& x, const cudaDataType& x_type,
            const Int& incx, const void* const& y, const cudaDataType& y_type, const Int& incy,
            void* const& result, const cudaDataType& result_type, const cudaDataType&) {
  vector(uses, Operand{x, bytes_of(x_type), incx}, How::kRead, n);
  vector(uses, Operand{y, bytes_of(y_type), incy}, How::kRead, n);
  uses.result(result, bytes_of(result_type));
}

template <class Int>
void nrm2_ex(LibraryUses& uses, const Handle&, const Int& n, const void* const& x, const cudaDataType& x_type,
             const Int& incx, void* const& result, const cudaDataType& result_type, const cudaDataType&) {
  vector(uses, Operand{x, bytes_of(x_type), incx}, How::kRead, n);
  uses.result(result, bytes_of(result_type));
}

}  // namespace refrain::preload::cublas
