// Pointers to the end of a buffer, sizes that cannot be had, frees of what is no allocation: each as without
// refrain.
#include <cstdint>
#include <vector>

#include "check.cuh"

__global__ void fill(unsigned* out, int n, unsigned value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = value + i;
}
__global__ void fill_backward(unsigned* end, int n, unsigned value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) end[-1 - i] = value + i;
}

void press() {
  std::vector<unsigned*> buffers(12);
  for (unsigned*& p : buffers) {
    CHECK(cudaMalloc(&p, 10240));
    fill<<<20, 128>>>(p, 2560, 7);
    CHECK(cudaGetLastError());
  }
  for (unsigned* p : buffers) CHECK(cudaFree(p));
}

void end_pointer(int n) {
  unsigned* x;
  CHECK(cudaMalloc(&x, n * sizeof(unsigned)));
  fill<<<(n + 127) / 128, 128>>>(x, n, 1);
  fill_backward<<<(n + 127) / 128, 128>>>(x + n, n, 77);
  CHECK(cudaGetLastError());
  press();
  std::vector<unsigned> host(n);
  CHECK(cudaMemcpy(host.data(), x, n * sizeof(unsigned), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) EXPECT(host[n - 1 - i] == 77u + i);
  CHECK(cudaFree(x));
}

void impossible_sizes() {
  void* p = nullptr;
  size_t pitch = 0;
  EXPECT(cudaMalloc(&p, SIZE_MAX) == cudaErrorMemoryAllocation);
  EXPECT(cudaMalloc(&p, SIZE_MAX / 2) == cudaErrorMemoryAllocation);
  EXPECT(cudaMallocPitch(&p, &pitch, SIZE_MAX / 2, 1000) != cudaSuccess);
  CHECK(cudaMalloc(&p, 0));
  CHECK(cudaFree(p));
  CHECK(cudaFree(nullptr));
  cudaGetLastError();
  CHECK(cudaMalloc(&p, 10000));
  EXPECT(cudaFree(static_cast<char*>(p) + 16) == cudaErrorInvalidValue);
  CHECK(cudaFree(p));
  EXPECT(cudaFree(p) == cudaErrorInvalidValue);
  cudaGetLastError();
}

int main() {
  end_pointer(2500);  // ends in the middle of a page
  end_pointer(2048);  // ends with a page
  end_pointer(100);   // shares a page with others
  impossible_sizes();
  std::puts("ok");
}
