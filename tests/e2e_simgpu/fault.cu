// A kernel that writes far outside its buffer: the error comes with the next wait and stays.
#include "expect.cuh"

__global__ void stray(float* x) {
  if (blockIdx.x == 1 && threadIdx.x == 5) x[1 << 28] = 1.0f;
}

int main() {
  float* device;
  RUN(cudaMalloc(&device, 4096));
  stray<<<2, 32>>>(device);
  EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  EXPECT(cudaGetLastError() == cudaErrorIllegalAddress);
  void* more;
  EXPECT(cudaMalloc(&more, 4) == cudaErrorIllegalAddress);
  EXPECT(cudaMemset(device, 0, 4) == cudaErrorIllegalAddress);
  std::printf("the error stayed: %s\n", cudaGetErrorString(cudaPeekAtLastError()));
  return 0;
}
