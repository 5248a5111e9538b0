// Making images of several PTX texts, and the logs of loader and linker.
#include <cstring>
#include <string>

#include "fixture.hpp"

namespace refrain::simgpu::driver::test {
namespace {

constexpr char kHead[] = ".version 7.5\n.target sm_75\n.address_size 64\n";
const std::string kHelper =
    std::string(kHead) +
    ".visible .func (.param .b32 out) twice(.param .b32 x)\n{\n.reg .b32 %r<3>;\n"
    "ld.param.u32 %r1, [x];\nadd.s32 %r2, %r1, %r1;\nst.param.b32 [out], %r2;\nret;\n}\n";
const std::string kCaller =
    std::string(kHead) +
    ".extern .func (.param .b32 out) twice(.param .b32 x);\n"
    ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<3>; .reg .b64 %rd<2>;\n"
    "ld.param.u64 %rd1, [p];\nmov.u32 %r1, 21;\n"
    "{ .param .b32 a; .param .b32 b;\nst.param.b32 [a], %r1;\ncall.uni (b), twice, (a);\n"
    "ld.param.b32 %r2, [b]; }\nst.global.u32 [%rd1], %r2;\nret;\n}\n";

class Link : public DriverTest {
 protected:
  static CUresult add(CUlinkState state, const std::string& text) {
    return cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, const_cast<char*>(text.data()), text.size(), "text", 0,
                            nullptr, nullptr);
  }
};

TEST_F(Link, TwoTextsMakeOneModule) {
  CUlinkState state = nullptr;
  OK(cuLinkCreate_v2(0, nullptr, nullptr, &state));
  OK(add(state, kCaller));
  OK(add(state, kHelper));
  void* image = nullptr;
  std::size_t bytes = 0;
  OK(cuLinkComplete(state, &image, &bytes));
  const std::vector<char> copy(static_cast<char*>(image), static_cast<char*>(image) + bytes);
  OK(cuLinkDestroy(state));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuLinkDestroy(state));
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  OK(cuModuleLoadData(&module, copy.data()));
  OK(cuModuleGetFunction(&function, module, "k"));
  CUdeviceptr p = allocate(4);
  void* params[] = {&p};
  OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr));
  EXPECT_EQ(42U, read(p, 1)[0]);
}

TEST_F(Link, WhatIsMissingIsInTheLog) {
  char log[64];
  std::memset(log, 'x', sizeof log);
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUlinkState state = nullptr;
  OK(cuLinkCreate_v2(2, options, values, &state));
  OK(add(state, kCaller));
  void* image = nullptr;
  std::size_t bytes = 0;
  testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA_ERROR_INVALID_PTX, cuLinkComplete(state, &image, &bytes));
  testing::internal::GetCapturedStderr();
  EXPECT_NE(nullptr, std::strstr(log, "twice")) << log;
  testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED,
            cuLinkAddData_v2(state, CU_JIT_INPUT_NVVM, log, 4, "", 0, nullptr, nullptr));
  testing::internal::GetCapturedStderr();
  OK(cuLinkDestroy(state));
}

TEST_F(Link, TheLoaderFillsItsLog) {
  char log[200] = "before", info[8] = "before";
  CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {info, reinterpret_cast<void*>(sizeof info), log, reinterpret_cast<void*>(sizeof log)};
  CUmodule module = nullptr;
  testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA_ERROR_INVALID_PTX,
            cuModuleLoadDataEx(&module, ".version 7.5\n.target sm_75\n.nonsense", 4, options, values));
  testing::internal::GetCapturedStderr();
  EXPECT_STREQ("", info);
  EXPECT_NE(nullptr, std::strstr(log, "line 3")) << log;
  EXPECT_EQ(std::strlen(log), reinterpret_cast<std::size_t>(values[3]));
  values[3] = reinterpret_cast<void*>(sizeof log);
  OK(cuModuleLoadDataEx(&module, kPtx, 4, options, values));
  EXPECT_STREQ("", log);
}

}  // namespace
}  // namespace refrain::simgpu::driver::test
