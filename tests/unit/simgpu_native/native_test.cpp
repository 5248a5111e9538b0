// Native kernels as a program's view of the driver shows them.
#include "simgpu/native/image.hpp"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "../simgpu_driver/fixture.hpp"
#include "simgpu/native/memory.hpp"

extern "C" const std::uint32_t simgpu_native_image_version;

namespace refrain::simgpu::driver::test {
namespace {

// to[i] = from[i] + add, n of them
struct AddArguments {
  const char* call;
  CUdeviceptr to, from;
  std::uint32_t add, n;
};
void add_work(const AddArguments& arguments, native::Memory& memory) {
  const auto* from = memory.read<std::uint32_t>(arguments.from, arguments.n, "from");
  auto* to = memory.write<std::uint32_t>(arguments.to, arguments.n, "to");
  for (std::uint32_t i = 0; i < arguments.n; ++i) to[i] = from[i] + arguments.add;
  memory.count(9746.0 * 1000);  // a microsecond
}
void throw_work(const AddArguments&, native::Memory&) {
  throw std::runtime_error("out of luck");
}
// Two parameters of different sizes.
void poke_body(native::Run* run) noexcept {
  std::uint32_t value;
  CUdeviceptr address;
  std::memcpy(&value, run->params, sizeof value);
  std::memcpy(&address, static_cast<const std::byte*>(run->params) + 8, sizeof address);
  std::byte* to = run->reach(run, address, sizeof value, alignof(std::uint32_t), native::kWrite, "poke", "p");
  if (to != nullptr) std::memcpy(to, &value, sizeof value);
}

constexpr std::uint32_t kAddBytes[] = {sizeof(AddArguments)};
constexpr std::uint32_t kPokeBytes[] = {4, 8};
constexpr native::Kernel kKernels[] = {
    {"native_add", kAddBytes, 1, &native::body<AddArguments, &add_work>},
    {"native_throw", kAddBytes, 1, &native::body<AddArguments, &throw_work>},
    {"native_poke", kPokeBytes, 2, &poke_body},
};

native::Image make_image() {
  native::Image image{};
  std::memcpy(image.magic, native::kMagic, sizeof image.magic);
  image.version = &simgpu_native_image_version;
  image.kernels = kKernels;
  image.kernel_count = std::size(kKernels);
  return image;
}

class Native : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    OK(cuModuleLoadData(&native_, &image_));
    OK(cuModuleGetFunction(&native_add_, native_, "native_add"));
    OK(cuModuleGetFunction(&native_throw_, native_, "native_throw"));
    OK(cuModuleGetFunction(&native_poke_, native_, "native_poke"));
  }
  CUresult add_native(CUdeviceptr to, CUdeviceptr from, std::uint32_t value, std::uint32_t n, CUstream on) {
    AddArguments arguments{"library_add", to, from, value, n};
    void* params[] = {&arguments};
    return cuLaunchKernel(native_add_, 1, 1, 1, 128, 1, 1, 0, on, params, nullptr);
  }

  native::Image image_ = make_image();
  CUmodule native_ = nullptr;
  CUfunction native_add_ = nullptr, native_throw_ = nullptr, native_poke_ = nullptr;
};

TEST_F(Native, AnswersAsAnyFunction) {
  const char* name = nullptr;
  OK(cuFuncGetName(&name, native_poke_));
  EXPECT_STREQ("native_poke", name);
  std::size_t offset = 0, bytes = 0;
  OK(cuFuncGetParamInfo(native_poke_, 1, &offset, &bytes));
  EXPECT_EQ(8U, offset);
  EXPECT_EQ(8U, bytes);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(native_poke_, 2, &offset, &bytes));
  int value = 0;
  OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, native_add_));
  EXPECT_EQ(1024, value);
  OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, native_add_));
  EXPECT_EQ(0, value);
  int blocks = 0;
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, native_add_, 128, 0));
  EXPECT_GT(blocks, 0);
  unsigned count = 0;
  OK(cuModuleGetFunctionCount(&count, native_));
  EXPECT_EQ(3U, count);
  CUmodule module = nullptr;
  OK(cuFuncGetModule(&module, native_add_));
  EXPECT_EQ(native_, module);
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&native_add_, native_, "no_such"));
  CUdeviceptr global = 0;
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&global, &bytes, native_, "counter"));
}

TEST_F(Native, RunsInItsTurn) {
  const CUdeviceptr p = allocate(64), q = allocate(64);
  const CUstream on = stream();
  OK(fill(p, 10, 16, on));
  OK(add_native(q, p, 5, 16, on));
  OK(add(q, 100, 16, on));
  OK(add_native(p, q, 1, 16, on));
  OK(cuStreamSynchronize(on));
  EXPECT_EQ(from(115, 16), read(q, 16));
  EXPECT_EQ(from(116, 16), read(p, 16));
}

