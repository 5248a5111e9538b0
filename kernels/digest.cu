// A 128-bit digest of a range of bytes: two sums of well mixed words, so that it is the same whatever the
// grid and the order of threads. It guards against faults, not against an adversary.
//
// bytes: any alignment; the digest is comparable only between ranges with the same address modulo 16.
// partials: one pair of sums a block; the host adds them. It must not write anything else.

namespace {

constexpr unsigned long long kByPosition =
    0x9e3779b97f4a7c15ull;                                   // odd, no short pattern: 2^64 / golden ratio
constexpr unsigned long long kMix1 = 0xbf58476d1ce4e5b9ull;  // multipliers of splitmix64's finaliser
constexpr unsigned long long kMix2 = 0x94d049bb133111ebull;

struct Sums {
  unsigned long long low = 0;
  unsigned long long high = 0;
};

__device__ unsigned long long mix(unsigned long long x) {
  x = (x ^ (x >> 30)) * kMix1;
  x = (x ^ (x >> 27)) * kMix2;
  return x ^ (x >> 31);
}

__device__ void add(Sums& sums, unsigned long long position, unsigned long long a, unsigned long long b) {
  const unsigned long long x = mix(a + (position + 1) * kByPosition);
  const unsigned long long y = mix(b ^ x);
  sums.low += y;
  sums.high += x ^ (y << 31 | y >> 33);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    refrain_digest(const unsigned char* bytes, unsigned long long count, ulonglong2* partials) {
  const unsigned long long thread = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x;
  const unsigned long long threads = gridDim.x * static_cast<unsigned long long>(blockDim.x);
  unsigned long long head = -reinterpret_cast<unsigned long long>(bytes) & 15;
  if (head > count) head = count;
  const unsigned long long words = (count - head) / 16;
  const unsigned long long tail = head + words * 16;
  Sums sums;
  const ulonglong2* const body = reinterpret_cast<const ulonglong2*>(bytes + head);
  for (unsigned long long i = thread; i < words; i += threads) {
    const ulonglong2 word = body[i];
    add(sums, i, word.x, word.y);
  }
  // The ragged ends, byte by byte, at positions that no word has.
  constexpr unsigned long long kEnds = 1ull << 60;
  if (thread < head) add(sums, kEnds + thread, bytes[thread], 1);
  if (thread < count - tail) add(sums, kEnds + 16 + thread, bytes[tail + thread], 1);

  for (int lanes = 16; lanes > 0; lanes /= 2) {
    sums.low += __shfl_down_sync(0xffffffffu, sums.low, lanes);
    sums.high += __shfl_down_sync(0xffffffffu, sums.high, lanes);
  }
  __shared__ ulonglong2 of_warps[8];
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = make_ulonglong2(sums.low, sums.high);
  __syncthreads();
  if (threadIdx.x != 0) return;
  ulonglong2 total = make_ulonglong2(0, 0);
  for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) {
    total.x += of_warps[warp].x;
    total.y += of_warps[warp].y;
  }
  partials[blockIdx.x] = total;
}
