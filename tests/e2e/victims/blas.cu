// Activations made by kernels with PTX, read back from the last to the first, and between them products by
// cuBLAS, whose kernels have no PTX. Prints a digest of every byte that it read. blas BUFFERS KIB PRODUCTS:
// how many symmetric products there are while all activations are alive. Those are of a function that refrain
// does not know.
#include <cublas_v2.h>
#include <curand.h>

#include <vector>

#include "check.cuh"

__global__ void next(const float* in, float* out, int n, float salt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 0.75f + salt;
}

#define BLAS(call) EXPECT((call) == CUBLAS_STATUS_SUCCESS)

int main(int argc, char** argv) {
  const int buffers = argc > 1 ? std::atoi(argv[1]) : 16;
  const int n = (argc > 2 ? std::atoi(argv[2]) : 16) * 256;
  const int products = argc > 3 ? std::atoi(argv[3]) : 0;
  const int side = 32;  // of the square matrices: the first elements of a buffer
  unsigned long long digest = 14695981039346656037ull;
  std::vector<float> host(n);
  const auto note = [&](const float* from, int count) {
    CHECK(cudaMemcpy(host.data(), from, count * sizeof(float), cudaMemcpyDeviceToHost));
    const auto* bytes = reinterpret_cast<const unsigned char*>(host.data());
    for (size_t i = 0; i < count * sizeof(float); ++i) digest = (digest ^ bytes[i]) * 1099511628211ull;
  };
  cublasHandle_t blas;
  curandGenerator_t random;
  BLAS(cublasCreate(&blas));
  EXPECT(curandCreateGenerator(&random, CURAND_RNG_PSEUDO_XORWOW) == CURAND_STATUS_SUCCESS);
  float *a, *b, *c;
  CHECK(cudaMalloc(&a, side * side * sizeof(float)));
  CHECK(cudaMalloc(&b, side * side * sizeof(float)));
  CHECK(cudaMalloc(&c, side * side * sizeof(float)));
  EXPECT(curandGenerateNormal(random, a, side * side, 0, 1) == CURAND_STATUS_SUCCESS);
  EXPECT(curandGenerateUniform(random, b, side * side) == CURAND_STATUS_SUCCESS);
  const float one = 1, zero = 0;
  for (int step = 0; step < 3; ++step) {
    BLAS(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, side, side, side, &one, a, side, b, side, &zero, c,
                     side));
    std::vector<float*> chain(buffers + 1);
    for (float*& p : chain) CHECK(cudaMalloc(&p, n * sizeof(float)));
    CHECK(cudaMemset(chain[0], 0, n * sizeof(float)));
    for (int i = 0; i < buffers; ++i) {
      next<<<(n + 127) / 128, 128>>>(chain[i], chain[i + 1], n, 0.5f + i + step);
      CHECK(cudaGetLastError());
    }
    for (int i = 0; i < products; ++i) {
      BLAS(cublasSsymm(blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, side, side, &one, chain[buffers - i],
                       side, c, side, &zero, a, side));
      float norm = 0;
      BLAS(cublasSnrm2(blas, side * side, a, 1, &norm));
      const float inverse = 1 / norm;
      BLAS(cublasSscal(blas, side * side, &inverse, a, 1));
    }
    for (int i = buffers; i >= 0; --i) note(chain[i], n);
    for (float* p : chain) CHECK(cudaFree(p));
    BLAS(cublasSgemm(blas, CUBLAS_OP_T, CUBLAS_OP_N, side, side, side, &one, a, side, c, side, &zero, b,
                     side));
    note(b, side * side);
  }
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  CHECK(cudaFree(c));
  EXPECT(curandDestroyGenerator(random) == CURAND_STATUS_SUCCESS);
  BLAS(cublasDestroy(blas));
  std::printf("digest %016llx\n", digest);
}
