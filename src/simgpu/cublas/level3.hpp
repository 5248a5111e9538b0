// Level 3 beyond the plain product, and its extensions: signatures to arguments. It must not compute.
#pragma once

#include "simgpu/cublas/frame.hpp"

namespace refrain::simgpu::cublas {

template <Name kSymbol, bool kHermitian, class T, class Int>
cublasStatus_t symmetric_product(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, Int m,
                                 Int n, const T* alpha, const T* a, Int lda, const T* b, Int ldb,
                                 const T* beta, T* c, Int ldc) {
  return with_handle(handle, [&](cublasContext& context) {
    Arguments arguments = arguments_of<kSymbol>();
    check_sizes(arguments.call, {m, n});
    arguments.side = side_of(side);
    arguments.triangle = triangle_of(fill);
    check_ld(lda, side == CUBLAS_SIDE_LEFT ? m : n);
    check_ld(ldb, m);
    check_ld(ldc, m);
    arguments.hermitian = kHermitian;
    arguments.m = m;
    arguments.n = n;
    arguments.work = kType<T>;
    arguments.a = operand(a, lda, kType<T>);
    arguments.b = operand(b, ldb, kType<T>);
    arguments.c = operand(c, ldc, kType<T>);
    arguments.alpha = scalar(context, alpha, kType<T>);
    arguments.beta = scalar(context, beta, kType<T>);
    if (m > 0 && n > 0) launch(context, KernelId::kSymmetricProduct, arguments);
  });
}
template <Name kSymbol, class T, class Int>
cublasStatus_t symm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, Int m, Int n,
                    const T* alpha, const T* a, Int lda, const T* b, Int ldb, const T* beta, T* c, Int ldc) {
  return symmetric_product<kSymbol, false>(handle, side, fill, m, n, alpha, a, lda, b, ldb, beta, c, ldc);
}
template <Name kSymbol, class T, class Int>
cublasStatus_t hemm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, Int m, Int n,
                    const T* alpha, const T* a, Int lda, const T* b, Int ldb, const T* beta, T* c, Int ldc) {
  return symmetric_product<kSymbol, true>(handle, side, fill, m, n, alpha, a, lda, b, ldb, beta, c, ldc);
}

