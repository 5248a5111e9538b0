// Level 2: signatures to arguments. It must not compute.
#pragma once

#include "simgpu/cublas/frame.hpp"

namespace refrain::simgpu::cublas {

// y = alpha op(A) x + beta y, for matrices of type A_, vectors x of the same and y of type Y_.
template <Name kSymbol>
cublasStatus_t gemv_of(cublasHandle_t handle, cublasOperation_t trans, std::int64_t m, std::int64_t n,
                       const void* alpha, Operand a, Operand x, const void* beta, Operand y,
                       std::int32_t scale, std::int64_t batch) {
  return with_handle(handle, [&](cublasContext& context) {
    Arguments arguments = arguments_of<kSymbol>();
    check_sizes(arguments.call, {m, n, batch});
    check_ld(a.ld, m);
    require(x.ld != 0 && y.ld != 0);
    arguments.op_a = op_of(trans);
    arguments.m = m;
    arguments.n = n;
    arguments.batch = batch;
    arguments.a = a;
    arguments.b = x;
    arguments.c = y;
    arguments.work = scale;
    arguments.rate = blas::rate_of(a.type);
    arguments.alpha = scalar(context, alpha, scale);
    arguments.beta = scalar(context, beta, scale);
    if (m > 0 && n > 0 && batch > 0) launch(context, KernelId::kMatrixVector, arguments);
  });
}

template <Name kSymbol, class S, class T, class Y, class Int>
cublasStatus_t gemv(cublasHandle_t handle, cublasOperation_t trans, Int m, Int n, const S* alpha, const T* a,
                    Int lda, const T* x, Int incx, const S* beta, Y* y, Int incy) {
  return gemv_of<kSymbol>(handle, trans, m, n, alpha, operand(a, lda, kType<T>), operand(x, incx, kType<T>),
                          beta, operand(y, incy, kType<Y>), kType<S>, 1);
}
template <Name kSymbol, class S, class T, class Y, class Int>
cublasStatus_t gemv_batched(cublasHandle_t handle, cublasOperation_t trans, Int m, Int n, const S* alpha,
                            const T* const a[], Int lda, const T* const x[], Int incx, const S* beta,
                            Y* const y[], Int incy, Int batch) {
  return gemv_of<kSymbol>(handle, trans, m, n, alpha, operands(a, lda, kType<T>), operands(x, incx, kType<T>),
                          beta, operands(y, incy, kType<Y>), kType<S>, batch);
}
template <Name kSymbol, class S, class T, class Y, class Int>
cublasStatus_t gemv_strided(cublasHandle_t handle, cublasOperation_t trans, Int m, Int n, const S* alpha,
                            const T* a, Int lda, long long stride_a, const T* x, Int incx, long long stride_x,
                            const S* beta, Y* y, Int incy, long long stride_y, Int batch) {
  return gemv_of<kSymbol>(handle, trans, m, n, alpha, operand(a, lda, kType<T>, stride_a),
                          operand(x, incx, kType<T>, stride_x), beta, operand(y, incy, kType<Y>, stride_y),
                          kType<S>, batch);
}

template <Name kSymbol, bool kHermitian, class T, class Int>
cublasStatus_t symmetric_vector(cublasHandle_t handle, cublasFillMode_t fill, Int n, const T* alpha,
                                const T* a, Int lda, const T* x, Int incx, const T* beta, T* y, Int incy) {
  return with_handle(handle, [&](cublasContext& context) {
    Arguments arguments = arguments_of<kSymbol>();
    check_sizes(arguments.call, {n});
    check_ld(lda, n);
    require(incx != 0 && incy != 0);
    arguments.triangle = triangle_of(fill);
    arguments.hermitian = kHermitian;
    arguments.n = n;
    arguments.work = kType<T>;
    arguments.a = operand(a, lda, kType<T>);
    arguments.b = operand(x, incx, kType<T>);
    arguments.c = operand(y, incy, kType<T>);
    arguments.alpha = scalar(context, alpha, kType<T>);
    arguments.beta = scalar(context, beta, kType<T>);
    if (n > 0) launch(context, KernelId::kSymmetricVector, arguments);
  });
}
template <Name kSymbol, class T, class Int>
cublasStatus_t symv(cublasHandle_t handle, cublasFillMode_t fill, Int n, const T* alpha, const T* a, Int lda,
                    const T* x, Int incx, const T* beta, T* y, Int incy) {
  return symmetric_vector<kSymbol, false>(handle, fill, n, alpha, a, lda, x, incx, beta, y, incy);
}
template <Name kSymbol, class T, class Int>
cublasStatus_t hemv(cublasHandle_t handle, cublasFillMode_t fill, Int n, const T* alpha, const T* a, Int lda,
                    const T* x, Int incx, const T* beta, T* y, Int incy) {
  return symmetric_vector<kSymbol, true>(handle, fill, n, alpha, a, lda, x, incx, beta, y, incy);
}

template <Name kSymbol, int kMode, class T, class Int>
cublasStatus_t triangular_vector(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t trans,
                                 cublasDiagType_t diagonal, Int n, const T* a, Int lda, T* x, Int incx) {
  return with_handle(handle, [&](cublasContext& context) {
    Arguments arguments = arguments_of<kSymbol>();
    check_sizes(arguments.call, {n});
    check_ld(lda, n);
    require(incx != 0);
    arguments.triangle = triangle_of(fill);
    arguments.op_a = op_of(trans);
    arguments.unit_diagonal = unit_of(diagonal);
    arguments.mode = kMode;
    arguments.n = n;
    arguments.work = kType<T>;
    arguments.a = operand(a, lda, kType<T>);
    arguments.c = operand(x, incx, kType<T>);
    if (n > 0) launch(context, KernelId::kTriangularVector, arguments);
  });
}
template <Name kSymbol, class T, class Int>
cublasStatus_t trmv(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t trans,
                    cublasDiagType_t diagonal, Int n, const T* a, Int lda, T* x, Int incx) {
  return triangular_vector<kSymbol, 0>(handle, fill, trans, diagonal, n, a, lda, x, incx);
}
template <Name kSymbol, class T, class Int>
cublasStatus_t trsv(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t trans,
                    cublasDiagType_t diagonal, Int n, const T* a, Int lda, T* x, Int incx) {
  return triangular_vector<kSymbol, 1>(handle, fill, trans, diagonal, n, a, lda, x, incx);
}

template <Name kSymbol, bool kConjugated, class T, class Int>
cublasStatus_t rank_one(cublasHandle_t handle, Int m, Int n, const T* alpha, const T* x, Int incx, const T* y,
                        Int incy, T* a, Int lda) {
  return with_handle(handle, [&](cublasContext& context) {
    Arguments arguments = arguments_of<kSymbol>();
    check_sizes(arguments.call, {m, n});
    check_ld(lda, m);
    require(incx != 0 && incy != 0);
    arguments.hermitian = kConjugated;
    arguments.m = m;
    arguments.n = n;
    arguments.work = kType<T>;
    arguments.alpha = scalar(context, alpha, kType<T>);
    arguments.a = operand(x, incx, kType<T>);
    arguments.b = operand(y, incy, kType<T>);
    arguments.c = operand(a, lda, kType<T>);
    if (m > 0 && n > 0) launch(context, KernelId::kRankOne, arguments);
  });
}
template <Name kSymbol, class T, class Int>
cublasStatus_t ger(cublasHandle_t handle, Int m, Int n, const T* alpha, const T* x, Int incx, const T* y,
                   Int incy, T* a, Int lda) {
  return rank_one<kSymbol, false>(handle, m, n, alpha, x, incx, y, incy, a, lda);
}
template <Name kSymbol, class T, class Int>
cublasStatus_t gerc(cublasHandle_t handle, Int m, Int n, const T* alpha, const T* x, Int incx, const T* y,
                    Int incy, T* a, Int lda) {
  return rank_one<kSymbol, true>(handle, m, n, alpha, x, incx, y, incy, a, lda);
}

// y: nullptr for one vector.
template <Name kSymbol, bool kHermitian, class S, class T, class Int>
cublasStatus_t symmetric_rank(cublasHandle_t handle, cublasFillMode_t fill, Int n, const S* alpha, const T* x,
                              Int incx, const Operand* y, T* a, Int lda) {
  return with_handle(handle, [&](cublasContext& context) {
    Arguments arguments = arguments_of<kSymbol>();
    check_sizes(arguments.call, {n});
    check_ld(lda, n);
    require(incx != 0 && (y == nullptr || y->ld != 0));
    arguments.triangle = triangle_of(fill);
    arguments.hermitian = kHermitian;
    arguments.mode = y != nullptr ? 1 : 0;
    arguments.n = n;
    arguments.work = kType<T>;
    arguments.alpha = scalar(context, alpha, kType<S>);
    arguments.a = operand(x, incx, kType<T>);
    if (y != nullptr) arguments.b = *y;
    arguments.c = operand(a, lda, kType<T>);
    if (n > 0) launch(context, KernelId::kSymmetricRank, arguments);
  });
}
template <Name kSymbol, class T, class Int>
cublasStatus_t syr(cublasHandle_t handle, cublasFillMode_t fill, Int n, const T* alpha, const T* x, Int incx,
                   T* a, Int lda) {
  return symmetric_rank<kSymbol, false>(handle, fill, n, alpha, x, incx, nullptr, a, lda);
}
template <Name kSymbol, class S, class T, class Int>
cublasStatus_t her(cublasHandle_t handle, cublasFillMode_t fill, Int n, const S* alpha, const T* x, Int incx,
                   T* a, Int lda) {
  return symmetric_rank<kSymbol, true>(handle, fill, n, alpha, x, incx, nullptr, a, lda);
}
template <Name kSymbol, class T, class Int>
cublasStatus_t syr2(cublasHandle_t handle, cublasFillMode_t fill, Int n, const T* alpha, const T* x, Int incx,
                    const T* y, Int incy, T* a, Int lda) {
  const Operand second = operand(y, incy, kType<T>);
  return symmetric_rank<kSymbol, false>(handle, fill, n, alpha, x, incx, &second, a, lda);
}
template <Name kSymbol, class T, class Int>
cublasStatus_t her2(cublasHandle_t handle, cublasFillMode_t fill, Int n, const T* alpha, const T* x, Int incx,
                    const T* y, Int incy, T* a, Int lda) {
  const Operand second = operand(y, incy, kType<T>);
  return symmetric_rank<kSymbol, true>(handle, fill, n, alpha, x, incx, &second, a, lda);
}

}  // namespace refrain::simgpu::cublas
