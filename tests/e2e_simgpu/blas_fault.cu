// A product whose operand is one column short of memory: the fault names the call and the operand.
#include <cublas_v2.h>

#include "expect.cuh"

int main() {
  cublasHandle_t blas;
  float *a, *b;
  EXPECT(cublasCreate(&blas) == CUBLAS_STATUS_SUCCESS);
  RUN(cudaMalloc(&a, 1 << 20));
  RUN(cudaMalloc(&b, 1 << 20));
  const float one = 1, zero = 0;
  const double two = 2;
  // Larger than everything that is mapped behind b.
  EXPECT(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 1 << 20, &one, a, 8, b, 1 << 20, &zero, a, 8) ==
         CUBLAS_STATUS_SUCCESS);
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorString(error));
  EXPECT(cublasDscal(blas, 8, &two, reinterpret_cast<double*>(a), 1) == CUBLAS_STATUS_EXECUTION_FAILED);
  return 0;
}
