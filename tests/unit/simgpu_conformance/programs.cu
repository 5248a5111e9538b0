// Kernels as people write them, compiled for several architectures: what they compute is compared with the
// host.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

namespace cg = cooperative_groups;

extern "C" __global__ void math_f32(const float* x, const float* y, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float a = x[i], b = y[i];
  float* o = out + i;
  o[0 * n] = expf(a);
  o[1 * n] = logf(fabsf(a));
  o[2 * n] = powf(fabsf(a), b);
  o[3 * n] = tanhf(a);
  o[4 * n] = erff(a);
  o[5 * n] = sinf(a);
  o[6 * n] = cosf(a);
  o[7 * n] = sinf(a * 1e6f);
  o[8 * n] = cosf(a * 1e30f);
  o[9 * n] = sqrtf(fabsf(a));
  o[10 * n] = rsqrtf(fabsf(a));
  o[11 * n] = cbrtf(a);
  o[12 * n] = atan2f(a, b);
  o[13 * n] = log1pf(fabsf(a));
  o[14 * n] = expm1f(a);
  o[15 * n] = sinhf(a);
  o[16 * n] = acosf(fmodf(a, 1.0f));
  o[17 * n] = erfcf(a);
  o[18 * n] = lgammaf(fabsf(a));
  o[19 * n] = a / b;
  o[20 * n] = fmodf(a * 1000.0f, b);
  o[21 * n] = log2f(fabsf(a));
  o[22 * n] = exp2f(a);
  o[23 * n] = tanf(a);
  o[24 * n] = hypotf(a, b);
  o[25 * n] = remainderf(a, b);
}

extern "C" __global__ void math_f64(const double* x, const double* y, double* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double a = x[i], b = y[i];
  double* o = out + i;
  o[0 * n] = exp(a);
  o[1 * n] = log(fabs(a));
  o[2 * n] = pow(fabs(a), b);
  o[3 * n] = tanh(a);
  o[4 * n] = erf(a);
  o[5 * n] = sin(a * 1e10);
  o[6 * n] = cos(a);
  o[7 * n] = sqrt(fabs(a)) / b;
  o[8 * n] = rsqrt(fabs(a));
  o[9 * n] = cbrt(a);
  o[10 * n] = atan2(a, b);
  o[11 * n] = fmod(a * 1000, b);
  o[12 * n] = lgamma(fabs(a) + 0.5);
}

extern "C" __global__ void halves(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half a = __float2half(x[i]), b = __float2half(x[n - 1 - i]);
  __nv_bfloat16 c = __float2bfloat16(x[i]), d = __float2bfloat16(x[n - 1 - i]);
  float* o = out + i;
  o[0 * n] = __half2float(__hadd(a, b));
  o[1 * n] = __half2float(__hmul(a, b));
  o[2 * n] = __half2float(__hfma(a, b, a));
  o[3 * n] = __half2float(hexp(a));
  o[4 * n] = __half2float(__hdiv(a, b));
  o[5 * n] = __bfloat162float(__hadd(c, d));
  o[6 * n] = __bfloat162float(__hmul(c, d));
#if __CUDA_ARCH__ >= 800
  o[7 * n] = __bfloat162float(__hfma(c, d, c));
#else
  o[7 * n] =
      __bfloat162float(__float2bfloat16(fmaf(__bfloat162float(c), __bfloat162float(d), __bfloat162float(c))));
#endif
  o[8 * n] = __bfloat162float(__hmax(c, d));
  __half2 two = __hfma2(__halves2half2(a, b), __halves2half2(b, a), __halves2half2(a, a));
  o[9 * n] = __low2float(two);
  o[10 * n] = __high2float(two);
  __nv_bfloat162 pair = __floats2bfloat162_rn(x[i], x[n - 1 - i]);
  pair = __hadd2(pair, pair);
  o[11 * n] = __low2float(pair);
  o[12 * n] = __hlt(a, b) ? 1.0f : 0.0f;
  o[13 * n] = static_cast<float>(__half2int_rz(a)) + __half2float(__int2half_rn(i));
}

template <class T>
__device__ void add_all(T* out, T x) {
  atomicAdd(out, x);
}

