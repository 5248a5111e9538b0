// A chain of buffers, each made from the one before, read again from the last to the first, as backward does.
// chain BUFFERS KIB [exit|abort|wait]: what happens after the chain is built. With INDIRECT the kernel's code
// does not show which memory it reads.
#include <unistd.h>

#include <cstring>
#include <vector>

#include "check.cuh"

__global__ void next(const unsigned* in, unsigned* out, int n, unsigned salt) {
#ifdef INDIRECT
  __shared__ const unsigned* from;
  if (threadIdx.x == 0) from = in;
  __syncthreads();
  in = from;
#endif
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 1664525u + 1013904223u + salt;
}

int main(int argc, char** argv) {
  const int buffers = argc > 1 ? std::atoi(argv[1]) : 16;
  const int n = (argc > 2 ? std::atoi(argv[2]) : 16) * 256;
  const char* end = argc > 3 ? argv[3] : "exit";
  std::vector<unsigned> expected(n);
  for (int i = 0; i < n; ++i) expected[i] = i;
  std::vector<std::vector<unsigned>> all{expected};
  std::vector<unsigned*> device(buffers + 1);
  for (unsigned*& p : device) CHECK(cudaMalloc(&p, n * sizeof(unsigned)));
  CHECK(cudaMemcpy(device[0], expected.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice));
  for (int b = 0; b < buffers; ++b) {
    next<<<(n + 127) / 128, 128>>>(device[b], device[b + 1], n, b);
    CHECK(cudaGetLastError());
    for (unsigned& x : expected) x = x * 1664525u + 1013904223u + b;
    all.push_back(expected);
  }
  CHECK(cudaDeviceSynchronize());
  if (std::strcmp(end, "abort") == 0) std::abort();
  if (std::strcmp(end, "wait") == 0) {
    std::puts("ready");
    std::fflush(stdout);
    for (;;) pause();
  }
  std::vector<unsigned> got(n);
  for (int b = buffers; b >= 0; --b) {
    CHECK(cudaMemcpy(got.data(), device[b], n * sizeof(unsigned), cudaMemcpyDeviceToHost));
    EXPECT(got == all[b]);
  }
  for (unsigned* p : device) CHECK(cudaFree(p));
  std::puts("ok");
}