// b: nullptr where there is no second matrix. kMode: the kernel's.
template <Name kSymbol, int kMode, bool kHermitian, class A, class B, class T, class Int>
cublasStatus_t symmetric_update(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t trans, Int n,
                                Int k, const A* alpha, const T* a, Int lda, const T* b, Int ldb,
                                const B* beta, T* c, Int ldc) {
  return with_handle(handle, [&](cublasContext& context) {
    Arguments arguments = arguments_of<kSymbol>();
    check_sizes(arguments.call, {n, k});
    arguments.triangle = triangle_of(fill);
    arguments.op_a = op_of(trans);
    // Of complex matrices only one of the two transposes fits.
    if (is_complex(kType<T>)) require(trans != (kHermitian ? CUBLAS_OP_T : CUBLAS_OP_C));
    const Int rows = trans == CUBLAS_OP_N ? n : k;
    check_ld(lda, rows);
    if (kMode != 0) check_ld(ldb, rows);
    check_ld(ldc, n);
    arguments.mode = kMode;
    arguments.hermitian = kHermitian;
    arguments.n = n;
    arguments.k = k;
    arguments.work = kType<T>;
    arguments.a = operand(a, lda, kType<T>);
    arguments.b = operand(b, ldb, kType<T>);
    arguments.c = operand(c, ldc, kType<T>);
    arguments.alpha = scalar(context, alpha, kType<A>);
    arguments.beta = scalar(context, beta, kType<B>);
    if (n > 0) launch(context, KernelId::kSymmetricUpdate, arguments);
  });
}
template <Name kSymbol, class T, class Int>
cublasStatus_t syrk(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t trans, Int n, Int k,
                    const T* alpha, const T* a, Int lda, const T* beta, T* c, Int ldc) {
  return symmetric_update<kSymbol, 0, false>(handle, fill, trans, n, k, alpha, a, lda,
                                             static_cast<const T*>(nullptr), Int{1}, beta, c, ldc);
}
template <Name kSymbol, class R, class T, class Int>
cublasStatus_t herk(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t trans, Int n, Int k,
                    const R* alpha, const T* a, Int lda, const R* beta, T* c, Int ldc) {
  return symmetric_update<kSymbol, 0, true>(handle, fill, trans, n, k, alpha, a, lda,
                                            static_cast<const T*>(nullptr), Int{1}, beta, c, ldc);
}
template <Name kSymbol, class T, class Int>
cublasStatus_t syrkx(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t trans, Int n, Int k,
                     const T* alpha, const T* a, Int lda, const T* b, Int ldb, const T* beta, T* c, Int ldc) {
  return symmetric_update<kSymbol, 1, false>(handle, fill, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
template <Name kSymbol, class R, class T, class Int>
cublasStatus_t herkx(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t trans, Int n, Int k,
                     const T* alpha, const T* a, Int lda, const T* b, Int ldb, const R* beta, T* c, Int ldc) {
  return symmetric_update<kSymbol, 1, true>(handle, fill, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
template <Name kSymbol, class T, class Int>
cublasStatus_t syr2k(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t trans, Int n, Int k,
                     const T* alpha, const T* a, Int lda, const T* b, Int ldb, const T* beta, T* c, Int ldc) {
  return symmetric_update<kSymbol, 2, false>(handle, fill, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
template <Name kSymbol, class R, class T, class Int>
cublasStatus_t her2k(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t trans, Int n, Int k,
                     const T* alpha, const T* a, Int lda, const T* b, Int ldb, const R* beta, T* c, Int ldc) {
  return symmetric_update<kSymbol, 2, true>(handle, fill, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

// kMode: 0 multiplies, 1 solves.
template <Name kSymbol, int kMode>
cublasStatus_t triangular_product(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,
                                  cublasOperation_t trans, cublasDiagType_t diagonal, std::int64_t m,
                                  std::int64_t n, const void* alpha, Operand a, Operand b, Operand c,
                                  std::int64_t batch) {
  return with_handle(handle, [&](cublasContext& context) {
    Arguments arguments = arguments_of<kSymbol>();
    check_sizes(arguments.call, {m, n, batch});
    arguments.side = side_of(side);
    arguments.triangle = triangle_of(fill);
    arguments.op_a = op_of(trans);
    arguments.unit_diagonal = unit_of(diagonal);
    check_ld(a.ld, side == CUBLAS_SIDE_LEFT ? m : n);
    check_ld(b.ld, m);
    check_ld(c.ld, m);
    arguments.mode = kMode;
    arguments.m = m;
    arguments.n = n;
    arguments.batch = batch;
    arguments.work = a.type;
    arguments.a = a;
    arguments.b = b;
    arguments.c = c;
    arguments.alpha = scalar(context, alpha, a.type);
    if (m > 0 && n > 0 && batch > 0) launch(context, KernelId::kTriangularProduct, arguments);
  });
}
template <Name kSymbol, class T, class Int>
cublasStatus_t trmm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,
                    cublasOperation_t trans, cublasDiagType_t diagonal, Int m, Int n, const T* alpha,
                    const T* a, Int lda, const T* b, Int ldb, T* c, Int ldc) {
  return triangular_product<kSymbol, 0>(handle, side, fill, trans, diagonal, m, n, alpha,
                                        operand(a, lda, kType<T>), operand(b, ldb, kType<T>),
                                        operand(c, ldc, kType<T>), 1);
}
template <Name kSymbol, class T, class Int>
cublasStatus_t trsm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,
                    cublasOperation_t trans, cublasDiagType_t diagonal, Int m, Int n, const T* alpha,
                    const T* a, Int lda, T* b, Int ldb) {
  const Operand both = operand(b, ldb, kType<T>);
  return triangular_product<kSymbol, 1>(handle, side, fill, trans, diagonal, m, n, alpha,
                                        operand(a, lda, kType<T>), both, both, 1);
}
template <Name kSymbol, class T, class Int>
cublasStatus_t trsm_batched(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,
                            cublasOperation_t trans, cublasDiagType_t diagonal, Int m, Int n, const T* alpha,
                            const T* const a[], Int lda, T* const b[], Int ldb, Int batch) {
  const Operand both = operands(b, ldb, kType<T>);
  return triangular_product<kSymbol, 1>(handle, side, fill, trans, diagonal, m, n, alpha,
                                        operands(a, lda, kType<T>), both, both, batch);
}

template <Name kSymbol, class T, class Int>
cublasStatus_t geam(cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, Int m, Int n,
                    const T* alpha, const T* a, Int lda, const T* beta, const T* b, Int ldb, T* c, Int ldc) {
  return with_handle(handle, [&](cublasContext& context) {
    Arguments arguments = arguments_of<kSymbol>();
    check_sizes(arguments.call, {m, n});
    arguments.op_a = op_of(trans_a);
    arguments.op_b = op_of(trans_b);
    check_ld(lda, trans_a == CUBLAS_OP_N ? m : n);
    check_ld(ldb, trans_b == CUBLAS_OP_N ? m : n);
    check_ld(ldc, m);
    // In place only as it lies.
    require(c != a || (lda == ldc && trans_a == CUBLAS_OP_N));
    require(c != b || (ldb == ldc && trans_b == CUBLAS_OP_N));
    arguments.m = m;
    arguments.n = n;
    arguments.work = kType<T>;
    arguments.a = operand(a, lda, kType<T>);
    arguments.b = operand(b, ldb, kType<T>);
    arguments.c = operand(c, ldc, kType<T>);
    arguments.alpha = scalar(context, alpha, kType<T>);
    arguments.beta = scalar(context, beta, kType<T>);
    if (m > 0 && n > 0) launch(context, KernelId::kMatrixSum, arguments);
  });
}

template <Name kSymbol, class T, class Int>
cublasStatus_t dgmm(cublasHandle_t handle, cublasSideMode_t side, Int m, Int n, const T* a, Int lda,
                    const T* x, Int incx, T* c, Int ldc) {
  return with_handle(handle, [&](cublasContext& context) {
    Arguments arguments = arguments_of<kSymbol>();
    check_sizes(arguments.call, {m, n});
    arguments.side = side_of(side);
    check_ld(lda, m);
    check_ld(ldc, m);
    arguments.m = m;
    arguments.n = n;
    arguments.work = kType<T>;
    arguments.a = operand(a, lda, kType<T>);
    arguments.b = operand(x, incx, kType<T>);
    arguments.c = operand(c, ldc, kType<T>);
    if (m > 0 && n > 0) launch(context, KernelId::kDiagonalProduct, arguments);
  });
}

}  // namespace refrain::simgpu::cublas
