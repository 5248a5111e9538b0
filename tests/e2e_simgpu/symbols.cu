// Device and constant variables, rows, stream-ordered memory, driver entry points, shared memory, kernels as
// templates.
#include <cuda.h>

#include <vector>

#include "expect.cuh"

__device__ int counter = 40;
__constant__ float factors[4] = {1, 2, 3, 4};

template <class T>
__global__ void reverse(T* x, int n) {
  extern __shared__ char memory[];
  T* shared = reinterpret_cast<T*>(memory);
  const int i = threadIdx.x;
  shared[i] = x[i] * T(factors[i % 4]);
  __syncthreads();
  x[i] = shared[n - 1 - i];
  if (i == 0) counter += 2;
}

int main() {
  float replaced[2] = {20, 30};
  RUN(cudaMemcpyToSymbol(factors, replaced, sizeof replaced, 2 * sizeof(float)));
  EXPECT(cudaMemcpyToSymbol(factors, replaced, sizeof replaced, 3 * sizeof(float)) == cudaErrorInvalidValue);
  EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
  size_t bytes = 0;
  RUN(cudaGetSymbolSize(&bytes, factors));
  EXPECT(bytes == 16);
  std::vector<float> host(64, 1.0f);
  float* device;
  RUN(cudaMallocAsync(&device, 64 * sizeof(float), nullptr));
  RUN(cudaMemcpy(device, host.data(), 64 * sizeof(float), cudaMemcpyHostToDevice));
  reverse<<<1, 64, 64 * sizeof(float)>>>(device, 64);
  RUN(cudaGetLastError());
  RUN(cudaMemcpy(host.data(), device, 64 * sizeof(float), cudaMemcpyDeviceToHost));
  EXPECT(host[0] == 30 && host[1] == 20 && host[2] == 2 && host[3] == 1);
  RUN(cudaFreeAsync(device, nullptr));
  int seen = 0;
  RUN(cudaMemcpyFromSymbol(&seen, counter, sizeof seen));
  EXPECT(seen == 42);
  int local = 0;
  EXPECT(cudaMemcpyToSymbol(local, &seen, sizeof seen) == cudaErrorInvalidSymbol);
  cudaGetLastError();

  void* rows;
  size_t pitch = 0;
  RUN(cudaMallocPitch(&rows, &pitch, 20, 4));
  RUN(cudaMemset2D(rows, pitch, 7, 20, 4));
  std::vector<unsigned char> flat(80);
  RUN(cudaMemcpy2D(flat.data(), 20, rows, pitch, 20, 4, cudaMemcpyDeviceToHost));
  for (unsigned char value : flat) EXPECT(value == 7);

  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  RUN(cudaGetDriverEntryPointByVersion("cuCtxGetDevice", &function, 12000, cudaEnableDefault, &found));
  EXPECT(found == cudaDriverEntryPointSuccess);
  CUdevice current = 5;
  EXPECT(reinterpret_cast<CUresult (*)(CUdevice*)>(function)(&current) == CUDA_SUCCESS && current == 0);
  RUN(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &function, 12000, cudaEnableDefault, &found));
  EXPECT(found == cudaDriverEntryPointSymbolNotFound && function == nullptr);

  RUN(cudaDeviceReset());  // and everything comes up again
  RUN(cudaMemcpyFromSymbol(&seen, counter, sizeof seen));
  EXPECT(seen == 40);
  std::printf("symbols right\n");
  return 0;
}
