// The matrix products: signatures to arguments. It must not compute.
#pragma once

#include "simgpu/cublas/frame.hpp"

namespace refrain::simgpu::cublas {

struct ProductShape {
  cublasOperation_t op_a, op_b;
  std::int64_t m, n, k, batch = 1;
};

// scale: the type of alpha and beta; -1: what the table says for these types.
template <Name kSymbol>
cublasStatus_t product(cublasHandle_t handle, const ProductShape& shape, const void* alpha, Operand a,
                       Operand b, const void* beta, Operand c, cublasComputeType_t compute,
                       std::int32_t scale = -1) {
  return with_handle(handle, [&](cublasContext& context) {
    Arguments arguments = arguments_of<kSymbol>();
    check_sizes(arguments.call, {shape.m, shape.n, shape.k, shape.batch});
    arguments.op_a = op_of(shape.op_a);
    arguments.op_b = op_of(shape.op_b);
    check_ld(a.ld, shape.op_a == CUBLAS_OP_N ? shape.m : shape.k);
    check_ld(b.ld, shape.op_b == CUBLAS_OP_N ? shape.k : shape.n);
    check_ld(c.ld, shape.m);
    const blas::ProductTypes* types = blas::find_product(compute, scale, a.type, b.type, c.type);
    if (types == nullptr) {
      refuse(std::string(arguments.call) + " with compute type " + std::to_string(compute) +
             " for A of type " + std::to_string(a.type) + ", B of " + std::to_string(b.type) + " and C of " +
             std::to_string(c.type));
    }
    arguments.m = shape.m;
    arguments.n = shape.n;
    arguments.k = shape.k;
    arguments.batch = shape.batch;
    arguments.work = blas::work_of(*types);
    arguments.rate = blas::rate_of(compute, a.type);
    arguments.a = a;
    arguments.b = b;
    arguments.c = c;
    arguments.d = c;
    arguments.alpha = scalar(context, alpha, types->scale);
    arguments.beta = scalar(context, beta, types->scale);
    if (shape.m > 0 && shape.n > 0 && shape.batch > 0) launch(context, KernelId::kMatrixProduct, arguments);
  });
}

// What the functions that carry their type compute in.
template <class T>
inline constexpr cublasComputeType_t kCompute =
    kType<T> == CUDA_R_16F                             ? CUBLAS_COMPUTE_16F
    : kType<T> == CUDA_R_64F || kType<T> == CUDA_C_64F ? CUBLAS_COMPUTE_64F
                                                       : CUBLAS_COMPUTE_32F;

template <Name kSymbol, class T, class Int>
cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m, Int n,
                    Int k, const T* alpha, const T* a, Int lda, const T* b, Int ldb, const T* beta, T* c,
                    Int ldc) {
  return product<kSymbol>(handle, {op_a, op_b, m, n, k}, alpha, operand(a, lda, kType<T>),
                          operand(b, ldb, kType<T>), beta, operand(c, ldc, kType<T>), kCompute<T>);
}
template <Name kSymbol, class T, class Int>
cublasStatus_t gemm_batched(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m,
                            Int n, Int k, const T* alpha, const T* const a[], Int lda, const T* const b[],
                            Int ldb, const T* beta, T* const c[], Int ldc, Int batch) {
  return product<kSymbol>(handle, {op_a, op_b, m, n, k, batch}, alpha, operands(a, lda, kType<T>),
                          operands(b, ldb, kType<T>), beta, operands(c, ldc, kType<T>), kCompute<T>);
}
template <Name kSymbol, class T, class Int>
cublasStatus_t gemm_strided(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m,
                            Int n, Int k, const T* alpha, const T* a, Int lda, long long stride_a, const T* b,
                            Int ldb, long long stride_b, const T* beta, T* c, Int ldc, long long stride_c,
                            Int batch) {
  return product<kSymbol>(handle, {op_a, op_b, m, n, k, batch}, alpha, operand(a, lda, kType<T>, stride_a),
                          operand(b, ldb, kType<T>, stride_b), beta, operand(c, ldc, kType<T>, stride_c),
                          kCompute<T>);
}

// SgemmEx and CgemmEx: scalars of type T.
template <Name kSymbol, class T, class Int>
cublasStatus_t gemm_typed(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m, Int n,
                          Int k, const T* alpha, const void* a, cudaDataType a_type, Int lda, const void* b,
                          cudaDataType b_type, Int ldb, const T* beta, void* c, cudaDataType c_type,
                          Int ldc) {
  return product<kSymbol>(handle, {op_a, op_b, m, n, k}, alpha, operand(a, lda, a_type),
                          operand(b, ldb, b_type), beta, operand(c, ldc, c_type), CUBLAS_COMPUTE_32F,
                          kType<T>);
}
// For 8-bit operands GemmEx and its batches have integer scalars: the other form is cublasLt's.
inline std::int32_t scale_of(cublasComputeType_t compute) {
  return blas::plain_form(compute) == CUBLAS_COMPUTE_32I ? CUDA_R_32I : -1;
}
template <Name kSymbol, class Int>
cublasStatus_t gemm_ex(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m, Int n,
                       Int k, const void* alpha, const void* a, cudaDataType a_type, Int lda, const void* b,
                       cudaDataType b_type, Int ldb, const void* beta, void* c, cudaDataType c_type, Int ldc,
                       cublasComputeType_t compute, cublasGemmAlgo_t) {
  return product<kSymbol>(handle, {op_a, op_b, m, n, k}, alpha, operand(a, lda, a_type),
                          operand(b, ldb, b_type), beta, operand(c, ldc, c_type), compute, scale_of(compute));
}
template <Name kSymbol, class Int>
cublasStatus_t gemm_batched_ex(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m,
                               Int n, Int k, const void* alpha, const void* const a[], cudaDataType a_type,
                               Int lda, const void* const b[], cudaDataType b_type, Int ldb, const void* beta,
                               void* const c[], cudaDataType c_type, Int ldc, Int batch,
                               cublasComputeType_t compute, cublasGemmAlgo_t) {
  return product<kSymbol>(handle, {op_a, op_b, m, n, k, batch}, alpha, operands(a, lda, a_type),
                          operands(b, ldb, b_type), beta, operands(c, ldc, c_type), compute,
                          scale_of(compute));
}
template <Name kSymbol, class Int>
cublasStatus_t gemm_strided_ex(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m,
                               Int n, Int k, const void* alpha, const void* a, cudaDataType a_type, Int lda,
                               long long stride_a, const void* b, cudaDataType b_type, Int ldb,
                               long long stride_b, const void* beta, void* c, cudaDataType c_type, Int ldc,
                               long long stride_c, Int batch, cublasComputeType_t compute, cublasGemmAlgo_t) {
  return product<kSymbol>(handle, {op_a, op_b, m, n, k, batch}, alpha, operand(a, lda, a_type, stride_a),
                          operand(b, ldb, b_type, stride_b), beta, operand(c, ldc, c_type, stride_c), compute,
                          scale_of(compute));
}

}  // namespace refrain::simgpu::cublas
