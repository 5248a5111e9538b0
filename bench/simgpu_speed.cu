// The kernels that simgpu_speed.cpp times. All take (x, rounds) and run on 16 blocks of 256 threads.
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

extern "C" __global__ void memory_heavy(float* x, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int n = gridDim.x * blockDim.x;
  for (int r = 0; r < rounds; ++r) {
    x[i + 3 * n] = x[i] + x[i + n] * x[i + 2 * n];
    x[i + 2 * n] = x[i + 3 * n];
  }
}

extern "C" __global__ void divergent(float* x, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = x[i];
  for (int r = 0; r < rounds; ++r) {
    if ((i ^ r) & 1) {
      a = a * 0.5f + 1.0f;
      if ((i ^ r) & 2) a = sqrtf(a);
    } else {
      a = a - 0.25f;
      for (int k = 0; k < (i & 3); ++k) a = fmaf(a, a, 0.125f);
    }
  }
  x[i] = a;
}

extern "C" __global__ void shared_memory(float* x, int rounds) {
  __shared__ float s[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = x[i];
  __syncthreads();
  float a = 0;
  for (int r = 0; r < rounds; ++r) {
    a += s[(threadIdx.x + r) & 255] * s[(threadIdx.x ^ r) & 255];
    __syncthreads();
    s[threadIdx.x] = a * 0.001f;
    __syncthreads();
  }
  x[i] = a;
}
