// Several devices: contexts, memory and peers, code, events and pools of each, from cuda.h's descriptions.
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "fixture.hpp"

namespace refrain::simgpu::driver::test {
namespace {

const int kSet = setenv("SIMGPU_DEVICES", "3", 1) + setenv("CUDA_VISIBLE_DEVICES", "2,0,1,7,0", 1) +
                 setenv("SIMGPU_MEMORY", "64MiB", 1);

CUmemLocation on(int device) {
  CUmemLocation out{};
  out.type = CU_MEM_LOCATION_TYPE_DEVICE;
  out.id = device;
  return out;
}

class DevicesTest : public DriverTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(0, kSet);
    DriverTest::SetUp();
    OK(cuDevicePrimaryCtxRetain(&other_, 1));
    OK(cuLibraryLoadData(&library_, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    CUkernel kernel = nullptr;
    OK(cuLibraryGetKernel(&kernel, library_, "fill"));
    anywhere_ = reinterpret_cast<CUfunction>(kernel);
  }
  void TearDown() override {
    cuLibraryUnload(library_);
    cuDevicePrimaryCtxReset_v2(1);
    DriverTest::TearDown();
    cuCtxSetCurrent(nullptr);
  }
  // Allocates in the other device's context, and comes back.
  CUdeviceptr allocate_there(std::size_t bytes) {
    EXPECT_EQ(CUDA_SUCCESS, cuCtxSetCurrent(other_));
    const CUdeviceptr out = allocate(bytes);
    EXPECT_EQ(CUDA_SUCCESS, cuMemsetD8(out, 0, bytes));
    EXPECT_EQ(CUDA_SUCCESS, cuCtxSynchronize());
    EXPECT_EQ(CUDA_SUCCESS, cuCtxSetCurrent(context_));
    return out;
  }
  template <class T>
  static T attribute(CUpointer_attribute wanted, CUdeviceptr address) {
    T out{};
    EXPECT_EQ(CUDA_SUCCESS, cuPointerGetAttribute(&out, wanted, address));
    return out;
  }

  CUcontext other_ = nullptr;
  CUlibrary library_ = nullptr;
  CUfunction anywhere_ = nullptr;  // fill, on whichever device
};

TEST_F(DevicesTest, AreCountedNamedAndChosen) {
  int count = 0;
  OK(cuDeviceGetCount(&count));
  ASSERT_EQ(3, count) << "the list ends where a device does not exist";
  std::set<std::string> uuids, buses;
  for (int device = 0; device < count; ++device) {
    CUdevice found = -1;
    OK(cuDeviceGet(&found, device));
    EXPECT_EQ(device, found);
    CUuuid uuid{};
    OK(cuDeviceGetUuid_v2(&uuid, device));
    uuids.emplace(uuid.bytes, sizeof uuid.bytes);
    char bus[32];
    OK(cuDeviceGetPCIBusId(bus, sizeof bus, device));
    buses.insert(bus);
    CUdevice by_bus = -1;
    OK(cuDeviceGetByPCIBusId(&by_bus, bus));
    EXPECT_EQ(device, by_bus);
    int number = 0;
    OK(cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device));
    EXPECT_EQ(number, std::stoi(std::string(bus).substr(5, 2), nullptr, 16));
  }
  EXPECT_EQ(3U, uuids.size());
  EXPECT_EQ(3U, buses.size());
  char first[32];
  OK(cuDeviceGetPCIBusId(first, sizeof first, 0));
  EXPECT_STREQ("0000:03:00.0", first) << "the order of CUDA_VISIBLE_DEVICES";
  CUdevice none = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&none, 3));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&none, -1));
  CUcontext context = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxRetain(&context, 3));
}

TEST_F(DevicesTest, TellWhetherTheyReachEachOther) {
  int value = -1;
  OK(cuDeviceCanAccessPeer(&value, 0, 2));
  EXPECT_EQ(1, value);
  OK(cuDeviceCanAccessPeer(&value, 1, 1));
  EXPECT_EQ(0, value);
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceCanAccessPeer(&value, 0, 3));
  OK(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
  EXPECT_EQ(1, value);
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE,
            cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1, 1));
}

