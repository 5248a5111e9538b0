// Host memory that kernels use directly, and variables that host and device share.
#include <cstring>

#include "expect.cuh"

__managed__ int total;
__device__ __managed__ int steps[4] = {1, 2, 3, 4};

__global__ void scale(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}

__global__ void count(int* done) {
  for (int step : steps) total += step;
  atomicAdd(done, 1);
}

int main() {
  const int n = 1000;
  size_t before = 0, after = 0;
  RUN(cudaMemGetInfo(&before, nullptr));
  float *x, *y, *seen;
  RUN(cudaHostAlloc(&x, n * sizeof(float), cudaHostAllocMapped));
  RUN(cudaMallocHost(&y, n * sizeof(float)));
  RUN(cudaMemGetInfo(&after, nullptr));
  EXPECT(before == after);
  RUN(cudaHostGetDevicePointer(&seen, x, 0));
  EXPECT(seen == x);
  for (int i = 0; i < n; ++i) x[i] = float(i);
  scale<<<8, 128>>>(seen, y, n);
  RUN(cudaDeviceSynchronize());
  for (int i = 0; i < n; ++i) EXPECT(y[i] == 2.0f * float(i));
  RUN(cudaMemset(y, 0, n * sizeof(float)));
  for (int i = 0; i < n; ++i) EXPECT(y[i] == 0);
  cudaPointerAttributes known;
  RUN(cudaPointerGetAttributes(&known, x + 7));
  EXPECT(known.type == cudaMemoryTypeHost && known.hostPointer == x + 7 && known.devicePointer == x + 7);

  int* done;
  RUN(cudaHostAlloc(&done, sizeof(int), cudaHostAllocMapped));
  *done = 0;
  total = 100;
  count<<<1, 1>>>(done);
  RUN(cudaDeviceSynchronize());
  EXPECT(total == 110 && *done == 1);
  steps[0] = 1001;
  count<<<1, 1>>>(done);
  RUN(cudaDeviceSynchronize());
  EXPECT(total == 1120 && *done == 2);
  void* where;
  RUN(cudaGetSymbolAddress(&where, total));
  EXPECT(where == &total);
  RUN(cudaPointerGetAttributes(&known, &total));
  EXPECT(known.type == cudaMemoryTypeManaged);
  int copied = 0;
  RUN(cudaMemcpyFromSymbol(&copied, steps, sizeof copied, 3 * sizeof copied));
  EXPECT(copied == 4);
  EXPECT(cudaFree(&total) == cudaErrorInvalidValue);
  cudaGetLastError();
  RUN(cudaFreeHost(x));
  RUN(cudaFreeHost(y));

  RUN(cudaDeviceReset());
  EXPECT(total == 0 && steps[0] == 1);
  std::printf("mapped right\n");
  return 0;
}
