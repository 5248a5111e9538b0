// The driver API under the eager schedule: values, errors, order. Other schedules have programs of their own.
#include <cstring>
#include <string>

#include "fixture.hpp"

namespace refrain::simgpu::driver::test {
namespace {

TEST(BeforeInit, EverythingSaysNotInitialized) {
  int count = 0;
  EXPECT_EQ(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
  CUdeviceptr p = 0;
  EXPECT_EQ(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc(&p, 4));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuInit(1));
  int version = 0;
  EXPECT_EQ(CUDA_SUCCESS, cuDriverGetVersion(&version));
  EXPECT_EQ(13000, version);
}

TEST(Contexts, WithoutOneEverythingSaysInvalidContext) {
  OK(cuInit(0));
  CUdeviceptr p = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&p, 4));
  CUcontext current = nullptr;
  OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(nullptr, current);
}

TEST(Contexts, StackAndDestruction) {
  OK(cuInit(0));
  CUcontext first = nullptr, second = nullptr, current = nullptr;
  OK(cuCtxCreate_v2(&first, 0, 0));
  OK(cuCtxCreate_v4(&second, nullptr, 0, 0));
  OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(second, current);
  OK(cuCtxPopCurrent(&current));
  OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(first, current);
  OK(cuCtxSetCurrent(second));
  OK(cuCtxDestroy(first));
  OK(cuCtxDestroy(second));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(second));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent(first));
}

TEST_F(DriverTest, DeviceTellsWhatProgramsAsk) {
  char name[32];
  OK(cuDeviceGetName(name, sizeof name, 0));
  EXPECT_STREQ("simgpu", name);
  const auto attribute = [](CUdevice_attribute wanted) {
    int value = -1;
    EXPECT_EQ(CUDA_SUCCESS, cuDeviceGetAttribute(&value, wanted, 0));
    return value;
  };
  EXPECT_EQ(8, attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  EXPECT_EQ(0, attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  EXPECT_EQ(1, attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED));
  EXPECT_EQ(1, attribute(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY));
  EXPECT_EQ(1, attribute(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH));
  int value = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1));
}

TEST_F(DriverTest, KernelWritesWhatItShould) {
  const CUdeviceptr p = allocate(400);
  OK(fill(p, 7, 100));
  OK(add(p, 3, 100));
  EXPECT_EQ(from(10, 100), read(p, 100));
}

TEST_F(DriverTest, ParametersAsOneBuffer) {
  const CUdeviceptr p = allocate(400);
  struct {
    CUdeviceptr p;
    std::uint32_t value, n;
  } buffer = {p, 40, 100};
  std::size_t bytes = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  OK(cuLaunchKernel(fill_, 4, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
  EXPECT_EQ(from(40, 100), read(p, 100));
  void* none[] = {nullptr};
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(fill_, 1, 1, 1, 32, 1, 1, 0, nullptr, none, extra));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(fill_, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
}

TEST_F(DriverTest, LaunchShapesAreChecked) {
  CUdeviceptr p = allocate(4);
  void* params[] = {&p};
  const auto with = [&](unsigned grid, unsigned block, unsigned shared) {
    return cuLaunchKernel(poke_, grid, 1, 1, block, 1, 1, shared, nullptr, params, nullptr);
  };
  EXPECT_EQ(CUDA_SUCCESS, with(1, 1024, 48 * 1024));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, with(0, 1, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, with(1, 1025, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, with(1, 1, 48 * 1024 + 1));
  OK(cuFuncSetAttribute(poke_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 * 1024));
  EXPECT_EQ(CUDA_SUCCESS, with(1, 1, 64 * 1024));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE,
            cuLaunchKernel(reinterpret_cast<CUfunction>(&p), 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr));
}

TEST_F(DriverTest, ParameterLayoutIsTold) {
  std::size_t offset = 0, bytes = 0;
  OK(cuFuncGetParamInfo(fill_, 1, &offset, &bytes));
  EXPECT_EQ(8U, offset);
  EXPECT_EQ(4U, bytes);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(fill_, 3, &offset, &bytes));
}

TEST_F(DriverTest, LibraryKernelsAreFunctions) {
  CUlibrary library = nullptr;
  OK(cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CUkernel kernel = nullptr;
  OK(cuLibraryGetKernel(&kernel, library, "fill"));
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel(&kernel, library, "nothing"));
  const char* name = nullptr;
  OK(cuKernelGetName(&name, kernel));
  EXPECT_STREQ("fill", name);
  const CUdeviceptr p = allocate(40);
  OK(launch(reinterpret_cast<CUfunction>(kernel), p, 1, 10, nullptr));
  EXPECT_EQ(from(1, 10), read(p, 10));
  CUdeviceptr counter = 0;
  std::size_t bytes = 0;
  OK(cuLibraryGetGlobal(&counter, &bytes, library, "counter"));
  EXPECT_EQ(4U, bytes);
  EXPECT_EQ(5U, read(counter, 1)[0]);
  OK(cuLibraryUnload(library));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, launch(reinterpret_cast<CUfunction>(kernel), p, 1, 10, nullptr));
}