TEST_F(DevicesTest, HaveTheirOwnContextsAndMemory) {
  CUdevice device = -1;
  OK(cuCtxGetDevice(&device));
  EXPECT_EQ(0, device);
  std::size_t free_before = 0, free_bytes = 0, total = 0;
  OK(cuMemGetInfo(&free_before, &total));
  EXPECT_EQ(64U << 20, total);
  const CUdeviceptr there = allocate_there(32U << 20);
  OK(cuMemGetInfo(&free_bytes, &total));
  EXPECT_EQ(free_before, free_bytes) << "it is not here";
  EXPECT_EQ(1, attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, there));
  EXPECT_EQ(other_, attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, there));
  const CUdeviceptr here = allocate(4);
  EXPECT_EQ(0, attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, here));
  EXPECT_EQ(context_, attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, here));
  OK(cuCtxSetCurrent(other_));
  OK(cuCtxGetDevice(&device));
  EXPECT_EQ(1, device);
  OK(cuMemGetInfo(&free_bytes, &total));
  EXPECT_LE(free_bytes, 32U << 20);
  const CUstream stream_there = stream();
  OK(cuCtxSetCurrent(context_));
  OK(cuStreamGetDevice(stream_there, &device));
  EXPECT_EQ(1, device);
  OK(cuMemFree(there));  // whichever context is current
  OK(cuCtxSetCurrent(other_));
  OK(cuMemGetInfo(&free_bytes, &total));
  EXPECT_GT(free_bytes, 32U << 20);
}

TEST_F(DevicesTest, RunKernelsOnTheirOwnVariables) {
  CUdeviceptr here = 0, there = 0;
  std::size_t bytes = 0;
  OK(cuLibraryGetGlobal(&here, &bytes, library_, "counter"));
  OK(cuMemsetD32(here, 70, 1));
  OK(cuCtxSynchronize());
  OK(cuCtxSetCurrent(other_));
  OK(cuLibraryGetGlobal(&there, &bytes, library_, "counter"));
  EXPECT_NE(here, there);
  EXPECT_EQ(from(5, 1), read(there, 1)) << "as the program begins";
  EXPECT_EQ(from(70, 1), read(here, 1));
  EXPECT_EQ(1, attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, there));
  const CUdeviceptr p = allocate(64 * 4);
  OK(launch(anywhere_, p, 3, 64, nullptr));
  EXPECT_EQ(from(3, 64), read(p, 64));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, fill(p, 3, 64)) << "a function of device 0's module";
}

TEST_F(DevicesTest, KeepKernelsToStreamsOfTheCurrentDevice) {
  const CUdeviceptr p = allocate(4);
  const CUstream here = stream();
  OK(cuCtxSetCurrent(other_));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, launch(anywhere_, p, 3, 1, here));
  OK(cuMemsetD32Async(p, 9, 1, here));  // other work may go there
  OK(cuStreamSynchronize(here));
  EXPECT_EQ(from(9, 1), read(p, 1));
}

TEST_F(DevicesTest, SetFunctionAttributesForEach) {
  const auto kernel = reinterpret_cast<CUkernel>(anywhere_);
  OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000, kernel, 1));
  int value = 0;
  OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 1));
  EXPECT_EQ(60000, value);
  OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0));
  EXPECT_EQ(48 * 1024, value);
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE,
            cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 3));
}

