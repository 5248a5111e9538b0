// The matrix products of cuBLAS.
#include "device.hpp"

namespace refrain::simgpu::blas::test {
namespace {

constexpr cublasOperation_t kOps[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};

#define GEMM(letter, T)                                                                                      \
  cublasStatus_t gemm(cublasHandle_t h, cublasOperation_t a, cublasOperation_t b, int m, int n, int k,       \
                      const T* alpha, const T* x, int ldx, const T* y, int ldy, const T* beta, T* c,         \
                      int ldc) {                                                                             \
    return cublas##letter##gemm(h, a, b, m, n, k, alpha, x, ldx, y, ldy, beta, c, ldc);                      \
  }                                                                                                          \
  cublasStatus_t gemm_strided(cublasHandle_t h, int m, int n, int k, const T* alpha, const Matrix<T>& a,     \
                              const Matrix<T>& b, const T* beta, const Matrix<T>& c, int batches) {          \
    return cublas##letter##gemmStridedBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, alpha, a.data(), a.ld(), \
                                              a.stride(), b.data(), b.ld(), b.stride(), beta, c.data(),      \
                                              c.ld(), c.stride(), batches);                                  \
  }                                                                                                          \
  cublasStatus_t gemm_batched(cublasHandle_t h, int m, int n, int k, const T* alpha, CUdeviceptr a, int lda, \
                              CUdeviceptr b, int ldb, const T* beta, CUdeviceptr c, int ldc, int batches) {  \
    return cublas##letter##gemmBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, alpha,                          \
                                       reinterpret_cast<T**>(a), lda, reinterpret_cast<T**>(b), ldb, beta,   \
                                       reinterpret_cast<T**>(c), ldc, batches);                              \
  }
GEMM(S, float)
GEMM(D, double)
GEMM(C, cuComplex)
GEMM(Z, cuDoubleComplex)
GEMM(H, __half)
#undef GEMM

template <class T>
class Gemm : public BlasTest {
 protected:
  // alpha op(A) op(B) + beta C, where a factor of 0 hides what it multiplies.
  static auto expected(cublasOperation_t op_a, cublasOperation_t op_b, std::int64_t k, Complex alpha,
                       Complex beta, const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& c) {
    return [=, &a, &b, &c](std::int64_t i, std::int64_t j, std::int64_t batch) {
      Complex sum = beta == 0.0 ? 0.0 : beta * c.at(i, j, batch);
      if (alpha == 0.0) return sum;
      for (std::int64_t l = 0; l < k; ++l) sum += alpha * a.op(op_a, i, l, batch) * b.op(op_b, l, j, batch);
      return sum;
    };
  }
};
using Types = ::testing::Types<float, double, cuComplex, cuDoubleComplex, __half>;
TYPED_TEST_SUITE(Gemm, Types);

TYPED_TEST(Gemm, EveryTransposeAndOddSizes) {
  const int sizes[][3] = {{1, 1, 1}, {3, 5, 7}, {17, 2, 9}, {8, 33, 19}, {40, 31, 65}};
  for (const auto& [m, n, k] : sizes) {
    for (const auto op_a : kOps) {
      for (const auto op_b : kOps) {
        const Matrix<TypeParam> a(op_a == CUBLAS_OP_N ? m : k, op_a == CUBLAS_OP_N ? k : m,
                                  std::max(m, k) + 3, 1);
        const Matrix<TypeParam> b(op_b == CUBLAS_OP_N ? k : n, op_b == CUBLAS_OP_N ? n : k,
                                  std::max(n, k) + 2, 2);
        Matrix<TypeParam> c(m, n, m + 1, 3);
        const auto alpha = make<TypeParam>({0.75, -0.5}), beta = make<TypeParam>({-1.25, 0.25});
        BLAS(gemm(this->handle_, op_a, op_b, m, n, k, &alpha, a.data(), a.ld(), b.data(), b.ld(), &beta,
                  c.data(), c.ld()));
        c.check(this->expected(op_a, op_b, k, wide(alpha), wide(beta), a, b, c), tolerance<TypeParam>(2 * k));
      }
    }
  }
}

