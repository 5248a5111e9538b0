// Pinned host memory: the host and kernels use it at one address, and it is none of the device's memory.
#include <cstdlib>
#include <cstring>

#include "fixture.hpp"

namespace refrain::simgpu::driver::test {
namespace {

class HostMemory : public DriverTest {
 protected:
  static std::uint32_t* pinned(std::size_t count, unsigned flags = 0) {
    void* out = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuMemHostAlloc(&out, count * 4, flags));
    return static_cast<std::uint32_t*>(out);
  }
  static CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }
};

TEST_F(HostMemory, KernelsAndTheHostSeeTheSameBytes) {
  std::uint32_t* x = pinned(100, CU_MEMHOSTALLOC_DEVICEMAP);
  CUdeviceptr mapped = 0;
  OK(cuMemHostGetDevicePointer(&mapped, x, 0));
  EXPECT_EQ(address(x), mapped);
  OK(cuMemHostGetDevicePointer(&mapped, x + 5, 0));
  EXPECT_EQ(address(x + 5), mapped);
  std::fill(x, x + 100, 40u);
  OK(add(address(x), 2, 100));
  OK(cuCtxSynchronize());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(42u, x[i]);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemHostGetDevicePointer(&mapped, &mapped, 0));
  OK(cuMemFreeHost(x));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemHostGetDevicePointer(&mapped, x, 0));
}

TEST_F(HostMemory, CopiesAndFillsTakeIt) {
  std::uint32_t* x = pinned(100);
  std::uint32_t* y = pinned(100);
  OK(cuMemsetD32(address(x), 7, 100));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(7u, x[i]);
  const CUdeviceptr d = allocate(400);
  OK(cuMemcpyHtoD(d, x, 400));
  OK(add(d, 1, 100));
  OK(cuMemcpyDtoH(y, d, 400));
  EXPECT_EQ(8u, y[99]);
  OK(cuMemcpy(address(x), address(y), 400));
  EXPECT_EQ(8u, x[99]);
  OK(cuMemcpyDtoD(address(x), d, 400));
  EXPECT_EQ(8u, x[0]);
  OK(cuMemFreeHost(y));
  EXPECT_NE(CUDA_SUCCESS, cuMemcpyDtoH(y, d, 400));  // and nothing is written there
  EXPECT_NE(CUDA_SUCCESS, cuMemcpyHtoD(d, x, 4096 * 64));
}

TEST_F(HostMemory, GoesWithItsContext) {
  CUcontext other = nullptr;
  OK(cuCtxCreate(&other, nullptr, 0, 0));
  std::uint32_t* stays = pinned(100);
  OK(cuCtxSetCurrent(context_));
  std::uint32_t* goes = pinned(100);
  std::uint32_t registered[4] = {};
  OK(cuMemHostRegister(registered, sizeof registered, 0));
  OK(cuDevicePrimaryCtxReset(0));
  OK(cuDevicePrimaryCtxRetain(&context_, 0));
  OK(cuCtxSetCurrent(context_));
  unsigned flags = 0;
  OK(cuMemHostGetFlags(&flags, stays));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemHostGetFlags(&flags, goes));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(goes));
  OK(cuMemHostRegister(registered, sizeof registered, 0));
  OK(cuMemHostUnregister(registered));
  OK(cuCtxDestroy(other));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemHostGetFlags(&flags, stays));
}

TEST_F(HostMemory, PastItsEndIsAFault) {
  std::uint32_t* x = pinned(100);
  OK(fill(address(x), 0, 101));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

TEST_F(HostMemory, IsNotTheDevices) {
  std::size_t before = 0, after = 0, total = 0;
  OK(cuMemGetInfo(&before, &total));
  std::uint32_t* x = pinned(1 << 20);
  OK(cuMemGetInfo(&after, nullptr));
  EXPECT_EQ(before, after);
  unsigned type = 0;
  OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(x)));
  EXPECT_EQ(static_cast<unsigned>(CU_MEMORYTYPE_HOST), type);
  CUdeviceptr pointer = 0;
  OK(cuPointerGetAttribute(&pointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address(x + 3)));
  EXPECT_EQ(address(x + 3), pointer);
  OK(cuPointerGetAttribute(&pointer, CU_POINTER_ATTRIBUTE_HOST_POINTER, address(x + 3)));
  EXPECT_EQ(address(x + 3), pointer);
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&pointer, &before, address(x)));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(address(x)));
}

TEST_F(HostMemory, RegisteredMemoryIsCopiedButHasNoDeviceAddress) {
  std::vector<std::uint32_t> x(100, 5);
  OK(cuMemHostRegister_v2(x.data(), 400, CU_MEMHOSTREGISTER_DEVICEMAP));
  const CUdeviceptr d = allocate(400);
  OK(cuMemcpyHtoDAsync(d, x.data(), 400, nullptr));
  EXPECT_EQ(5u, read(d, 100)[50]);
  CUdeviceptr mapped = 0;
  testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuMemHostGetDevicePointer(&mapped, x.data(), 0));
  EXPECT_NE(std::string::npos, testing::internal::GetCapturedStderr().find("registered host memory"));
  OK(cuMemHostUnregister(x.data()));
}

}  // namespace
}  // namespace refrain::simgpu::driver::test