TEST_F(DevicesTest, OpenTheirMemoryToPeers) {
  const CUdeviceptr there = allocate_there(64 * 4);
  EXPECT_EQ(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(other_));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuCtxEnablePeerAccess(other_, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(context_, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(nullptr, 0));
  OK(cuCtxEnablePeerAccess(other_, 0));
  EXPECT_EQ(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(other_, 0));
  OK(add(there, 6, 64));
  OK(cuCtxSynchronize());
  EXPECT_EQ(std::vector<std::uint32_t>(64, 6), read(there, 64));
  const CUdeviceptr later = allocate_there(4);
  OK(fill(later, 8, 1));
  EXPECT_EQ(from(8, 1), read(later, 1));
  const CUdeviceptr here = allocate(4);
  OK(cuMemsetD32(here, 0, 1));
  OK(cuCtxSynchronize());
  OK(cuCtxSetCurrent(other_));
  testing::internal::CaptureStderr();
  OK(launch(anywhere_, here, 1, 1, nullptr));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize()) << "opened one way only";
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(std::string::npos,
            text.find(", memory of device 0, which cuCtxEnablePeerAccess opens to device 1"))
      << text;
  OK(cuCtxSetCurrent(context_));
  OK(cuCtxSynchronize()) << "the fault is the other context's";
}

TEST_F(DevicesTest, CloseTheirMemoryAgain) {
  const CUdeviceptr there = allocate_there(4);
  OK(cuCtxEnablePeerAccess(other_, 0));
  OK(cuCtxDisablePeerAccess(other_));
  testing::internal::CaptureStderr();
  OK(fill(there, 1, 1));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
  testing::internal::GetCapturedStderr();
}

TEST_F(DevicesTest, AreClosedWhenAContextEnds) {
  OK(cuCtxEnablePeerAccess(other_, 0));
  OK(cuDevicePrimaryCtxReset_v2(1));
  OK(cuDevicePrimaryCtxRetain(&other_, 1));
  const CUdeviceptr there = allocate_there(4);
  testing::internal::CaptureStderr();
  OK(fill(there, 1, 1));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
  testing::internal::GetCapturedStderr();
}

TEST_F(DevicesTest, CopyBetweenEachOtherWithoutPeerAccess) {
  const CUdeviceptr here = allocate(16), there = allocate_there(16);
  OK(fill(here, 11, 4));
  OK(cuMemcpyPeer(there, other_, here, context_, 16));
  EXPECT_EQ(from(11, 4), read(there, 4));
  const CUstream s = stream();
  OK(cuMemsetD32Async(here, 4, 4, s));
  OK(cuMemcpyPeerAsync(there, other_, here, context_, 8, s));
  OK(cuStreamSynchronize(s));
  EXPECT_EQ((std::vector<std::uint32_t>{4, 4, 13, 14}), read(there, 4));
  OK(cuMemcpyDtoD(here, there, 16));
  EXPECT_EQ((std::vector<std::uint32_t>{4, 4, 13, 14}), read(here, 4));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuMemcpyPeer(there, nullptr, here, context_, 16));
  CUDA_MEMCPY3D_PEER peer{};
  peer.srcMemoryType = peer.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  peer.srcDevice = there + 8;
  peer.srcContext = other_;
  peer.dstDevice = here;
  peer.dstContext = context_;
  peer.WidthInBytes = 8;
  peer.Height = peer.Depth = 1;
  OK(cuMemcpy3DPeer(&peer));
  EXPECT_EQ((std::vector<std::uint32_t>{13, 14, 13, 14}), read(here, 4));
}

