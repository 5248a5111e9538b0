// Attention's products with cuBLAS: batches by strides and by pointers, halves, factors on the device,
// several handles and threads.
#include <cublas_v2.h>
#include <cuda_fp16.h>

#include <cmath>
#include <thread>
#include <vector>

#include "expect.cuh"

#define STATUS(call) EXPECT((call) == CUBLAS_STATUS_SUCCESS)

constexpr int kTokens = 21, kWidth = 16, kHeads = 3;

float value(int i) {
  return float((i * 2654435761u >> 20) % 1000) / 500 - 1;
}

// scores = q^T k / 4 for each head, in halves; then out = v scores^T by pointers
void attention(cudaStream_t stream) {
  cublasHandle_t blas;
  STATUS(cublasCreate(&blas));
  STATUS(cublasSetStream(blas, stream));
  const int inputs = kWidth * kTokens, square = kTokens * kTokens;
  std::vector<__half> host(3 * inputs * kHeads);
  for (size_t i = 0; i < host.size(); ++i) host[i] = __float2half(value(int(i)));
  __half *q, *scores, *out, **pointers;
  float* factors;
  RUN(cudaMalloc(&q, host.size() * sizeof(__half)));
  RUN(cudaMalloc(&scores, square * kHeads * sizeof(__half)));
  RUN(cudaMalloc(&out, inputs * kHeads * sizeof(__half)));
  RUN(cudaMalloc(&pointers, 3 * kHeads * sizeof(__half*)));
  RUN(cudaMalloc(&factors, 2 * sizeof(float)));
  const __half *k = q + inputs * kHeads, *v = k + inputs * kHeads;
  RUN(cudaMemcpyAsync(q, host.data(), host.size() * sizeof(__half), cudaMemcpyHostToDevice, stream));
  const float on_host[] = {0.25f, 0};
  RUN(cudaMemcpyAsync(factors, on_host, sizeof on_host, cudaMemcpyHostToDevice, stream));
  STATUS(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE));
  STATUS(cublasGemmStridedBatchedEx(blas, CUBLAS_OP_T, CUBLAS_OP_N, kTokens, kTokens, kWidth, factors, q,
                                    CUDA_R_16F, kWidth, inputs, k, CUDA_R_16F, kWidth, inputs, factors + 1,
                                    scores, CUDA_R_16F, kTokens, square, kHeads, CUBLAS_COMPUTE_32F,
                                    CUBLAS_GEMM_DEFAULT_TENSOR_OP));
  std::vector<const __half*> batch;
  for (int h = 0; h < kHeads; ++h) batch.push_back(v + h * inputs);
  for (int h = 0; h < kHeads; ++h) batch.push_back(scores + h * square);
  for (int h = 0; h < kHeads; ++h) batch.push_back(out + h * inputs);
  RUN(cudaMemcpyAsync(pointers, batch.data(), batch.size() * sizeof(__half*), cudaMemcpyHostToDevice,
                      stream));
  STATUS(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_HOST));
  const __half one = __float2half(1), zero = __float2half(0);
  STATUS(cublasHgemmBatched(blas, CUBLAS_OP_N, CUBLAS_OP_T, kWidth, kTokens, kTokens, &one, pointers, kWidth,
                            pointers + kHeads, kTokens, &zero, pointers + 2 * kHeads, kWidth, kHeads));
  std::vector<__half> got(inputs * kHeads), got_scores(square * kHeads);
  RUN(cudaMemcpyAsync(got_scores.data(), scores, got_scores.size() * 2, cudaMemcpyDeviceToHost, stream));
  RUN(cudaMemcpyAsync(got.data(), out, got.size() * 2, cudaMemcpyDeviceToHost, stream));
  RUN(cudaStreamSynchronize(stream));
  for (int h = 0; h < kHeads; ++h) {
    std::vector<double> wanted(square);
    for (int j = 0; j < kTokens; ++j) {
      for (int i = 0; i < kTokens; ++i) {
        double sum = 0;
        for (int l = 0; l < kWidth; ++l) {
          sum += double(__half2float(host[h * inputs + l + i * kWidth])) *
                 __half2float(host[inputs * kHeads + h * inputs + l + j * kWidth]);
        }
        wanted[i + j * kTokens] = sum / 4;
        EXPECT(std::fabs(__half2float(got_scores[h * square + i + j * kTokens]) - sum / 4) < 2e-3);
      }
    }
    for (int j = 0; j < kTokens; ++j) {
      for (int i = 0; i < kWidth; ++i) {
        double sum = 0;
        for (int l = 0; l < kTokens; ++l) {
          sum += double(__half2float(host[2 * inputs * kHeads + h * inputs + i + l * kWidth])) *
                 wanted[j + l * kTokens];
        }
        EXPECT(std::fabs(__half2float(got[h * inputs + i + j * kWidth]) - sum) < 2e-2);
      }
    }
  }
  RUN(cudaFree(q));
  RUN(cudaFree(scores));
  RUN(cudaFree(out));
  RUN(cudaFree(pointers));
  RUN(cudaFree(factors));
  STATUS(cublasDestroy(blas));
}

int main() {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([] {
      cudaStream_t stream;
      RUN(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      for (int round = 0; round < 3; ++round) attention(stream);
      RUN(cudaStreamDestroy(stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("batches right\n");
  return 0;
}
