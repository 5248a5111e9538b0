// Kernels whose accesses are plain to a reader: the test states them, parameter by parameter.
#include <cstdio>

#define KERNEL extern "C" __global__ void

KERNEL elementwise(const float* x, const float* y, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] + y[i];
}
KERNEL in_place(float* x, float f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= f;
}
KERNEL restricted(const float* __restrict__ x, float* __restrict__ out, long long n) {
  long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (i < n) out[n - 1 - i] = x[i];
}
struct Two {
  int n;
  const float* from;
  float* to;
};
KERNEL by_struct(Two two, float f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < two.n) two.to[i] = two.from[i] * f;
}
KERNEL either(float* out, const float* a, const float* b, int which) {
  const float* p = which ? a : b;
  out[threadIdx.x] = p[threadIdx.x];
}
KERNEL walking(const float* p, float* out, int n, int stride) {
  float sum = 0;
  const float* end = p + n;
  for (p += threadIdx.x; p < end; p += stride) sum += *p;
  out[threadIdx.x] = sum;
}
__device__ __noinline__ float fetch(const float* p, int i) {
  return p[i] * 2;
}
__device__ __noinline__ void put(float* p, int i, float v) {
  p[i] = v;
}
KERNEL through_functions(const float* in, float* out, int n) {
  if (threadIdx.x < n) put(out, threadIdx.x, fetch(in, threadIdx.x));
}
__device__ __noinline__ const float* choose(const float* a, const float* b, int i) {
  return i % 2 ? a : b;
}
KERNEL returned_pointer(const float* a, const float* b, float* out) {
  out[threadIdx.x] = choose(a, b, threadIdx.x)[threadIdx.x];
}
__device__ __noinline__ float deep(const float* p, int n) {
  return n == 0 ? *p : deep(p + 1, n - 1) + 1;
}
KERNEL recursive(const float* p, float* out, int n) {
  out[0] = deep(p, n);
}
KERNEL table_of_pointers(float* const* table, float* out) {
  out[threadIdx.x] = table[0][threadIdx.x];
}
KERNEL pointer_through_shared(float* const a, float* out) {
  __shared__ float* s[32];
  s[threadIdx.x] = a + threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = *s[threadIdx.x ^ 1];
}
KERNEL values_through_shared(const float* a, float* out) {
  __shared__ float s[32];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x ^ 1];
}
KERNEL pointers_in_local_array(float* a, float* b, float* c, float* out, int k) {
  float* p[3] = {a, b, c};
  for (int i = 0; i < k; ++i) p[i % 3] += i;
  out[0] = *p[k % 3];
}
KERNEL add_float(float* sum, const float* x) {
  atomicAdd(sum, x[threadIdx.x]);
}
KERNEL count(unsigned* bins, const int* x) {
  atomicAdd(&bins[x[threadIdx.x]], 1u);
}
KERNEL ticket(unsigned* next, unsigned* mine) {
  mine[threadIdx.x] = atomicAdd(next, 1u);
}
KERNEL exchange(unsigned* x) {
  atomicExch(x, threadIdx.x);
}
KERNEL timed(long long* out) {
  out[threadIdx.x] = clock64();
}
KERNEL placed(unsigned* out) {
  unsigned sm;
  asm("mov.u32 %0, %%smid;" : "=r"(sm));
  out[threadIdx.x] = sm;
}
KERNEL printing(const int* x) {
  printf("%d\n", x[threadIdx.x]);
}
KERNEL allocating(unsigned* out) {
  void* p = malloc(16);
  out[threadIdx.x] = p != nullptr;
  free(p);
}
__device__ int counter;
__constant__ float table[4];
KERNEL writes_variable(int n) {
  if (threadIdx.x == 0) counter = n;
}
KERNEL reads_variable(float* out) {
  out[threadIdx.x] = table[threadIdx.x & 3];
}
KERNEL waits(volatile int* flag, int* out) {
  while (*flag == 0) {
  }
  out[0] = 1;
}
KERNEL sines(const float* x, float* out) {
  out[threadIdx.x] = sinf(x[threadIdx.x]);
}
KERNEL gather(const float* x, const long long* index, float* out, long long base) {
  out[threadIdx.x] = x[index[threadIdx.x] + base];
}
KERNEL bytes(const char* x, const long long* index, char* out, long long base) {
  out[threadIdx.x + base] = x[index[threadIdx.x]];
}
KERNEL aligned_pointer(float* x, size_t n) {
  float* p = reinterpret_cast<float*>((reinterpret_cast<size_t>(x) + 15) & ~static_cast<size_t>(15));
  p[threadIdx.x + n] = 1;
}
KERNEL copies_vectors(const float4* x, float4* y) {
  y[threadIdx.x] = x[threadIdx.x];
}
KERNEL untouched(float* x, float* y) {
  y[0] = x == nullptr ? 1.0f : 2.0f;
}
