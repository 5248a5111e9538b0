// A chain of buffers on device 0, each made from the one before; device 1 reads them from the last to the
// first in every way that there is, writes one that device 0 uses again, and frees what it was given. peers
// BUFFERS KIB
#include <vector>

#include "check.cuh"

__global__ void next(const unsigned* in, unsigned* out, int n, unsigned salt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 1664525u + 1013904223u + salt;
}

int main(int argc, char** argv) {
  const int buffers = argc > 1 ? std::atoi(argv[1]) : 16;
  const int n = (argc > 2 ? std::atoi(argv[2]) : 16) * 256, blocks = (n + 127) / 128;
  const std::size_t bytes = n * sizeof(unsigned);
  std::vector<unsigned> expected(n);
  for (int i = 0; i < n; ++i) expected[i] = i;
  std::vector<std::vector<unsigned>> all{expected};
  std::vector<unsigned*> device(buffers + 1);
  for (unsigned*& p : device) CHECK(cudaMalloc(&p, bytes));
  CHECK(cudaMemcpy(device[0], expected.data(), bytes, cudaMemcpyHostToDevice));
  for (int b = 0; b < buffers; ++b) {
    next<<<blocks, 128>>>(device[b], device[b + 1], n, b);
    CHECK(cudaGetLastError());
    for (unsigned& x : expected) x = x * 1664525u + 1013904223u + b;
    all.push_back(expected);
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaSetDevice(1));
  CHECK(cudaDeviceEnablePeerAccess(0, 0));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  unsigned *copy = nullptr, *result = nullptr;
  CHECK(cudaMalloc(&copy, bytes));
  CHECK(cudaMalloc(&result, bytes));
  std::vector<unsigned> got(n);
  for (int b = buffers; b >= 0; --b) {
    cudaPointerAttributes about{};
    CHECK(cudaPointerGetAttributes(&about, device[b]));
    EXPECT(about.device == 0);
    CHECK(cudaMemsetAsync(copy, 0, bytes, stream));
    switch (b == 3 ? 4 : b % 4) {
      case 0: CHECK(cudaMemcpyPeerAsync(copy, 1, device[b], 0, bytes, stream)); break;
      case 1: CHECK(cudaMemcpyAsync(copy, device[b], bytes, cudaMemcpyDeviceToDevice, stream)); break;
      case 2:
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaMemcpyPeer(copy, 1, device[b], 0, bytes));
        break;
      case 3: CHECK(cudaMemcpyAsync(copy, device[b], bytes, cudaMemcpyDefault, stream)); break;
      default:  // for refrain a barrier, for which all must fit: when little is left
        CHECK(cudaMemcpy2DAsync(copy, bytes, device[b], bytes, bytes, 1, cudaMemcpyDefault, stream));
    }
    next<<<blocks, 128, 0, stream>>>(device[b], result, n, b);  // reads the other device's memory itself
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(got.data(), copy, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(got == all[b]);
    CHECK(cudaMemcpy(got.data(), result, bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) EXPECT(got[i] == all[b][i] * 1664525u + 1013904223u + b);
    if (b == 0) break;
    CHECK(cudaFree(device[b]));
  }
  // Device 1 writes device 0's memory, by a kernel and by a copy; device 0 goes on from there.
  next<<<blocks, 128, 0, stream>>>(result, device[0], n, 7);
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaSetDevice(0));
  unsigned* last = nullptr;
  CHECK(cudaMalloc(&last, bytes));
  next<<<blocks, 128>>>(device[0], last, n, 9);
  CHECK(cudaMemcpyPeer(copy, 1, last, 0, bytes));
  CHECK(cudaMemcpy(got.data(), copy, bytes, cudaMemcpyDefault));
  for (int i = 0; i < n; ++i) {
    unsigned x = all[0][i];
    for (const unsigned salt : {0u, 7u, 9u}) x = x * 1664525u + 1013904223u + salt;
    EXPECT(got[i] == x);
  }
  CHECK(cudaFree(last));
  CHECK(cudaFree(device[0]));
  CHECK(cudaSetDevice(1));
  CHECK(cudaFree(copy));
  CHECK(cudaFree(result));
  std::puts("ok");
}
