// A bit of everything nvcc writes: structs, calls, recursion, printf, inline assembly, shared and constant
// memory.
#include <cuda_fp16.h>
#include <cstdio>

struct Pair {
  float* a;
  const float* b;
  int n;
};
__device__ int counter;
__constant__ float table[4] = {1, 2, 3, 4};
__device__ __noinline__ float pick(float* p, int i) {
  return p[i] * table[i & 3];
}
__device__ __noinline__ int fib(int n) {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__global__ void __launch_bounds__(256, 2) everything(Pair p, int c) {
  extern __shared__ float s[];
  __shared__ double d[8];
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  float* q = c ? p.a : const_cast<float*>(p.b);
  s[i] = pick(q, i);
  d[i & 7] = i;
  __syncthreads();
  if (i < p.n) p.a[i] = s[i] + __sinf(d[i & 7]) + sinf(p.b[i]) + fib(c);
  atomicAdd(&counter, 1);
  printf("hi %d %f\n", i, static_cast<double>(s[i]));
  __half h = __float2half(s[0]);
  p.a[1] = __half2float(__hmul(h, h)) + __shfl_xor_sync(~0u, s[1], 1);
}
