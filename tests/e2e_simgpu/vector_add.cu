// c = a + b, with a device's properties, occupancy and attributes asked first. argv[1]: elements.
#include <vector>

#include "expect.cuh"

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main(int count, char** arguments) {
  const int n = count > 1 ? std::atoi(arguments[1]) : 10000;
  cudaDeviceProp properties;
  RUN(cudaGetDeviceProperties(&properties, 0));
  EXPECT(properties.major == 8 && properties.minor == 0 && properties.warpSize == 32);
  EXPECT(properties.maxThreadsDim[2] == 64 && properties.totalGlobalMem > 0);
  int version = 0;
  RUN(cudaRuntimeGetVersion(&version));
  EXPECT(version == CUDART_VERSION);
  int grid = 0, block = 0;
  RUN(cudaOccupancyMaxPotentialBlockSize(&grid, &block, vector_add, 0, 0));
  EXPECT(grid > 0 && block % 32 == 0);
  cudaFuncAttributes attributes;
  RUN(cudaFuncGetAttributes(&attributes, vector_add));
  EXPECT(attributes.maxThreadsPerBlock == 1024);

  std::vector<float> a(n), b(n), c(n);
  for (int i = 0; i < n; ++i) {
    a[i] = float(i);
    b[i] = 0.5f * float(i);
  }
  const size_t bytes = size_t(n) * sizeof(float);
  float *da, *db, *dc;
  RUN(cudaMalloc(&da, bytes));
  RUN(cudaMalloc(&db, bytes));
  RUN(cudaMalloc(&dc, bytes));
  cudaPointerAttributes pointer;
  RUN(cudaPointerGetAttributes(&pointer, da));
  EXPECT(pointer.type == cudaMemoryTypeDevice && pointer.devicePointer == da);
  RUN(cudaPointerGetAttributes(&pointer, a.data()));
  EXPECT(pointer.type == cudaMemoryTypeUnregistered);
  RUN(cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice));
  RUN(cudaMemcpy(db, b.data(), bytes, cudaMemcpyDefault));
  vector_add<<<(n + 127) / 128, 128>>>(da, db, dc, n);
  RUN(cudaGetLastError());
  RUN(cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) EXPECT(c[i] == 1.5f * float(i));
  // A launch that cannot be: the error stays for cudaGetLastError, and is gone after it.
  vector_add<<<1, 2048>>>(da, db, dc, n);
  EXPECT(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
  EXPECT(cudaGetLastError() == cudaSuccess);
  RUN(cudaFree(da));
  RUN(cudaFree(db));
  RUN(cudaFree(dc));
  RUN(cudaFree(nullptr));
  EXPECT(cudaFree(da) == cudaErrorInvalidValue);
  std::printf("sum right\n");
  return 0;
}
