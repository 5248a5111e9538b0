// Kernels whose accesses numbers in memory decide, for contents_test.cpp.
#define KERNEL extern "C" __global__ void

// One row of `pitch` for each block; of the row, the element that `target` says.
KERNEL chosen(float* losses, const float* logits, const int* target, int pitch) {
  if (threadIdx.x == 0) losses[blockIdx.x] = logits[blockIdx.x * pitch + target[blockIdx.x]];
}

// The table's rows, of 16 elements.
KERNEL embed(float* out, const float* table, const int* token) {
  out[blockIdx.x * 16 + threadIdx.x] = table[token[blockIdx.x] * 16 + threadIdx.x];
}

KERNEL add_rows(float* table, const float* in, const int* token) {
  table[token[blockIdx.x] * 16 + threadIdx.x] += in[blockIdx.x * 16 + threadIdx.x];
}

template <class Index>
__device__ void take(float* out, const float* in, const Index* index, long long factor, long long more) {
  out[threadIdx.x] = in[(long long)index[threadIdx.x] * factor + more];
}
KERNEL take_s8(float* out, const float* in, const signed char* index, int f, int m) {
  take(out, in, index, f, m);
}
KERNEL take_u8(float* out, const float* in, const unsigned char* index, int f, int m) {
  take(out, in, index, f, m);
}
KERNEL take_s16(float* out, const float* in, const short* index, int f, int m) {
  take(out, in, index, f, m);
}
KERNEL take_u16(float* out, const float* in, const unsigned short* index, int f, int m) {
  take(out, in, index, f, m);
}
KERNEL take_u32(float* out, const float* in, const unsigned* index, int f, int m) {
  take(out, in, index, f, m);
}
KERNEL take_s64(float* out, const float* in, const long long* index, int f, int m) {
  take(out, in, index, f, m);
}

// In 32 bits, where sums wrap.
KERNEL wraps(float* out, const float* in, const int* index, int more) {
  out[threadIdx.x] = in[index[threadIdx.x] + more];
}

KERNEL mixed(float* out, const float* in, const int* index, int how) {
  const int i = index[threadIdx.x];
  int at = 0;
  switch (how) {
    case 0: at = 100 - i; break;
    case 1: at = min(max(i, 3), 6); break;
    case 2: at = i / 4; break;
    case 3: at = i % int(4 * blockDim.x); break;  // by 8
    case 4: at = i >> 2; break;
    case 5: at = i & 12; break;
    case 6: at = i << 3; break;
    case 7: at = i < 1000 ? i : 5000; break;  // known
    case 8: at = i < 5 ? 20 : 30; break;      // not known
    case 9: at = i * i; break;                // no rule
    default: at = i ^ 1;                      // no rule
  }
  out[threadIdx.x] = in[at];
}

// Through another index: the inner one must be known to stay inside of the outer's table.
KERNEL twice(float* out, const float* in, const int* outer, const int* inner) {
  out[threadIdx.x] = in[outer[inner[threadIdx.x]]];
}

KERNEL quad(float* out, const float* in, const int4* index) {
  const int4 i = index[threadIdx.x];
  out[threadIdx.x] = in[i.x] + in[i.y] + in[i.z] + in[i.w];
}

KERNEL count_of(float* out, const int* count) {
  for (int i = 0; i < *count; ++i) out[i] = 1;
}

KERNEL if_set(float* out, const int* flag) {
  if (*flag != 0) out[threadIdx.x] = 1;
}

KERNEL moved_first(float* out, const float* in, int* index) {
  index[threadIdx.x] += 500;
  __syncthreads();
  out[threadIdx.x] = in[index[threadIdx.x ^ 1]];
}

KERNEL two_names(float* out, const float* in, const int* index, int* other) {
  other[threadIdx.x] = 500;
  __syncthreads();
  out[threadIdx.x] = in[index[threadIdx.x]];
}

KERNEL waits(float* out, const float* in, const volatile int* index) {
  out[threadIdx.x] = in[index[threadIdx.x]];
}
