// The device is reset between rounds, with handles and generators of libraries that are sometimes still
// there; each round makes products in a chain and reads them from the last to the first. Prints a sum for
// each.
#include <cublas_v2.h>
#include <curand.h>

#include <vector>

#include "check.cuh"

#define BLAS(call) EXPECT((call) == CUBLAS_STATUS_SUCCESS)
#define RANDOM(call) EXPECT((call) == CURAND_STATUS_SUCCESS)

int main() {
  constexpr int kSide = 64, kProducts = 12;
  constexpr size_t kBytes = kSide * kSide * sizeof(float);
  const float one = 1, zero = 0;
  for (int round = 0; round < 3; ++round) {
    cublasHandle_t handle;
    curandGenerator_t random;
    cudaStream_t stream;
    BLAS(cublasCreate(&handle));
    RANDOM(curandCreateGenerator(&random, CURAND_RNG_PSEUDO_PHILOX4_32_10));
    std::vector<float*> chain(kProducts + 1);
    for (float*& p : chain) CHECK(cudaMalloc(&p, kBytes));
    CHECK(cudaStreamCreate(&stream));
    RANDOM(curandSetStream(random, stream));
    BLAS(cublasSetStream(handle, stream));
    RANDOM(curandGenerateUniform(random, chain[0], kSide * kSide));
    for (int i = 0; i < kProducts; ++i) {
      BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, kSide, kSide, kSide, &one, chain[0], kSide, chain[i],
                       kSide, &zero, chain[i + 1], kSide));
    }
    CHECK(cudaStreamSynchronize(stream));
    double sum = 0;
    std::vector<float> host(kSide * kSide);
    for (int i = kProducts; i >= 0; --i) {
      CHECK(cudaMemcpy(host.data(), chain[i], kBytes, cudaMemcpyDeviceToHost));
      for (const float value : host) sum += value;
    }
    std::printf("digest %.17g\n", sum);
    if (round == 1) BLAS(cublasDestroy(handle));
    CHECK(cudaDeviceReset());
  }
}
