// The lazy schedule: work runs only when something waits for it, so that a missing wait shows.
#include <cstdlib>
#include <cstring>

#include "fixture.hpp"

namespace refrain::simgpu::driver::test {
namespace {

const int kSchedule = setenv("SIMGPU_SCHEDULE", "lazy", 1);

using LazyTest = DriverTest;

TEST_F(LazyTest, OnlyWhatIsWaitedForRuns) {
  ASSERT_EQ(0, kSchedule);
  const CUstream a = stream(), b = stream();
  const CUdeviceptr p = allocate(4), q = allocate(4);
  OK(cuMemsetD32(p, 0, 1));
  OK(cuMemsetD32(q, 0, 1));
  OK(cuCtxSynchronize());
  OK(fill(p, 7, 1, a));
  OK(fill(q, 8, 1, b));
  OK(cuStreamSynchronize(b));
  const CUstream other = stream();
  EXPECT_EQ(0U, peek(p, other));  // nobody waited for a: a stale value
  EXPECT_EQ(8U, peek(q, other));
  OK(cuStreamSynchronize(a));
  EXPECT_EQ(7U, peek(p, other));
}

TEST_F(LazyTest, EventsOrderStreams) {
  const CUstream a = stream(), b = stream();
  const CUdeviceptr p = allocate(4);
  const CUevent done = event();
  OK(fill(p, 7, 1, a));
  OK(cuEventRecord(done, a));
  OK(cuStreamWaitEvent(b, done, 0));
  OK(add(p, 1, 1, b));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(b));  // each query lets one item run: fill,
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(b));  // record,
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(b));  // wait,
  EXPECT_EQ(CUDA_SUCCESS, cuStreamQuery(b));          // add
  EXPECT_EQ(8U, peek(p, b));
}

TEST_F(LazyTest, LegacyStreamWaitsForBlockingStreamsOnly) {
  const CUstream blocking = stream(CU_STREAM_DEFAULT), free = stream();
  const CUdeviceptr p = allocate(4), q = allocate(4), r = allocate(4);
  OK(cuMemsetD32(q, 0, 1));
  OK(cuCtxSynchronize());
  OK(fill(p, 7, 1, blocking));
  OK(fill(q, 8, 1, free));
  OK(fill(r, 9, 1, nullptr));
  OK(cuStreamSynchronize(nullptr));
  const CUstream other = stream();
  EXPECT_EQ(7U, peek(p, other));
  EXPECT_EQ(0U, peek(q, other));
  EXPECT_EQ(9U, peek(r, other));
  // And blocking streams wait for the legacy stream.
  OK(fill(p, 1, 1, nullptr));
  OK(add(p, 5, 1, blocking));
  OK(cuStreamSynchronize(blocking));
  EXPECT_EQ(6U, peek(p, other));
  // The per-thread default stream is a blocking stream too.
  OK(fill(p, 20, 1, CU_STREAM_PER_THREAD));
  OK(add(p, 5, 1, nullptr));
  OK(cuStreamSynchronize(nullptr));
  EXPECT_EQ(25U, peek(p, other));
}

TEST_F(LazyTest, PageableSourcesAreTakenAtTheCallPinnedOnesLater) {
  const CUstream s = stream();
  const CUdeviceptr p = allocate(4), q = allocate(4);
  std::uint32_t pageable = 1;
  void* memory = nullptr;
  OK(cuMemAllocHost(&memory, 4));
  auto* pinned = static_cast<std::uint32_t*>(memory);
  *pinned = 1;
  OK(cuMemcpyHtoDAsync(p, &pageable, 4, s));
  OK(cuMemcpyHtoDAsync(q, pinned, 4, s));
  pageable = 2;
  *pinned = 2;
  OK(cuStreamSynchronize(s));
  EXPECT_EQ(1U, peek(p, s));
  EXPECT_EQ(2U, peek(q, s));
  // To pinned memory the copy does not wait, to pageable memory it does.
  OK(cuMemsetD32Async(p, 50, 1, s));
  OK(cuMemcpyDtoHAsync(pinned, p, 4, s));
  EXPECT_EQ(2U, *pinned);
  OK(cuMemcpyDtoHAsync(&pageable, p, 4, s));
  EXPECT_EQ(50U, pageable);
  EXPECT_EQ(50U, *pinned);
}

TEST_F(LazyTest, ParametersAreCopiedAtTheCall) {
  const CUdeviceptr p = allocate(400);
  std::uint32_t value = 5, n = 100;
  CUdeviceptr to = p;
  void* params[] = {&to, &value, &n};
  OK(cuLaunchKernel(fill_, 4, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr));
  value = 1000;
  to = 0;
  EXPECT_EQ(from(5, 100), read(p, 100));
}

TEST_F(LazyTest, FreeingWaitsButUnmappingDoesNot) {
  const CUstream s = stream();
  const CUdeviceptr p = allocate(4), q = allocate(4);
  OK(fill(q, 1, 1, s));
  OK(cuMemFree(p));
  const CUstream other = stream();
  EXPECT_EQ(1U, peek(q, other));  // the free has waited for everything

  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUdeviceptr range = 0;
  CUmemGenericAllocationHandle handle = 0;
  OK(cuMemAddressReserve(&range, 4096, 0, 0, 0));
  OK(cuMemCreate(&handle, 4096, &properties, 0));
  OK(cuMemMap(range, 4096, 0, handle, 0));
  OK(cuMemSetAccess(range, 4096, &access, 1));
  OK(fill(range, 1, 1, s));
  OK(cuMemUnmap(range, 4096));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(s));
  OK(cuMemRelease(handle));
  OK(cuMemAddressFree(range, 4096));
}

TEST_F(LazyTest, AFaultDropsWhatIsQueued) {
  const CUstream s = stream();
  const CUdeviceptr p = allocate(4);
  OK(poke(64, s));
  OK(poke(p, s));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(s));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

TEST_F(LazyTest, LongChainsAndDestroyedStreams) {
  const CUstream s = stream(CU_STREAM_DEFAULT);
  const CUdeviceptr p = allocate(4);
  OK(cuMemsetD32(p, 0, 1));
  for (int turn = 0; turn < 20000; ++turn) OK(add(p, 1, 1, s));
  OK(cuStreamDestroy(s));  // its work still comes before that of the legacy stream
  EXPECT_EQ(20000U, read(p, 1)[0]);
}

TEST_F(LazyTest, GraphLaunchesFollowTheStream) {
  const CUstream s = stream();
  const CUdeviceptr p = allocate(400);
  OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
  OK(add(p, 3, 100, s));
  OK(add(p, 4, 100, s));
  CUgraph graph = nullptr;
  OK(cuStreamEndCapture(s, &graph));
  CUgraphExec exec = nullptr;
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(fill(p, 0, 100, s));
  OK(cuGraphLaunch(exec, s));
  OK(cuGraphLaunch(exec, s));
  OK(cuGraphExecDestroy(exec));
  OK(cuGraphDestroy(graph));
  OK(cuStreamSynchronize(s));
  EXPECT_EQ(from(14, 100), read(p, 100));
}

}  // namespace
}  // namespace refrain::simgpu::driver::test
