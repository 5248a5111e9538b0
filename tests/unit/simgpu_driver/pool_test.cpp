// Memory pools: whose memory counts where, limits, which one is taken, and their end.
#include "fixture.hpp"

namespace refrain::simgpu::driver::test {
namespace {

class Pools : public DriverTest {
 protected:
  static CUmemoryPool pool(std::size_t most = 0) {
    CUmemPoolProps wanted{};
    wanted.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    wanted.maxSize = most;
    CUmemoryPool out = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuMemPoolCreate(&out, &wanted));
    return out;
  }
  static cuuint64_t figure(CUmemoryPool pool, CUmemPool_attribute attribute) {
    cuuint64_t out = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuMemPoolGetAttribute(pool, attribute, &out));
    return out;
  }
  static cuuint64_t used(CUmemoryPool pool) { return figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT); }
};

TEST_F(Pools, CountWhatComesFromThem) {
  const CUmemoryPool own = pool();
  CUmemoryPool standard = nullptr, current = nullptr;
  OK(cuDeviceGetDefaultMemPool(&standard, 0));
  CUdeviceptr a = 0, b = 0;
  OK(cuMemAllocFromPoolAsync(&a, 1000, own, nullptr));
  OK(cuMemAllocAsync(&b, 500, nullptr));
  allocate(4096);  // of no pool
  EXPECT_EQ(1000U, used(own));
  EXPECT_EQ(500U, used(standard));
  CUmemoryPool told = nullptr;
  OK(cuPointerGetAttribute(&told, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a + 8));
  EXPECT_EQ(own, told);
  OK(cuDeviceSetMemPool(0, own));
  OK(cuDeviceGetMemPool(&current, 0));
  EXPECT_EQ(own, current);
  CUdeviceptr c = 0;
  OK(cuMemAllocAsync(&c, 24, nullptr));
  EXPECT_EQ(1024U, used(own));
  OK(cuMemFreeAsync(a, nullptr));
  OK(cuMemFree(c));
  EXPECT_EQ(0U, used(own));
  EXPECT_EQ(1024U, figure(own, CU_MEMPOOL_ATTR_USED_MEM_HIGH));
  cuuint64_t zero = 0;
  OK(cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
  EXPECT_EQ(0U, figure(own, CU_MEMPOOL_ATTR_USED_MEM_HIGH));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &zero));
  OK(cuMemPoolDestroy(own));
  OK(cuDeviceGetMemPool(&current, 0));
  EXPECT_EQ(standard, current);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(standard));
}

TEST_F(Pools, HaveALimit) {
  const CUmemoryPool own = pool(1000);
  CUdeviceptr a = 0, b = 0;
  OK(cuMemAllocFromPoolAsync(&a, 600, own, nullptr));
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&b, 600, own, nullptr));
  OK(cuMemFreeAsync(a, nullptr));
  OK(cuMemAllocFromPoolAsync(&b, 600, own, nullptr));
}

TEST_F(Pools, AllocationsOutliveThem) {
  const CUmemoryPool own = pool();
  CUdeviceptr a = 0;
  OK(cuMemAllocFromPoolAsync(&a, 400, own, nullptr));
  OK(cuMemPoolDestroy(own));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPoolTrimTo(own, 0));
  OK(fill(a, 1, 100));
  EXPECT_EQ(from(1, 100), read(a, 100));
  OK(cuMemFreeAsync(a, nullptr));
}

TEST_F(Pools, AttributesAndAccess) {
  const CUmemoryPool own = pool();
  cuuint64_t keep = 1 << 20;
  OK(cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
  EXPECT_EQ(keep, figure(own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
  int off = 0, told = 7;
  OK(cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &off));
  OK(cuMemPoolGetAttribute(own, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &told));
  EXPECT_EQ(0, told);
  CUmemAccess_flags flags{};
  CUmemLocation here{};
  here.type = CU_MEM_LOCATION_TYPE_DEVICE;
  OK(cuMemPoolGetAccess(&flags, own, &here));
  EXPECT_EQ(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, flags);
  CUmemAccessDesc wanted{here, CU_MEM_ACCESS_FLAGS_PROT_NONE};
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAccess(own, &wanted, 1));
  CUmemPoolProps shared{};
  shared.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  shared.location = here;
  shared.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemoryPool out = nullptr;
  testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuMemPoolCreate(&out, &shared));
  EXPECT_EQ("simgpu: a pool with shareable handles is not supported\n",
            testing::internal::GetCapturedStderr());
}

}  // namespace
}  // namespace refrain::simgpu::driver::test
