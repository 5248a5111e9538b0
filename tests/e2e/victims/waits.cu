// A blocking copy waits for a host function, which waits for another thread, which makes CUDA calls
// meanwhile.
#include <atomic>
#include <thread>

#include "check.cuh"

constexpr int kCount = 2048;
std::atomic<bool> go{false};
std::atomic<bool> waiting{false};

__global__ void fill(unsigned* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x;
}

void CUDART_CB wait_for_the_other(void*) {
  waiting = true;
  while (!go) std::this_thread::yield();
}

int main() {
  unsigned *x, *y, host[kCount];
  CHECK(cudaMalloc(&x, sizeof host));
  CHECK(cudaMalloc(&y, sizeof host));
  fill<<<kCount / 128, 128>>>(x);
  CHECK(cudaDeviceSynchronize());
  std::thread other([&] {
    while (!waiting) std::this_thread::yield();
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMemsetAsync(y, 1, sizeof host, stream));
    go = true;
  });
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaLaunchHostFunc(stream, wait_for_the_other, nullptr));
  CHECK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));  // after all that the stream has
  other.join();
  EXPECT(host[100] == 100);
  std::puts("ok");
}
