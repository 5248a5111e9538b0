// A bug on purpose: the copy runs on another stream than the kernel, and nothing orders them. Prints what it
// read.
#include "expect.cuh"

__global__ void store(int* x, int value) {
  *x = value;
}

int main() {
  int* device;
  RUN(cudaMalloc(&device, sizeof(int)));
  cudaStream_t a, b;
  RUN(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  RUN(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  store<<<1, 1, 0, a>>>(device, 1);
  RUN(cudaDeviceSynchronize());
  store<<<1, 1, 0, a>>>(device, 2);
  int seen = 0;
  RUN(cudaMemcpyAsync(&seen, device, sizeof seen, cudaMemcpyDeviceToHost, b));
  RUN(cudaStreamSynchronize(b));
  std::printf("read %d\n", seen);
  return 0;
}
