// A program that is linked with the driver itself and takes its functions by their exported names.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                       \
  do {                                                                    \
    const CUresult result_ = (call);                                      \
    if (result_ != CUDA_SUCCESS) {                                        \
      std::fprintf(stderr, "%s: %d\n", #call, static_cast<int>(result_)); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (0)

static const char kPtx[] = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry next(.param .u64 in, .param .u64 out)
{
  .reg .b32 %r<6>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd0, [in];
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd0, %rd0;
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.s32 %r3, %r0, %r1, %r2;
  mul.wide.s32 %rd2, %r3, 4;
  add.s64 %rd3, %rd0, %rd2;
  add.s64 %rd4, %rd1, %rd2;
  ld.global.u32 %r4, [%rd3];
  add.s32 %r4, %r4, 1;
  st.global.u32 [%rd4], %r4;
  ret;
}
)";

int main() {
  constexpr int kCount = 4096, kBuffers = 12;
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction next;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, kPtx));
  CHECK(cuModuleGetFunction(&next, module, "next"));
  std::vector<CUdeviceptr> chain(kBuffers);
  for (CUdeviceptr& p : chain) CHECK(cuMemAlloc(&p, kCount * 4));
  CHECK(cuMemsetD32(chain[0], 100, kCount));
  for (int i = 1; i < kBuffers; ++i) {
    void* params[] = {&chain[i - 1], &chain[i]};
    CHECK(cuLaunchKernel(next, kCount / 128, 1, 1, 128, 1, 1, 0, nullptr, params, nullptr));
  }
  for (int i = kBuffers; i-- > 0;) {
    std::vector<int> host(kCount);
    CHECK(cuMemcpyDtoH(host.data(), chain[i], kCount * 4));
    for (const int x : host) {
      if (x != 100 + i) return 3;
    }
    CUdeviceptr base = 0;
    size_t bytes = 0;
    CHECK(cuMemGetAddressRange(&base, &bytes, chain[i] + 100));
    if (base != chain[i] || bytes != kCount * 4) return 4;
  }
  CHECK(cuModuleUnload(module));  // what its kernels made must survive
  std::vector<int> host(kCount);
  CHECK(cuMemcpyDtoH(host.data(), chain[3], kCount * 4));
  if (host[5] != 103) return 5;
  for (const CUdeviceptr p : chain) CHECK(cuMemFree(p));
  std::puts("ok");
}
