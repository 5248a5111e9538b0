// One half of a program of two objects that are linked for the device (-rdc=true): kernels that call and read
// what the other half has.
#include "expect.cuh"

extern __device__ int offset;
extern __device__ int shifted(int value);
static __device__ int own = 3;

__global__ void apply(int* x) {
  x[threadIdx.x] = shifted(x[threadIdx.x]) + own;
}
void launch_other(int* x);

int main() {
  int* x = nullptr;
  int host[32];
  for (int i = 0; i < 32; ++i) host[i] = i;
  RUN(cudaMalloc(&x, sizeof host));
  RUN(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
  const int ten = 10;
  RUN(cudaMemcpyToSymbol(offset, &ten, sizeof ten));
  apply<<<1, 32>>>(x);
  launch_other(x);
  RUN(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) EXPECT(host[i] == (i + 10 + 3) * 5);
  RUN(cudaFree(x));
  std::puts("right");
}