TEST_F(DriverTest, BadImages) {
  CUmodule module = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&module, ".version 7.5\n.target sm_75\n.nonsense"));
  const char elf[64] = "\177ELF";
  EXPECT_EQ(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&module, elf));
  EXPECT_EQ(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&module, "/nowhere/at/all.ptx"));
  CUlibrary library = nullptr;
  OK(cuLibraryLoadData(&library, ".version 7.5\n.target sm_75\n.nonsense", nullptr, nullptr, 0, nullptr,
                       nullptr, 0));
  CUkernel kernel = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_PTX, cuLibraryGetKernel(&kernel, library, "fill"));
}

TEST_F(DriverTest, MemoryIsCountedAndChecked) {
  std::size_t before = 0, after = 0, total = 0;
  OK(cuMemGetInfo(&before, &total));
  const CUdeviceptr p = allocate(1 << 20);
  OK(cuMemGetInfo(&after, &total));
  EXPECT_EQ(before - (1 << 20), after);
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  OK(cuMemGetAddressRange(&base, &bytes, p + 5));
  EXPECT_EQ(p, base);
  EXPECT_EQ(std::size_t{1} << 20, bytes);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(p + 512));
  OK(cuMemFree(p));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(p));
  CUdeviceptr none = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&none, 0));
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&none, total + 1));
}

TEST_F(DriverTest, PointersAreKnown) {
  const CUdeviceptr p = allocate(4096);
  unsigned type = 0;
  OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 8));
  EXPECT_EQ(unsigned{CU_MEMORYTYPE_DEVICE}, type);
  void* pinned = nullptr;
  OK(cuMemAllocHost(&pinned, 100));
  OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(pinned)));
  EXPECT_EQ(unsigned{CU_MEMORYTYPE_HOST}, type);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                            reinterpret_cast<CUdeviceptr>(&type)));
  OK(cuMemFreeHost(pinned));
}

TEST_F(DriverTest, CopiesOutsideAnAllocationAreRefused) {
  const CUdeviceptr p = allocate(1 << 16);
  std::vector<char> host(1 << 17);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(p, host.data(), 1 << 17));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(host.data(), 4096, 4));
  OK(cuMemcpyHtoD(p, host.data(), 1 << 16));  // not sticky
}

TEST_F(DriverTest, RowsAreCopiedAndFilled) {
  CUdeviceptr p = 0;
  std::size_t pitch = 0;
  OK(cuMemAllocPitch(&p, &pitch, 12, 3, 4));
  OK(cuMemsetD2D32(p, pitch, 9, 3, 3));
  const std::uint32_t host[4] = {1, 2, 3, 4};
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host;
  copy.srcPitch = 8;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = p;
  copy.dstPitch = pitch;
  copy.dstXInBytes = 4;
  copy.dstY = 1;
  copy.WidthInBytes = 8;
  copy.Height = 2;
  OK(cuMemcpy2D(&copy));
  EXPECT_EQ((std::vector<std::uint32_t>{9, 9, 9}), read(p, 3));
  EXPECT_EQ((std::vector<std::uint32_t>{9, 1, 2}), read(p + pitch, 3));
  EXPECT_EQ((std::vector<std::uint32_t>{9, 3, 4}), read(p + 2 * pitch, 3));
  OK(cuMemsetD16(p, 0x1234, 2));
  EXPECT_EQ(0x12341234U, read(p, 1)[0]);
}

