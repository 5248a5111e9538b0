// A static object that unloads its module, reads what the module's kernel made, and frees it, after main has
// returned; and contexts that are released and retained again. By the driver's exported names.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                       \
  do {                                                                    \
    const CUresult result_ = (call);                                      \
    if (result_ != CUDA_SUCCESS) {                                        \
      std::fprintf(stderr, "%s: %d\n", #call, static_cast<int>(result_)); \
      std::_Exit(1);                                                      \
    }                                                                     \
  } while (0)

static const char kPtx[] = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry fill(.param .u64 out, .param .u32 value)
{
  .reg .b32 %r<6>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [out];
  ld.param.u32 %r0, [value];
  cvta.to.global.u64 %rd0, %rd0;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.s32 %r3, %r1, 128, %r2;
  add.s32 %r4, %r0, %r3;
  mul.wide.s32 %rd1, %r3, 4;
  add.s64 %rd2, %rd0, %rd1;
  st.global.u32 [%rd2], %r4;
  ret;
}
)";
constexpr unsigned kCount = 2048;

struct Tensors {
  CUmodule module = nullptr;
  std::vector<CUdeviceptr> buffers;

  ~Tensors() {
    CHECK(cuModuleUnload(module));
    std::vector<unsigned> host(kCount);
    for (unsigned i = 0; i < buffers.size(); ++i) {
      CHECK(cuMemcpyDtoH(host.data(), buffers[i], kCount * 4));
      for (unsigned k = 0; k < kCount; ++k) {
        if (host[k] != i + k) std::_Exit(3);
      }
      CHECK(cuMemFree(buffers[i]));
    }
    std::puts("ok");
    std::fflush(stdout);
  }
} tensors;

int main() {
  CUdevice device;
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  for (unsigned round = 0; round < 3; ++round) {
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    for (unsigned i = 0; i < 5; ++i) {  // never freed: the context's end frees it
      CUdeviceptr p;
      unsigned value = 0;
      CHECK(cuMemAlloc(&p, kCount * 4));
      CHECK(cuMemsetD32(p, round + i, kCount));
      CHECK(cuMemcpyDtoH(&value, p, 4));
      if (value != round + i) return 4;
    }
    if (round < 2) CHECK(cuDevicePrimaryCtxRelease(device));
  }
  CUfunction fill;
  CHECK(cuModuleLoadData(&tensors.module, kPtx));
  CHECK(cuModuleGetFunction(&fill, tensors.module, "fill"));
  for (unsigned i = 0; i < 20; ++i) {
    CUdeviceptr p;
    CHECK(cuMemAlloc(&p, kCount * 4));
    tensors.buffers.push_back(p);
    void* params[] = {&p, &i};
    CHECK(cuLaunchKernel(fill, kCount / 128, 1, 1, 128, 1, 1, 0, nullptr, params, nullptr));
  }
  CHECK(cuCtxSynchronize());
}