TEST_F(Native, TakesParametersInABuffer) {
  const CUdeviceptr p = allocate(64);
  struct {
    std::uint32_t value, padding;
    CUdeviceptr address;
  } buffer{77, 0, p};
  std::size_t bytes = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  OK(cuLaunchKernel(native_poke_, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra));
  EXPECT_EQ(77U, read(p, 1)[0]);
}

TEST_F(Native, IsCapturedAndReplayed) {
  const CUdeviceptr p = allocate(64);
  const CUstream on = stream();
  OK(fill(p, 0, 16, on));
  OK(cuStreamSynchronize(on));
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  OK(cuStreamBeginCapture_v2(on, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(add_native(p, p, 3, 16, on));
  OK(cuStreamEndCapture(on, &graph));
  CUgraphNode node = nullptr;
  std::size_t count = 1;
  OK(cuGraphGetNodes(graph, &node, &count));
  CUDA_KERNEL_NODE_PARAMS params{};
  OK(cuGraphKernelNodeGetParams_v2(node, &params));
  EXPECT_EQ(native_add_, params.func);
  EXPECT_EQ(3U, static_cast<const AddArguments*>(params.kernelParams[0])->add);
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int round = 0; round < 4; ++round) OK(cuGraphLaunch(exec, on));
  OK(cuStreamSynchronize(on));
  EXPECT_EQ(from(12, 16), read(p, 16));
}

TEST_F(Native, TakesVirtualTime) {
  const CUdeviceptr p = allocate(64);
  const CUevent begin = event(), end = event();
  OK(fill(p, 0, 16));
  OK(cuEventRecord(begin, nullptr));
  OK(add_native(p, p, 1, 16, nullptr));
  OK(cuEventRecord(end, nullptr));
  OK(cuCtxSynchronize());
  float ms = 0;
  OK(cuEventElapsedTime_v2(&ms, begin, end));
  EXPECT_NEAR(0.004, ms, 1e-6);  // the launch's 3 us and the kernel's own 1 us
}

TEST_F(Native, FaultsAsAnyKernel) {
  const CUdeviceptr p = allocate(64);
  testing::internal::CaptureStderr();
  add_native(p, p + (1 << 20), 1, 16, nullptr);
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(std::string::npos, text.find("library_add (kernel native_add): read of 64 bytes of from at 0x"))
      << text;
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, add_native(p, p, 1, 16, nullptr));  // sticky
}

TEST_F(Native, FaultsOnAlignment) {
  const CUdeviceptr p = allocate(64);
  OK(fill(p, 0, 16));
  add_native(p + 2, p, 1, 4, nullptr);
  EXPECT_EQ(CUDA_ERROR_MISALIGNED_ADDRESS, cuCtxSynchronize());
}

TEST_F(Native, AnExceptionIsAFault) {
  AddArguments arguments{"library_throw", 0, 0, 0, 0};
  void* params[] = {&arguments};
  testing::internal::CaptureStderr();
  cuLaunchKernel(native_throw_, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr);
  EXPECT_EQ(CUDA_ERROR_LAUNCH_FAILED, cuCtxSynchronize());
  EXPECT_EQ("simgpu: simgpu_native_test: library_throw: out of luck\n",
            testing::internal::GetCapturedStderr());
}

TEST_F(Native, LibrariesOutliveTheContext) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  OK(cuLibraryLoadData(&library, &image_, nullptr, nullptr, 0, nullptr, nullptr, 0));
  OK(cuLibraryGetKernel(&kernel, library, "native_poke"));
  OK(cuDevicePrimaryCtxReset_v2(0));
  OK(cuDevicePrimaryCtxRetain(&context_, 0));
  OK(cuCtxSetCurrent(context_));
  CUdeviceptr p = allocate(64);
  std::uint32_t value = 5;
  void* params[] = {&value, &p};
  OK(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr));
  EXPECT_EQ(5U, read(p, 1)[0]);
  OK(cuLibraryUnload(library));
}

TEST_F(Native, OnlyFromThisProcess) {
  native::Image foreign = image_;
  const std::uint32_t other = native::kVersion;
  foreign.version = &other;
  CUmodule module = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&module, &foreign));
  const auto path = std::filesystem::temp_directory_path() / ("native_image." + std::to_string(getpid()));
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(&image_), sizeof image_);
  EXPECT_EQ(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoad(&module, path.c_str()));
  std::filesystem::remove(path);
  // What is shorter than the magic is not read beyond its end.
  EXPECT_EQ(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&module,
                                                           "\x7f"
                                                           "ELF"));
}

}  // namespace
}  // namespace refrain::simgpu::driver::test