TEST_F(DevicesTest, MapMemoryOfAnyAndOpenItToSome) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = on(1);
  std::size_t unit = 0;
  OK(cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr range = 0;
  OK(cuMemAddressReserve(&range, unit, 0, 0, 0));
  OK(cuMemCreate(&handle, unit, &properties, 0));
  OK(cuMemMap(range, unit, 0, handle, 0));
  const CUmemAccessDesc both[] = {{on(0), CU_MEM_ACCESS_FLAGS_PROT_READ},
                                  {on(1), CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
  OK(cuMemSetAccess(range, unit, both, 2));
  unsigned long long flags = 9;
  const CUmemLocation places[] = {on(0), on(1), on(2), on(3)};
  const CUmemAccess_flags wanted[] = {CU_MEM_ACCESS_FLAGS_PROT_READ, CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
                                      CU_MEM_ACCESS_FLAGS_PROT_NONE};
  for (int device = 0; device < 3; ++device) {
    OK(cuMemGetAccess(&flags, &places[device], range));
    EXPECT_EQ(static_cast<unsigned long long>(wanted[device]), flags) << device;
  }
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuMemGetAccess(&flags, &places[3], range));
  EXPECT_EQ(1, attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, range));
  OK(cuCtxSetCurrent(other_));
  OK(launch(anywhere_, range, 5, 4, nullptr));
  EXPECT_EQ(from(5, 4), read(range, 4));
  OK(cuCtxSetCurrent(context_));
  testing::internal::CaptureStderr();
  OK(launch(anywhere_, range, 5, 4, nullptr));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize()) << "it may only read";
  testing::internal::GetCapturedStderr();
  OK(cuMemUnmap(range, unit));
  OK(cuMemRelease(handle));
  OK(cuMemAddressFree(range, unit));
  properties.location = on(3);
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuMemCreate(&handle, unit, &properties, 0));
}

TEST_F(DevicesTest, KeepPoolsWhichAreOpenedByThemselves) {
  CUmemoryPool first = nullptr, second = nullptr;
  OK(cuDeviceGetDefaultMemPool(&first, 0));
  OK(cuDeviceGetDefaultMemPool(&second, 1));
  EXPECT_NE(first, second);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuDeviceSetMemPool(1, first)) << "of another device";
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetDefaultMemPool(&first, 3));
  OK(cuCtxEnablePeerAccess(other_, 0));  // not for pools
  CUmemAccess_flags flags{};
  CUmemLocation here = on(0);
  OK(cuMemPoolGetAccess(&flags, second, &here));
  EXPECT_EQ(CU_MEM_ACCESS_FLAGS_PROT_NONE, flags);
  const CUmemAccessDesc opened{on(0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  OK(cuMemPoolSetAccess(second, &opened, 1));
  OK(cuMemPoolGetAccess(&flags, second, &here));
  EXPECT_EQ(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, flags);
  const CUmemAccessDesc own{on(1), CU_MEM_ACCESS_FLAGS_PROT_NONE};
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAccess(second, &own, 1));
  OK(cuCtxSetCurrent(other_));
  CUdeviceptr p = 0;
  const CUstream s = stream();
  OK(cuMemAllocAsync(&p, 16, s));
  EXPECT_EQ(1, attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
  OK(cuCtxSetCurrent(context_));
  OK(fill(p, 2, 4));
  EXPECT_EQ(from(2, 4), read(p, 4));
  const CUmemAccessDesc closed{on(0), CU_MEM_ACCESS_FLAGS_PROT_NONE};
  OK(cuMemPoolSetAccess(second, &closed, 1));
  testing::internal::CaptureStderr();
  OK(fill(p, 2, 4));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
  EXPECT_NE(std::string::npos, testing::internal::GetCapturedStderr().find("cuMemPoolSetAccess"));
}

TEST_F(DevicesTest, WaitForEachOthersEvents) {
  const CUstream here = stream();
  const CUevent mark = event();
  const CUdeviceptr p = allocate(4), there = allocate_there(4);
  OK(cuCtxSetCurrent(other_));
  const CUstream far = stream();
  const CUevent far_mark = event();
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(mark, far));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(far_mark, here));
  OK(cuCtxSetCurrent(context_));
  OK(cuMemsetD32Async(p, 21, 1, here));
  OK(cuEventRecord(mark, here));
  OK(cuStreamWaitEvent(far, mark, 0));
  OK(cuMemcpyPeerAsync(there, other_, p, context_, 4, far));
  OK(cuEventRecord(far_mark, far));
  OK(cuEventSynchronize(far_mark));
  EXPECT_EQ(from(21, 1), read(there, 1));
  float milliseconds = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime_v2(&milliseconds, mark, far_mark));
}

