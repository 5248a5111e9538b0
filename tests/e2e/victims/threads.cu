// Several host threads that allocate, launch and read at once, each on its own stream, one with the
// per-thread default.
#include <pthread.h>

#include <thread>
#include <vector>

#include "check.cuh"

constexpr int kCount = 2048;

// All threads allocate, and all build their chains, before any of them goes on: the cap is felt by all at
// once.
pthread_barrier_t together;

__global__ void next(const int* in, int* out, int add) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] + add;
}

void work(int seed, cudaStream_t stream, bool own) {
  if (own) CHECK(cudaStreamCreate(&stream));
  std::vector<int> host(kCount, seed);
  for (int round = 0; round < 4; ++round) {
    std::vector<int*> chain(10);
    for (int*& p : chain) CHECK(cudaMalloc(&p, kCount * sizeof(int)));
    pthread_barrier_wait(&together);
    CHECK(cudaMemcpyAsync(chain[0], host.data(), kCount * sizeof(int), cudaMemcpyHostToDevice, stream));
    for (size_t i = 1; i < chain.size(); ++i) {
      next<<<kCount / 128, 128, 0, stream>>>(chain[i - 1], chain[i], seed);
      CHECK(cudaGetLastError());
    }
    pthread_barrier_wait(&together);
    for (size_t i = chain.size(); i-- > 0;) {
      std::vector<int> got(kCount);
      CHECK(cudaMemcpyAsync(got.data(), chain[i], kCount * sizeof(int), cudaMemcpyDeviceToHost, stream));
      CHECK(cudaStreamSynchronize(stream));
      for (const int x : got) EXPECT(x == seed + static_cast<int>(i) * seed);
    }
    for (int* p : chain) CHECK(cudaFree(p));
  }
  if (own) CHECK(cudaStreamDestroy(stream));
}

int main() {
  CHECK(cudaFree(nullptr));
  pthread_barrier_init(&together, nullptr, 4);
  std::vector<std::thread> threads;
  for (int seed = 1; seed <= 3; ++seed) threads.emplace_back(work, seed, cudaStream_t{}, true);
  threads.emplace_back(work, 4, cudaStreamPerThread, false);
  for (std::thread& thread : threads) thread.join();
  std::puts("ok");
}
