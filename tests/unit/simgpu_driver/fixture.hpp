// What the driver's tests share: a primary context, hand-written PTX, short calls. It must not choose a
// schedule.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "simgpu/driver/api.hpp"

namespace refrain::simgpu::driver::test {

#define OK(call) ASSERT_EQ(CUDA_SUCCESS, (call))

// fill(p, value, n): p[i] = value + i. add(p, value, n): p[i] += value. copy(to, from, n). poke(p): writes
// p[0]. spin(p, n): fills p[0] slowly. A global variable `counter` and a constant `table`.
inline constexpr char kPtx[] = R"(
.version 7.5
.target sm_75
.address_size 64
.global .align 4 .u32 counter = 5;
.const .align 4 .b32 table[4] = {1, 2, 3, 4};
.visible .entry fill(.param .u64 p, .param .u32 value, .param .u32 n)
{
  .reg .pred %p1; .reg .b32 %r<8>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [value]; ld.param.u32 %r2, [n];
  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;
  mad.lo.s32 %r6, %r3, %r4, %r5;
  setp.ge.u32 %p1, %r6, %r2;
  @%p1 bra done;
  mul.wide.u32 %rd2, %r6, 4; cvta.to.global.u64 %rd3, %rd1; add.s64 %rd4, %rd3, %rd2;
  add.s32 %r7, %r1, %r6;
  st.global.u32 [%rd4], %r7;
done:
  ret;
}
.visible .entry add(.param .u64 p, .param .u32 value, .param .u32 n)
{
  .reg .pred %p1; .reg .b32 %r<9>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [value]; ld.param.u32 %r2, [n];
  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;
  mad.lo.s32 %r6, %r3, %r4, %r5;
  setp.ge.u32 %p1, %r6, %r2;
  @%p1 bra done;
  mul.wide.u32 %rd2, %r6, 4; cvta.to.global.u64 %rd3, %rd1; add.s64 %rd4, %rd3, %rd2;
  ld.global.u32 %r7, [%rd4];
  add.s32 %r8, %r7, %r1;
  st.global.u32 [%rd4], %r8;
done:
  ret;
}
.visible .entry poke(.param .u64 p)
{
  .reg .b64 %rd<3>; .reg .b32 %r1;
  ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, 7;
  st.global.u32 [%rd2], %r1;
  ret;
}
)";

class DriverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context_, 0));
    OK(cuCtxSetCurrent(context_));
    OK(cuModuleLoadData(&module_, kPtx));
    OK(cuModuleGetFunction(&fill_, module_, "fill"));
    OK(cuModuleGetFunction(&add_, module_, "add"));
    OK(cuModuleGetFunction(&poke_, module_, "poke"));
  }
  void TearDown() override { cuDevicePrimaryCtxReset_v2(0); }

  static CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr out = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuMemAlloc(&out, bytes));
    return out;
  }
  static CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
    CUstream out = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuStreamCreate(&out, flags));
    return out;
  }
  static CUevent event() {
    CUevent out = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuEventCreate(&out, 0));
    return out;
  }
  static CUresult launch(CUfunction function, CUdeviceptr p, std::uint32_t value, std::uint32_t n,
                         CUstream on) {
    void* params[] = {&p, &value, &n};
    return cuLaunchKernel(function, (n + 31) / 32, 1, 1, 32, 1, 1, 0, on, params, nullptr);
  }
  CUresult fill(CUdeviceptr p, std::uint32_t value, std::uint32_t n, CUstream on = nullptr) {
    return launch(fill_, p, value, n, on);
  }
  CUresult add(CUdeviceptr p, std::uint32_t value, std::uint32_t n, CUstream on = nullptr) {
    return launch(add_, p, value, n, on);
  }
  CUresult poke(CUdeviceptr p, CUstream on = nullptr) {
    void* params[] = {&p};
    return cuLaunchKernel(poke_, 1, 1, 1, 1, 1, 1, 0, on, params, nullptr);
  }
  // Without waiting for any stream: straight from device memory.
  static std::uint32_t peek(CUdeviceptr p, CUstream on) {
    std::uint32_t value = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuMemcpyDtoHAsync(&value, p, 4, on));
    return value;
  }
  static std::vector<std::uint32_t> read(CUdeviceptr p, std::size_t n) {
    std::vector<std::uint32_t> out(n);
    EXPECT_EQ(CUDA_SUCCESS, cuMemcpyDtoH(out.data(), p, n * 4));
    return out;
  }
  static std::vector<std::uint32_t> from(std::uint32_t first, std::size_t n) {
    std::vector<std::uint32_t> out(n);
    std::iota(out.begin(), out.end(), first);
    return out;
  }

  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction fill_ = nullptr, add_ = nullptr, poke_ = nullptr;
};

}  // namespace refrain::simgpu::driver::test
