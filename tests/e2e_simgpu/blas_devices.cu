// Handles of the toolkit's libraries on each of two devices: a handle belongs to the device that was current
// when it was made, whichever is current when it is used.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <curand.h>

#include <vector>

#include "expect.cuh"

#define STATUS(call) EXPECT((call) == 0)

constexpr int kSize = 32;
constexpr std::size_t kBytes = kSize * kSize * sizeof(float);

struct Device {
  cublasHandle_t blas;
  curandGenerator_t random;
  float *a, *b, *c;
};

Device make(int device) {
  Device out{};
  RUN(cudaSetDevice(device));
  STATUS(cublasCreate(&out.blas));
  STATUS(curandCreateGenerator(&out.random, CURAND_RNG_PSEUDO_PHILOX4_32_10));
  STATUS(curandSetPseudoRandomGeneratorSeed(out.random, 7));
  for (float** p : {&out.a, &out.b, &out.c}) RUN(cudaMalloc(p, kBytes));
  RUN(cudaMemset(out.c, 0, kBytes));
  return out;
}

// A product by cuBLAS, and once more by cublasLt, which takes cuBLAS' handles.
std::vector<float> use(Device& d) {
  const float one = 1, half = 0.5f;
  STATUS(curandGenerateUniform(d.random, d.a, kSize * kSize));
  STATUS(curandGenerateUniform(d.random, d.b, kSize * kSize));
  STATUS(cublasSgemm(d.blas, CUBLAS_OP_N, CUBLAS_OP_N, kSize, kSize, kSize, &one, d.a, kSize, d.b, kSize,
                     &half, d.c, kSize));
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t layout;
  STATUS(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  STATUS(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, kSize, kSize, kSize));
  STATUS(cublasLtMatmul(reinterpret_cast<cublasLtHandle_t>(d.blas), operation, &one, d.a, layout, d.b, layout,
                        &half, d.c, layout, d.c, layout, nullptr, nullptr, 0, nullptr));
  STATUS(cublasLtMatrixLayoutDestroy(layout));
  STATUS(cublasLtMatmulDescDestroy(operation));
  float sum = 0;
  STATUS(cublasSasum(d.blas, kSize * kSize, d.c, 1, &sum));
  EXPECT(sum > 0);
  std::vector<float> out(kSize * kSize);
  RUN(cudaMemcpy(out.data(), d.c, kBytes, cudaMemcpyDefault));
  out.push_back(sum);
  return out;
}

int main() {
  Device first = make(0), second = make(1);
  const std::vector<float> there = use(second);
  RUN(cudaSetDevice(0));
  const std::vector<float> here = use(first);
  EXPECT(here == there);
  const std::vector<float> again = use(second);  // device 0 is current, and stays so
  int current = -1;
  RUN(cudaGetDevice(&current));
  EXPECT(current == 0 && again != there);
  EXPECT(use(first) == again);
  for (Device* d : {&first, &second}) {
    STATUS(cublasDestroy(d->blas));
    STATUS(curandDestroyGenerator(d->random));
    for (float* p : {d->a, d->b, d->c}) RUN(cudaFree(p));
  }
  std::printf("right\n");
}
