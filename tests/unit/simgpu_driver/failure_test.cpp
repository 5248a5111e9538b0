// Calls that are made to fail: the use that was named and no other, and nothing else of the call is done.
#include "simgpu/driver/failure.hpp"

#include <cstdlib>

#include "fixture.hpp"

namespace refrain::simgpu::driver {
namespace {

const int kSet = setenv("SIMGPU_FAIL", "cuMemAlloc:2:2,cuMemsetD8:1+:719,cuMemcpyDtoH:1:999", 1);

TEST(Failures, AreOfTheUseThatIsNamed) {
  ASSERT_EQ(0, kSet);
  ASSERT_EQ(CUDA_SUCCESS, cuInit(0));
  CUcontext context = nullptr;
  ASSERT_EQ(CUDA_SUCCESS, cuDevicePrimaryCtxRetain(&context, 0));
  ASSERT_EQ(CUDA_SUCCESS, cuCtxSetCurrent(context));
  CUdeviceptr first = 0;
  CUdeviceptr second = 0;
  EXPECT_EQ(CUDA_SUCCESS, cuMemAlloc(&first, 64));
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&second, 64));
  EXPECT_EQ(0u, second);
  EXPECT_EQ(CUDA_SUCCESS, cuMemAlloc(&second, 64));
  EXPECT_EQ(CUDA_SUCCESS, cuMemsetD32(first, 7, 16)) << "another function";
  for (int use = 0; use < 3; ++use) EXPECT_EQ(CUDA_ERROR_LAUNCH_FAILED, cuMemsetD8(first, 1, 64));
  unsigned words[16] = {};
  EXPECT_EQ(CUDA_ERROR_UNKNOWN, cuMemcpyDtoH(words, first, sizeof words));
  EXPECT_EQ(CUDA_SUCCESS, cuMemcpyDtoH(words, first, sizeof words));
  EXPECT_EQ(7u, words[5]);
}

TEST(Failures, AreReadStrictly) {
  using List = std::vector<Failure>;
  EXPECT_EQ((List{{"cuMemMap", 3, false, CUDA_ERROR_OUT_OF_MEMORY},
                  {"cuLaunchKernel", 1, true, CUDA_ERROR_UNKNOWN}}),
            parse_failures("cuMemMap:3:2,cuLaunchKernel:1+:999"));
  EXPECT_EQ(List{}, parse_failures(""));
  for (const char* text : {"cuMemMap", "cuMemMap:3", "cuMemMap:0:2", "cuMemMap:x:2", "cuMemMap:3:0",
                           "cuMemMap:3:12345", "cuNothing:1:2", "cuMemMap:3:2:1", "cuMemMap:+:2", ":1:2",
                           "cuMemMap:3:2,,", "cuMemMap:-1:2", "cuMemMap:3:2 "}) {
    EXPECT_FALSE(parse_failures(text)) << text;
  }
}

}  // namespace
}  // namespace refrain::simgpu::driver
