// What a kernel launch costs the program with refrain loaded and no memory pressure, against the driver
// alone. Both are measured in alternate batches of one process; each repetition's ratio is a counter, so that
// its spread shows. On the software device only the driver's own part differs from a real one; run it with
// SIMGPU_SCHEDULE=lazy there, or the launches include the interpretation of the kernel.
#include <benchmark/benchmark.h>
#include <cuda.h>
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr char kPtx[] = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry next(.param .u64 in, .param .u64 out, .param .u64 add, .param .u32 n)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [in];
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [add];
  cvta.to.global.u64 %rd0, %rd0;
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  ld.global.u32 %r0, [%rd0];
  ld.global.u32 %r1, [%rd2];
  add.s32 %r0, %r0, %r1;
  st.global.u32 [%rd1], %r0;
  ret;
}
)";

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "launch_overhead: %s: error %d\n", what, static_cast<int>(result));
  std::exit(1);
}

// One way to the driver: its own functions, or those that the preload library exports.
class Side {
 public:
  explicit Side(const char* library_path) {
    library_ = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
    if (!library_) {
      std::fprintf(stderr, "launch_overhead: %s\n", dlerror());
      std::exit(1);
    }
    check(function<decltype(&cuModuleLoadData)>("cuModuleLoadData")(&module_, kPtx), "cuModuleLoadData");
    check(function<decltype(&cuModuleGetFunction)>("cuModuleGetFunction")(&kernel_, module_, "next"),
          "cuModuleGetFunction");
    for (CUdeviceptr& buffer : buffers_)
      check(function<decltype(&cuMemAlloc)>("cuMemAlloc_v2")(&buffer, 1 << 20), "cuMemAlloc");
    for (const CUdeviceptr buffer : buffers_) {
      check(function<decltype(&cuMemsetD32)>("cuMemsetD32_v2")(buffer, 0, (1 << 20) / 4), "cuMemsetD32");
    }
    launch_ = function<decltype(&cuLaunchKernel)>("cuLaunchKernel");
  }

  double ns_per_launch(int launches) {
    unsigned n = 1;
    void* params[] = {&buffers_[0], &buffers_[1], &buffers_[2], &n};
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; ++i) {
      check(launch_(kernel_, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr), "cuLaunchKernel");
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    return took.count() / launches;
  }

  template <class Function>
  Function function(const char* name) {
    return reinterpret_cast<Function>(dlsym(library_, name));
  }

 private:
  void* library_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction kernel_ = nullptr;
  CUdeviceptr buffers_[3] = {};
  decltype(&cuLaunchKernel) launch_ = nullptr;
};

std::string preload_library() {
  const char* given = std::getenv("LIBREFRAIN");
  return given ? given : REFRAIN_LIBRARY;
}

void launch_overhead(benchmark::State& state) {
  static Side* const driver = [] {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
      std::fprintf(stderr, "launch_overhead: %s\n", dlerror());
      std::exit(1);
    }
    CUdevice device = 0;
    CUcontext context = nullptr;
    check(reinterpret_cast<decltype(&cuInit)>(dlsym(library, "cuInit"))(0), "cuInit");
    check(reinterpret_cast<decltype(&cuDeviceGet)>(dlsym(library, "cuDeviceGet"))(&device, 0), "cuDeviceGet");
    const auto retain =
        reinterpret_cast<decltype(&cuDevicePrimaryCtxRetain)>(dlsym(library, "cuDevicePrimaryCtxRetain"));
    check(retain(&context, device), "cuDevicePrimaryCtxRetain");
    check(reinterpret_cast<decltype(&cuCtxSetCurrent)>(dlsym(library, "cuCtxSetCurrent"))(context),
          "cuCtxSetCurrent");
    return new Side("libcuda.so.1");
  }();
  static Side* const preloaded = new Side(preload_library().c_str());
  static const auto synchronize = driver->function<CUresult (*)()>("cuCtxSynchronize");
  constexpr int kBatch = 1000;
  double direct_ns = 0;
  double preloaded_ns = 0;
  std::int64_t batches = 0;
  for (auto _ : state) {
    direct_ns += driver->ns_per_launch(kBatch);
    check(synchronize(), "cuCtxSynchronize");
    preloaded_ns += preloaded->ns_per_launch(kBatch);
    check(synchronize(), "cuCtxSynchronize");
    ++batches;
  }
  state.counters["direct_ns"] = direct_ns / static_cast<double>(batches);
  state.counters["preloaded_ns"] = preloaded_ns / static_cast<double>(batches);
  state.counters["added_ns"] = (preloaded_ns - direct_ns) / static_cast<double>(batches);
  state.counters["ratio"] = preloaded_ns / direct_ns;
}
BENCHMARK(launch_overhead)->Repetitions(15)->Iterations(20)->ReportAggregatesOnly();

}  // namespace

BENCHMARK_MAIN();
