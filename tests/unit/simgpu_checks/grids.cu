// Kernels whose blocks and lanes have to do with each other, and some with mistakes. Compiled with -lineinfo.
extern "C" __global__ void saxpy(float* y, const float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// Float sums whose rounding depends on the order of the blocks.
extern "C" __global__ void sum(float* total, const float* x) {
  atomicAdd(total, x[blockIdx.x * blockDim.x + threadIdx.x]);
}

extern "C" __global__ void histogram(unsigned* bins, const unsigned* x) {
  atomicAdd(&bins[x[blockIdx.x * blockDim.x + threadIdx.x] % 16], 1u);
}

// The last block to come adds up what the others left: the result of an atomic decides.
extern "C" __global__ void last_block(float* parts, unsigned* arrived, float* total, const float* x) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    float s = 0;
    for (int i = 0; i < 32; ++i) s += x[blockIdx.x * 32 + i];
    parts[blockIdx.x] = s;
    __threadfence();
    last = atomicAdd(arrived, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float s = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) s += parts[i];
    *total = s;
  }
}

// All blocks meet, round after round, as in a persistent kernel.
extern "C" __global__ void meet(volatile unsigned* arrived, unsigned* x, int rounds) {
  for (int r = 1; r <= rounds; ++r) {
    __syncthreads();
    if (threadIdx.x == 0) {
      atomicAdd((unsigned*)arrived, 1u);
      while (*arrived < r * gridDim.x) {
      }
    }
    __syncthreads();
    unsigned left = x[(blockIdx.x + gridDim.x - 1) % gridDim.x * rounds + r - 1];
    if (threadIdx.x == 0 && r < rounds) x[blockIdx.x * rounds + r] = left + 1;
  }
}

// Lanes of one warp take turns, in an order that no other lane's waiting may hold up.
extern "C" __global__ void turns(volatile int* turn, int* order) {
  while (*turn != 31 - (int)threadIdx.x) {
  }
  order[*turn] = threadIdx.x;
  *turn = *turn + 1;
}

extern "C" __global__ void shared_hole(float* x) {
  __shared__ float s[64];
  if (threadIdx.x != 17) s[threadIdx.x] = 1;
  __syncthreads();
  x[threadIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void bad_block(int* x, int bad) {
  if ((int)blockIdx.x >= bad) x += 1 << 20;
  x[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
