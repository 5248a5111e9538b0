// A kernel reads another device's memory, which has not been opened to its device.
#include "expect.cuh"

__global__ void peek(const int* from, int* to) {
  *to = *from;
}

int main() {
  int *there = nullptr, *here = nullptr;
  RUN(cudaSetDevice(1));
  RUN(cudaMalloc(&there, sizeof(int)));
  RUN(cudaMemset(there, 0, sizeof(int)));
  RUN(cudaDeviceSynchronize());
  RUN(cudaSetDevice(0));
  RUN(cudaMalloc(&here, sizeof(int)));
  peek<<<1, 1>>>(there, here);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  RUN(cudaSetDevice(1));
  RUN(cudaDeviceSynchronize());
}