TYPED_TEST(Gemm, AFactorOfZeroHidesNaN) {
  const Matrix<TypeParam> a(5, 4, 5, 1), b(4, 3, 4, 2), nothing(5, 5, 5);
  const auto zero = make<TypeParam>(0.0), one = make<TypeParam>(1.0), two = make<TypeParam>(2.0);
  Matrix<TypeParam> fresh(5, 3, 7);  // NaN
  BLAS(gemm(this->handle_, CUBLAS_OP_N, CUBLAS_OP_N, 5, 3, 4, &one, a.data(), 5, b.data(), 4, &zero,
            fresh.data(), 7));
  fresh.check(this->expected(CUBLAS_OP_N, CUBLAS_OP_N, 4, 1.0, 0.0, a, b, fresh), tolerance<TypeParam>(8));
  Matrix<TypeParam> scaled(5, 3, 6, 3);
  BLAS(gemm(this->handle_, CUBLAS_OP_N, CUBLAS_OP_N, 5, 3, 4, &zero, nothing.data(), 5, nothing.data(), 5,
            &two, scaled.data(), 6));
  scaled.check([&](auto i, auto j, auto) { return 2.0 * scaled.at(i, j); }, tolerance<TypeParam>(0));
  Matrix<TypeParam> cleared(5, 3, 6);
  BLAS(gemm(this->handle_, CUBLAS_OP_N, CUBLAS_OP_N, 5, 3, 0, &one, nothing.data(), 5, nothing.data(), 5,
            &zero, cleared.data(), 6));
  cleared.check([](auto, auto, auto) { return Complex(0); }, 0);
  BLAS(gemm(this->handle_, CUBLAS_OP_N, CUBLAS_OP_N, 0, 3, 4, &one, nullptr, 1, nullptr, 4, &zero, nullptr,
            1));
}

TYPED_TEST(Gemm, Batches) {
  const int m = 6, n = 5, k = 7, batches = 4;
  const Matrix<TypeParam> a(m, k, 8, 1, batches), b(k, n, 9, 2, batches);
  Matrix<TypeParam> c(m, n, 7, 3, batches), d(m, n, 7, 4, batches);
  const auto alpha = make<TypeParam>(0.5), beta = make<TypeParam>(2.0);
  BLAS(gemm_strided(this->handle_, m, n, k, &alpha, a, b, &beta, c, batches));
  c.check(this->expected(CUBLAS_OP_N, CUBLAS_OP_N, k, 0.5, 2.0, a, b, c), tolerance<TypeParam>(2 * k));

  std::vector<CUdeviceptr> pointers;
  for (const auto* matrix : {&a, &b, static_cast<const Matrix<TypeParam>*>(&d)}) {
    for (int batch = 0; batch < batches; ++batch) {
      pointers.push_back(matrix->address() +
                         static_cast<std::uint64_t>(batch * matrix->stride()) * sizeof(TypeParam));
    }
  }
  CUdeviceptr array = 0;
  OK(cuMemAlloc(&array, pointers.size() * 8));
  OK(cuMemcpyHtoD(array, pointers.data(), pointers.size() * 8));
  BLAS(gemm_batched(this->handle_, m, n, k, &alpha, array, a.ld(), array + 8 * batches, b.ld(), &beta,
                    array + 16 * batches, d.ld(), batches));
  d.check(this->expected(CUBLAS_OP_N, CUBLAS_OP_N, k, 0.5, 2.0, a, b, d), tolerance<TypeParam>(2 * k));
}

class GemmCalls : public BlasTest {};

template <class T, class C>
void check_mixed(cublasHandle_t handle, cudaDataType type, cudaDataType c_type, cublasComputeType_t compute) {
  const int m = 9, n = 11, k = 13;
  const Matrix<T> a(m, k, 10, 1), b(n, k, 12, 2);
  Matrix<C> c(m, n, 11, 3);
  using Factor = std::conditional_t<std::is_integral_v<C>, std::int32_t, float>;
  const Factor alpha = 2, beta = -1;
  BLAS(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, &alpha, a.data(), type, a.ld(), b.data(), type,
                    b.ld(), &beta, c.data(), c_type, c.ld(), compute, CUBLAS_GEMM_DEFAULT));
  c.check(
      [&](auto i, auto j, auto) {
        Complex sum = -c.at(i, j);
        for (int l = 0; l < k; ++l) sum += 2.0 * a.at(i, l) * b.at(j, l);
        return sum;
      },
      tolerance<C>(std::is_same_v<C, float> ? 30 : 4));
}

TEST_F(GemmCalls, MixedTypes) {
  check_mixed<__half, __half>(handle_, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F);
  check_mixed<__half, float>(handle_, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F);
  check_mixed<__nv_bfloat16, __nv_bfloat16>(handle_, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F);
  check_mixed<__nv_bfloat16, float>(handle_, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F);
  check_mixed<float, float>(handle_, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32);
  check_mixed<std::int8_t, std::int32_t>(handle_, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I);
}