extern "C" __global__ void atomics(int* ints, unsigned long long* wide, float* f, double* d, __half* h,
                                   __half2* h2, __nv_bfloat16* b) {
  int t = threadIdx.x;
  atomicAdd(ints, t);
  atomicSub(ints + 1, t);
  atomicMin(ints + 2, -t);
  atomicMax(ints + 3, t);
  atomicAnd(ints + 4, ~(1 << (t & 7)));
  atomicOr(ints + 5, 1 << (t & 15));
  atomicXor(ints + 6, t);
  atomicInc(reinterpret_cast<unsigned*>(ints) + 7, 10u);
  atomicDec(reinterpret_cast<unsigned*>(ints) + 8, 7u);
  atomicExch(ints + 9, 5);
  atomicCAS(ints + 10, 0, 42);
  add_all(wide, static_cast<unsigned long long>(t) << 33);
  atomicMax(wide + 1, static_cast<unsigned long long>(t) << 40);
  atomicMin(reinterpret_cast<long long*>(wide) + 2, -static_cast<long long>(t));
  add_all(f, 0.5f);
  add_all(d, 0.25);
  add_all(h, __float2half(1.0f));
  add_all(h2, __floats2half2_rn(1.0f, 2.0f));
  add_all(b, __float2bfloat16(1.0f));
}

extern "C" __global__ void groups(const int* x, int* out) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  cg::thread_block_tile<8> eight = cg::tiled_partition<8>(block);
  int t = block.thread_rank();
  int v = x[t];
  int sum = cg::reduce(warp, v, cg::plus<int>());
  int most = cg::reduce(eight, v, cg::greater<int>());
  int next = eight.shfl_down(v, 1);
  int swapped = warp.shfl_xor(v, 3);
  int odd = 0;
  if (v & 1) {
    cg::coalesced_group active = cg::coalesced_threads();
    odd = active.size() * 100 + active.thread_rank();
    odd += cg::reduce(active, 1, cg::plus<int>());
  }
  unsigned ballot = warp.ballot(v > 10);
  int any = warp.any(v == 7), all = eight.all(v >= 0);
  unsigned same = warp.match_any(v & 3);
  block.sync();
  int* o = out + t * 10;
  o[0] = sum;
  o[1] = most;
  o[2] = next;
  o[3] = swapped;
  o[4] = odd;
  o[5] = static_cast<int>(ballot);
  o[6] = any * 2 + all;
  o[7] = static_cast<int>(same);
  o[8] = static_cast<int>(eight.meta_group_rank());
#if __CUDA_ARCH__ >= 800
  o[9] = __reduce_add_sync(0xffffffff, v);
#else
  o[9] = sum;
#endif
}

extern "C" __global__ void tensor_product(const __half* a, const __half* b, float* c, int lda, int ldb,
                                          int ldc) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 1.0f);
  for (int k = 0; k < 64; k += 16) {
    wmma::load_matrix_sync(fa, a + k, lda);
    wmma::load_matrix_sync(fb, b + k, ldb);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] *= 2.0f;
  wmma::store_matrix_sync(c, fc, ldc, wmma::mem_row_major);
}

extern "C" __global__ void copies(const float4* from, float4* to) {
  __shared__ float4 tile[64];
  __shared__ float4 second[64];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&tile[t], &from[t], sizeof(float4));
  __pipeline_commit();
  cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, second, from + 64, sizeof(second));
  __pipeline_wait_prior(0);
  cg::wait(block);
  __syncthreads();
  float4 a = tile[63 - t], b = second[63 - t];
  to[t] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

extern "C" __global__ void bytes(const int* a, const int* b, int* out) {
  int t = threadIdx.x;
  int c = __dp4a(a[t], b[t], t);
  unsigned u = __dp4a(static_cast<unsigned>(a[t]), static_cast<unsigned>(b[t]), 5u);
  out[t * 8] = c;
  out[t * 8 + 1] = static_cast<int>(u);
  out[t * 8 + 2] = static_cast<int>(__byte_perm(a[t], b[t], 0x5140));
  out[t * 8 + 3] = static_cast<int>(__funnelshift_l(a[t], b[t], t));
  out[t * 8 + 4] = __mulhi(a[t], b[t]);
  out[t * 8 + 5] = static_cast<int>(__vadd2(a[t], b[t]));
  out[t * 8 + 6] = static_cast<int>(__brev(a[t])) ^ __popc(b[t]) ^ __clz(a[t]) ^ __ffs(b[t]);
  long long wide = static_cast<long long>(a[t]) * b[t] / (t + 1) % 1000003;
  out[t * 8 + 7] = static_cast<int>(__mul64hi(wide * 1000000007LL, wide) ^ wide);
}