TEST_F(DevicesTest, CaptureWhatRunsOnEach) {
  const CUstream here = stream();
  const CUdeviceptr p = allocate(16), there = allocate_there(16);
  const CUevent fork = event();
  OK(cuCtxSetCurrent(other_));
  const CUstream far = stream();
  const CUevent join = event();
  OK(cuStreamBeginCapture_v2(here, CU_STREAM_CAPTURE_MODE_RELAXED));
  OK(cuEventRecord(fork, here));
  OK(cuStreamWaitEvent(far, fork, 0));
  OK(launch(anywhere_, there, 30, 4, far));
  OK(cuEventRecord(join, far));
  OK(cuCtxSetCurrent(context_));
  OK(launch(anywhere_, p, 20, 4, here));
  OK(cuStreamWaitEvent(here, join, 0));
  CUgraph graph = nullptr;
  OK(cuStreamEndCapture(here, &graph));
  CUgraphExec exec = nullptr;
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cuGraphLaunch(exec, here));
  OK(cuStreamSynchronize(here));
  EXPECT_EQ(from(20, 4), read(p, 4));
  EXPECT_EQ(from(30, 4), read(there, 4)) << "on device 1, which alone may write there";
}

TEST_F(DevicesTest, AllocateInGraphs) {
  CUgraph graph = nullptr;
  OK(cuGraphCreate(&graph, 0));
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = on(1);
  const CUmemAccessDesc opened{on(0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  params.accessDescs = &opened;
  params.accessDescCount = 1;
  params.bytesize = 4096;
  CUgraphNode node = nullptr;
  OK(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &params));
  CUgraphExec exec = nullptr;
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  const CUstream s = stream();
  OK(cuGraphLaunch(exec, s));
  OK(fill(params.dptr, 6, 4, s));
  OK(cuStreamSynchronize(s));
  EXPECT_EQ(from(6, 4), read(params.dptr, 4));
  cuuint64_t bytes = 0;
  OK(cuDeviceGetGraphMemAttribute(1, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &bytes));
  EXPECT_EQ(4096U, bytes);
  OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &bytes));
  EXPECT_EQ(0U, bytes);
  EXPECT_EQ(1, attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, params.dptr));
  OK(cuMemFree(params.dptr));
  OK(cuGraphExecDestroy(exec));
  OK(cuGraphDestroy(graph));
}

TEST_F(DevicesTest, ShareManagedMemoryAndCheckPlaces) {
  CUdeviceptr p = 0;
  OK(cuMemAllocManaged(&p, 64, CU_MEM_ATTACH_GLOBAL));
  OK(cuCtxSetCurrent(other_));
  OK(launch(anywhere_, p, 40, 4, nullptr));
  OK(cuCtxSynchronize());
  EXPECT_EQ(0, std::memcmp(reinterpret_cast<const void*>(p), from(40, 4).data(), 16));
  OK(cuMemPrefetchAsync_v2(p, 64, on(2), 0, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuMemPrefetchAsync_v2(p, 64, on(3), 0, nullptr));
  OK(cuMemAdvise_v2(p, 64, CU_MEM_ADVISE_SET_ACCESSED_BY, on(0)));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuMemAdvise_v2(p, 64, CU_MEM_ADVISE_SET_ACCESSED_BY, on(9)));
  OK(cuMemFree(p));
}

TEST_F(DevicesTest, ResetAlone) {
  const CUdeviceptr here = allocate(4), there = allocate_there(4);
  OK(fill(here, 50, 1));
  OK(cuDevicePrimaryCtxReset_v2(1));
  EXPECT_EQ(from(50, 1), read(here, 1));
  std::uint32_t word = 0;
  EXPECT_NE(CUDA_SUCCESS, cuMemcpyDtoH(&word, there, 4));
  OK(launch(anywhere_, here, 60, 1, nullptr));
  EXPECT_EQ(from(60, 1), read(here, 1));
}

}  // namespace
}  // namespace refrain::simgpu::driver::test