TEST_F(DriverTest, VirtualMemoryIsStrict) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  std::size_t unit = 0;
  OK(cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  EXPECT_EQ(4096U, unit);
  CUdeviceptr range = 0;
  OK(cuMemAddressReserve(&range, 4 * unit, 0, 0, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&range, unit + 1, 0, 0, 0));
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, unit + 1, &properties, 0));
  OK(cuMemCreate(&handle, 2 * unit, &properties, 0));
  OK(cuMemMap(range, 2 * unit, 0, handle, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemMap(range + unit, 2 * unit, 0, handle, 0));  // taken
  std::uint32_t word = 3;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(range, &word, 4));  // no access yet
  const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  OK(cuMemSetAccess(range, 2 * unit, &access, 1));
  OK(cuMemcpyHtoD(range, &word, 4));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(range, unit));  // only whole mappings
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(range, 4 * unit));
  CUmemGenericAllocationHandle again = 0;
  OK(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(range + unit)));
  EXPECT_EQ(handle, again);
  OK(cuMemRelease(again));
  OK(cuMemRelease(handle));
  EXPECT_EQ(3U, read(range, 1)[0]);  // lives while it is mapped
  std::size_t before = 0, after = 0;
  OK(cuMemGetInfo(&before, nullptr));
  OK(cuMemUnmap(range, 2 * unit));
  OK(cuMemGetInfo(&after, nullptr));
  EXPECT_EQ(before + 2 * unit, after);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemRelease(handle));
  OK(cuMemAddressFree(range, 4 * unit));
}

TEST_F(DriverTest, EventsCarryVirtualTimeThatRepeats) {
  const CUdeviceptr p = allocate(4000);
  float first = 0, second = 0;
  for (float* milliseconds : {&first, &second}) {
    const CUevent start = event(), end = event();
    OK(cuEventRecord(start, nullptr));
    OK(fill(p, 1, 1000));
    OK(cuEventRecord(end, nullptr));
    OK(cuEventElapsedTime_v2(milliseconds, start, end));
  }
  EXPECT_GT(first, 0.002F);  // a launch takes 3 us
  EXPECT_FLOAT_EQ(first, second);
  CUevent untimed = nullptr;
  OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
  OK(cuEventRecord(untimed, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime_v2(&first, untimed, untimed));
}

TEST_F(DriverTest, HostFunctionsRunInOrderAndMayNotCallCuda) {
  struct Seen {
    int calls = 0;
    CUresult inside = CUDA_SUCCESS;
  } seen;
  const auto function = [](void* data) {
    auto* out = static_cast<Seen*>(data);
    ++out->calls;
    out->inside = cuCtxSynchronize();
  };
  const CUstream s = stream();
  OK(cuLaunchHostFunc(s, function, &seen));
  OK(cuStreamSynchronize(s));
  EXPECT_EQ(1, seen.calls);
  EXPECT_EQ(CUDA_ERROR_NOT_PERMITTED, seen.inside);
}

TEST_F(DriverTest, StreamOrderedMemory) {
  CUdeviceptr p = 0;
  const CUstream s = stream();
  OK(cuMemAllocAsync(&p, 4000, s));
  OK(fill(p, 5, 1000, s));
  OK(cuStreamSynchronize(s));
  EXPECT_EQ(from(5, 1000), read(p, 1000));
  OK(cuMemFreeAsync(p, s));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(p, s));
}

TEST_F(DriverTest, ErrorsHaveNames) {
  const char* text = nullptr;
  OK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  EXPECT_STREQ("CUDA_ERROR_ILLEGAL_ADDRESS", text);
  OK(cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  EXPECT_STREQ("an illegal memory access was encountered", text);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGetErrorName(static_cast<CUresult>(12345), &text));
}

TEST_F(DriverTest, AFaultIsStickyAndSaysWhere) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA_SUCCESS, poke(64));  // asynchronous: the launch itself succeeds
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(std::string::npos, said.find("simgpu: ")) << said;
  EXPECT_NE(std::string::npos, said.find("poke")) << said;
  EXPECT_NE(std::string::npos, said.find("0x40")) << said;
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
  CUdeviceptr p = 0;
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc(&p, 4));
  OK(cuDevicePrimaryCtxReset_v2(0));
  OK(cuDevicePrimaryCtxRetain(&context_, 0));
  OK(cuCtxSetCurrent(context_));
  EXPECT_EQ(CUDA_SUCCESS, cuMemAlloc(&p, 4));
}

}  // namespace
}  // namespace refrain::simgpu::driver::test
