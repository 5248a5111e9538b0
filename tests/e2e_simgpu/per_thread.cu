// Built with --default-stream per-thread: the default stream of a thread does not wait for another thread's.
#include "expect.cuh"

__global__ void store(int* x, int value) {
  *x = value;
}

int main() {
  int* device;
  RUN(cudaMalloc(&device, sizeof(int)));
  unsigned long long own = 0, named = 0, legacy = 0;
  RUN(cudaStreamGetId(nullptr, &own));
  RUN(cudaStreamGetId(cudaStreamPerThread, &named));
  RUN(cudaStreamGetId(cudaStreamLegacy, &legacy));
  EXPECT(own == named && own != legacy);
  store<<<1, 1>>>(device, 9);
  int seen = 0;
  RUN(cudaMemcpy(&seen, device, sizeof seen, cudaMemcpyDeviceToHost));
  EXPECT(seen == 9);
  std::printf("own stream right\n");
  return 0;
}