// One rounding: half results are the correctly rounded ones of exact sums.
TEST_F(GemmCalls, HalfResultsAreRoundedOnce) {
  Matrix<__half> a(1, 2, 1), b(2, 1, 2), c(1, 1, 1);
  a.set(0, 0, __float2half(2048.f));
  a.set(0, 1, __float2half(1.f));
  b.set(0, 0, __float2half(1.f));
  b.set(1, 0, __float2half(1.5f));
  a.upload();
  b.upload();
  const float one = 1, zero = 0;
  BLAS(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 2, &one, a.data(), CUDA_R_16F, 1, b.data(),
                    CUDA_R_16F, 2, &zero, c.data(), CUDA_R_16F, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  c.check([](auto, auto, auto) { return Complex(2050); }, 0);  // 2049.5 lies nearer to 2050 than to 2048
}

TEST_F(GemmCalls, ScalarsOnTheDeviceAreReadWhenTheKernelRuns) {
  const Matrix<float> a(4, 4, 4, 1), b(4, 4, 4, 2);
  Matrix<float> c(4, 4, 4, 3), factors(2, 1, 2, 4);
  BLAS(cublasSetPointerMode(handle_, CUBLAS_POINTER_MODE_DEVICE));
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  BLAS(cublasSetStream(handle_, stream));
  OK(cuMemsetD32Async(factors.address(), 0x40000000, 1, stream));      // 2
  OK(cuMemsetD32Async(factors.address() + 4, 0x3f800000, 1, stream));  // 1
  BLAS(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, factors.data(), a.data(), 4, b.data(), 4,
                   factors.data() + 1, c.data(), 4));
  OK(cuStreamSynchronize(stream));
  c.check(
      [&](auto i, auto j, auto) {
        Complex sum = c.at(i, j);
        for (int l = 0; l < 4; ++l) sum += 2.0 * a.at(i, l) * b.at(l, j);
        return sum;
      },
      1e-5);
}

TEST_F(GemmCalls, InvalidValues) {
  const Matrix<float> a(4, 4, 4, 1);
  const float one = 1;
  const auto gemm = [&](cublasOperation_t op, int m, int k, int lda, int ldc, const float* alpha) {
    return cublasSgemm(handle_, op, CUBLAS_OP_N, m, 4, k, alpha, a.data(), lda, a.data(), 4, &one, a.data(),
                       ldc);
  };
  EXPECT_EQ(CUBLAS_STATUS_INVALID_VALUE, gemm(CUBLAS_OP_N, -1, 4, 4, 4, &one));
  EXPECT_EQ(CUBLAS_STATUS_INVALID_VALUE, gemm(CUBLAS_OP_N, 4, -1, 4, 4, &one));
  EXPECT_EQ(CUBLAS_STATUS_INVALID_VALUE, gemm(CUBLAS_OP_N, 4, 4, 3, 4, &one));
  EXPECT_EQ(CUBLAS_STATUS_INVALID_VALUE, gemm(CUBLAS_OP_N, 4, 4, 4, 3, &one));
  EXPECT_EQ(CUBLAS_STATUS_INVALID_VALUE, gemm(CUBLAS_OP_T, 4, 8, 7, 4, &one));
  EXPECT_EQ(CUBLAS_STATUS_INVALID_VALUE, gemm(static_cast<cublasOperation_t>(9), 4, 4, 4, 4, &one));
  EXPECT_EQ(CUBLAS_STATUS_INVALID_VALUE, gemm(CUBLAS_OP_N, 4, 4, 4, 4, nullptr));
  EXPECT_EQ(CUBLAS_STATUS_NOT_INITIALIZED, cublasSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one,
                                                       a.data(), 1, a.data(), 1, &one, a.data(), 1));
}

TEST_F(GemmCalls, AnOperandOutOfBoundsNamesTheCall) {
  const Matrix<float> a(64, 64, 64, 1);
  CUdeviceptr range = 0;
  OK(cuMemAddressReserve(&range, 1 << 21, 0, 0, 0));
  const float one = 1, zero = 0;
  std::string text;
  const CUresult result = finish(text, [&] {
    cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &one, a.data(), 64,
                reinterpret_cast<const float*>(range), 64, &zero, a.data(), 64);
  });
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, result);
  EXPECT_NE(std::string::npos, text.find("cublasSgemm ")) << text;
  EXPECT_NE(std::string::npos, text.find("read of 16384 bytes of B at 0x")) << text;
}

TEST_F(GemmCalls, AMisalignedOperandFaults) {
  const Matrix<float> a(4, 4, 4, 1);
  const float one = 1, zero = 0;
  std::string text;
  const CUresult result = finish(text, [&] {
    cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one,
                reinterpret_cast<const float*>(a.address() + 2), 2, a.data(), 2, &zero, a.data(), 2);
  });
  EXPECT_EQ(CUDA_ERROR_MISALIGNED_ADDRESS, result) << text;
}

