// Kernels as programs have them: reductions, tiles, divergence, atomics, calls, structs, double, half,
// printf.
#include <cuda_fp16.h>
#include <cassert>
#include <cstdio>

extern "C" __global__ void reduce_shuffle(const float* x, float* out, int n) {
  __shared__ float partial[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  for (int o = 16; o > 0; o >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, o);
  if ((threadIdx.x & 31) == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    float v = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.0f;
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
    if (threadIdx.x == 0) out[blockIdx.x] = v;
  }
}

constexpr int kTile = 16;
extern "C" __global__ void matmul_tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float ta[kTile][kTile];
  __shared__ float tb[kTile][kTile];
  int row = blockIdx.y * kTile + threadIdx.y;
  int col = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < (k + kTile - 1) / kTile; ++t) {
    int ka = t * kTile + threadIdx.x;
    int kb = t * kTile + threadIdx.y;
    ta[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0.0f;
    tb[threadIdx.y][threadIdx.x] = col < n && kb < k ? b[kb * n + col] : 0.0f;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

extern "C" __global__ void collatz(const unsigned* x, int* steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned v = x[i];
  int count = 0;
  while (v != 1) {
    if (v & 1) {
      v = 3 * v + 1;
    } else {
      v /= 2;
    }
    ++count;
    if (count > 1000) break;
  }
  steps[i] = count;
}

extern "C" __global__ void histogram(const int* x, unsigned* bins, float* sum, double* dsum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(&bins[x[i] & 15], 1u);
  atomicAdd(sum, 0.5f);
  atomicAdd(dsum, 0.25);
  atomicMax(reinterpret_cast<int*>(bins) + 16, x[i]);
  atomicCAS(bins + 17, 0u, 7u);
}

__device__ __noinline__ float poly(const float* c, int n, float x) {
  float r = 0;
  for (int i = n - 1; i >= 0; --i) r = r * x + c[i];
  return r;
}
__device__ __noinline__ int fib(int n) {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
struct Job {
  const float* in;
  float* out;
  int n;
  float coefficients[4];
};
extern "C" __global__ void with_calls(Job job, int* fibs) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= job.n) return;
  float c[4];
  for (int j = 0; j < 4; ++j) c[j] = job.coefficients[(j + i) & 3];
  job.out[i] = poly(c, 4, job.in[i]);
  fibs[i] = fib(i % 9);
}

extern "C" __global__ void double_math(const double* x, double* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double v = x[i];
  out[4 * i] = exp(v);
  out[4 * i + 1] = log(fabs(v) + 1);
  out[4 * i + 2] = sqrt(fabs(v)) / (v * v + 1);
  out[4 * i + 3] = pow(fabs(v) + 0.5, 1.5) + tanh(v);
}

extern "C" __global__ void float_math(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  out[8 * i] = expf(v);
  out[8 * i + 1] = logf(fabsf(v) + 1);
  out[8 * i + 2] = sinf(v);
  out[8 * i + 3] = cosf(v * 1000.0f);
  out[8 * i + 4] = tanhf(v);
  out[8 * i + 5] = powf(fabsf(v), 1.7f);
  out[8 * i + 6] = rsqrtf(fabsf(v) + 1);
  out[8 * i + 7] = erff(v);
}

extern "C" __global__ void half_math(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half h = __float2half(x[i]);
  __half2 two = __halves2half2(h, __hadd(h, h));
  two = __hfma2(two, two, two);
  out[3 * i] = __half2float(__hmul(h, h));
  out[3 * i + 1] = __low2float(two);
  out[3 * i + 2] = __high2float(two);
}

extern "C" __global__ void votes(const int* x, unsigned* out) {
  int v = x[threadIdx.x];
  unsigned even = __ballot_sync(0xffffffffu, v % 2 == 0);
  unsigned odd_lanes = 0;
  if (threadIdx.x & 1) odd_lanes = __activemask();
  unsigned same = __match_any_sync(0xffffffffu, v & 3);
  int count = __syncthreads_count(v > 5);
  out[4 * threadIdx.x] = even;
  out[4 * threadIdx.x + 1] = odd_lanes;
  out[4 * threadIdx.x + 2] = same;
  out[4 * threadIdx.x + 3] =
      count + (__any_sync(0xffffffffu, v == 7) ? 100 : 0) + (__all_sync(0xffffffffu, v >= 0) ? 1000 : 0);
}

extern "C" __global__ void dynamic_shared(int* x, int n) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[n - 1 - threadIdx.x];
}

__device__ int counter = 5;
__constant__ float table[4] = {1, 2, 4, 8};
extern "C" __global__ void variables(float* out) {
  out[threadIdx.x] = table[threadIdx.x & 3];
  if (threadIdx.x == 0) counter += 2;
}

extern "C" __global__ void print(int n) {
  if (threadIdx.x < 2)
    printf("thread %d of %5.2f %s %llx%%\n", threadIdx.x, n * 0.5, "text", 0x123456789abcull);
}

extern "C" __global__ void checked(const int* x) {
  assert(x[threadIdx.x] < 3);
}

// Lanes of one warp wait for each other in a loop.
extern "C" __global__ void spin_lock(int* lock, int* total) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      *reinterpret_cast<volatile int*>(total) = *reinterpret_cast<volatile int*>(total) + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

// A barrier that different lanes of a warp reach at different places.
extern "C" __global__ void split_barrier(int* x) {
  __shared__ int s[64];
  if (threadIdx.x & 1) {
    s[threadIdx.x] = 1;
    __syncthreads();
    x[threadIdx.x] = s[threadIdx.x ^ 1];
  } else {
    s[threadIdx.x] = 2;
    __syncthreads();
    x[threadIdx.x] = s[threadIdx.x ^ 1] + 10;
  }
}

extern "C" __global__ void fma_heavy(float* x, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = x[i], b = a + 1, c = a + 2, d = a + 3;
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int u = 0; u < 8; ++u) {
      a = fmaf(a, 0.999f, 0.001f);
      b = fmaf(b, 0.998f, 0.002f);
      c = fmaf(c, 0.997f, 0.003f);
      d = fmaf(d, 0.996f, 0.004f);
    }
  }
  x[i] = a + b + c + d;
}
