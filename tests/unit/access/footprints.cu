// Kernels whose exact accesses a reader can see, for footprint_test.cpp.
#define KERNEL extern "C" __global__ void

KERNEL elementwise(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 2;
}

KERNEL grid_stride(float* out, const float* in, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i] + 1;
}

// A tile of a matrix: rows of `columns` floats, `pitch` apart.
KERNEL tile(float* out, int rows, int columns, int pitch) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && column < columns) out[row * pitch + column] = 1;
}

// out[b][h][t][d] = in[b][t][h][d]
KERNEL permute(float* out, const float* in, int B, int H, int T, int D) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= B * H * T * D) return;
  const int b = i / (H * T * D), h = i / (T * D) % H, t = i / D % T, d = i % D;
  out[i] = in[((b * T + t) * H + h) * D + d];
}

// Row sums, unrolled by the compiler: `count` is not a multiple of anything.
KERNEL rows(float* out, const float* in, int count) {
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += in[(blockIdx.x * blockDim.x + threadIdx.x) * count + i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

KERNEL where(float* out, const int* mask, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && mask[i] != 0) out[i] = 1;
}

// Calls keep the compiler from choosing without a branch.
__noinline__ __device__ void put_far(float* to, float what) {
  *to = what;
}
KERNEL either_way(float* out, const int* mask, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (mask[i] > 0) {
    put_far(out + i, 1);
    if (mask[i] > 9) {
      put_far(out + n + i, 2);
    } else {
      out[n + i] = sinf(mask[i]);
      put_far(out + 3 * n + i, 1);
    }
  } else {
    out[i] = cosf(mask[i]);
    put_far(out + n + i, 3);
    put_far(out + 2 * n + i, 3);
  }
}

KERNEL shifted(float* out, const int* mask) {
  const int i = threadIdx.x;
  if (mask[i] > 0) {
    put_far(out + i, 1);
  } else {
    put_far(out + (i ^ 1), 2);
  }
}

KERNEL until(float* out, const int* mask) {
  for (int i = 0; mask[i] != 0; ++i) put_far(out, i);
}

KERNEL gather(float* out, const float* in, const int* index, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[index[i]];
}

KERNEL scatter(float* out, const float* in, const int* index, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[index[i]] = in[i];
}

KERNEL optional(float* out, float* also, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = 1;
  if (also != nullptr) also[i] = 2;
}

KERNEL backwards(float* out, unsigned n) {
  for (unsigned i = n; i-- > 0;) out[i] = 1;
}

// Until a zero: nobody knows where that is.
KERNEL until_zero(int* count, const char* text, int* other) {
  int n = 0;
  while (text[n] != 0) ++n;
  *count = n;
  other[1] = n;
}

KERNEL one_of(float* a, float* b, const int* which) {
  float* to = *which != 0 ? a : b;
  to[3] = 1;
}

struct Pair {
  const float* from;
  int offset;
  int count;
};
KERNEL by_value(float* out, Pair pair) {
  for (int i = threadIdx.x; i < pair.count; i += blockDim.x) out[i] = pair.from[i + pair.offset];
}

__noinline__ __device__ void put(float* to, int at, float what) {
  to[at + 4] = what;
}
KERNEL calls(float* out, int n) {
  if (threadIdx.x < n) put(out, 2 * threadIdx.x, 1);
}

KERNEL in_place(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1;
}

KERNEL adds(float* sum, const float* in) {
  atomicAdd(sum + blockIdx.x, in[threadIdx.x]);
}

KERNEL endless(float* out, long long n) {
  for (long long i = 0; i < n; ++i) out[(i * i) % 1024] = 1;
}