TEST_F(GemmCalls, AGraphReplaysWithWhatLiesThereThen) {
  Matrix<float> a(3, 3, 3, 1), b(3, 3, 3, 2), c(3, 3, 3);
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  BLAS(cublasSetStream(handle_, stream));
  OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  const float one = 1, zero = 0;
  BLAS(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 3, 3, 3, &one, a.data(), 3, b.data(), 3, &zero,
                   c.data(), 3));
  BLAS(cublasSaxpy(handle_, 9, &one, a.data(), 1, c.data(), 1));
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuGraphInstantiate(&exec, graph, 0));
  for (int round = 0; round < 3; ++round) {
    a.set(0, 1, static_cast<float>(round));
    a.upload();
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    c.check(
        [&](auto i, auto j, auto) {
          Complex sum = a.at(i, j);
          for (int l = 0; l < 3; ++l) sum += a.at(i, l) * b.at(l, j);
          return sum;
        },
        1e-5);
  }
}

TEST_F(GemmCalls, EventsOrderTwoStreams) {
  const Matrix<float> a(16, 16, 16, 1), b(16, 16, 16, 2);
  Matrix<float> c(16, 16, 16), d(16, 16, 16);
  CUstream streams[2] = {};
  CUevent ready = nullptr;
  for (CUstream& stream : streams) OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  OK(cuEventCreate(&ready, 0));
  const float one = 1, zero = 0;
  BLAS(cublasSetStream(handle_, streams[0]));
  BLAS(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 16, 16, 16, &one, a.data(), 16, b.data(), 16, &zero,
                   c.data(), 16));
  OK(cuEventRecord(ready, streams[0]));
  OK(cuStreamWaitEvent(streams[1], ready, 0));
  BLAS(cublasSetStream(handle_, streams[1]));
  BLAS(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 16, 16, 16, &one, c.data(), 16, b.data(), 16, &zero,
                   d.data(), 16));
  OK(cuStreamSynchronize(streams[1]));
  const auto product = [&](auto i, auto j) {
    Complex sum = 0;
    for (int l = 0; l < 16; ++l) sum += a.at(i, l) * b.at(l, j);
    return sum;
  };
  d.check(
      [&](auto i, auto j, auto) {
        Complex sum = 0;
        for (int l = 0; l < 16; ++l) sum += product(i, l) * b.at(l, j);
        return sum;
      },
      1e-4);
}

TEST_F(GemmCalls, TheVirtualTimeFollowsTheWork) {
  const Matrix<float> a(256, 256, 256, 1);
  CUevent events[3] = {};
  for (CUevent& event : events) OK(cuEventCreate(&event, 0));
  const float one = 1, zero = 0;
  const auto gemm = [&](int k) {
    return cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 256, 256, k, &one, a.data(), 256, a.data(), 256,
                       &zero, a.data(), 256);
  };
  OK(cuEventRecord(events[0], nullptr));
  BLAS(gemm(256));
  OK(cuEventRecord(events[1], nullptr));
  BLAS(gemm(1));
  OK(cuEventRecord(events[2], nullptr));
  OK(cuCtxSynchronize());
  float longer = 0, shorter = 0;
  OK(cuEventElapsedTime(&longer, events[0], events[1]));
  OK(cuEventElapsedTime(&shorter, events[1], events[2]));
  EXPECT_GT(longer - shorter, 0.0015f);  // 256^3 multiply-adds at 9746 a nanosecond are 1.7 us
  EXPECT_LT(longer - shorter, 0.0018f);
}

TEST_F(GemmCalls, TheSameBytesEachTime) {
  const Matrix<float> a(70, 70, 70, 1), b(70, 70, 70, 2);
  const Matrix<float> first(70, 70, 70), second(70, 70, 70);
  const float one = 1, zero = 0;
  for (const auto* c : {&first, &second}) {
    BLAS(cublasSgemm(handle_, CUBLAS_OP_T, CUBLAS_OP_N, 70, 70, 70, &one, a.data(), 70, b.data(), 70, &zero,
                     c->data(), 70));
  }
  EXPECT_EQ(first.download(), second.download());
}

TEST_F(GemmCalls, WhatIsAbsentSaysSoOnce) {
  std::string text;
  const float one = 1;
  finish(text, [&] {
    for (int round = 0; round < 2; ++round) {
      EXPECT_EQ(CUBLAS_STATUS_NOT_SUPPORTED, cublasSgbmv(handle_, CUBLAS_OP_N, 1, 1, 0, 0, &one, nullptr, 1,
                                                         nullptr, 1, &one, nullptr, 1));
    }
  });
  EXPECT_EQ("simgpu cublas: cublasSgbmv_v2 is not supported\n", text);
}

}  // namespace
}  // namespace refrain::simgpu::blas::test
