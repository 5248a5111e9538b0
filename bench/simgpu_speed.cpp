// How fast the software device executes: thread instructions per second on one core for four kinds of kernel,
// and for the first the ratio to the same loop in scalar C++ at -O2, both in one run. It must not use the
// CUDA API.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "simgpu/exec/module.hpp"

namespace {

using refrain::simgpu::Access;
using refrain::simgpu::AddressSpace;
using refrain::simgpu::DeviceAddress;
using refrain::simgpu::ExecutionCounts;
using refrain::simgpu::ExecutionSettings;
using refrain::simgpu::LaunchShape;

constexpr std::uint32_t kBlocks = 16;
constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kElements = kBlocks * kThreads;
constexpr std::int32_t kRounds = 200;

std::string file_text(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// One kernel, launched again and again on memory of its own.
class Bench {
 public:
  Bench(const char* kernel, bool checks)
      : memory_({256u << 20, 4096, checks}),
        module_(refrain::simgpu::load_module(file_text(SPEED_PTX), memory_,
                                             ExecutionSettings{.check_uninitialised = checks})),
        kernel_(module_->find_kernel(kernel)) {
    std::vector<float> values(kElements * 4, 0.5f);
    memory_.allocate(0, values.size() * sizeof(float), x_);
    std::memcpy(memory_.translate(x_, values.size() * sizeof(float), Access::kReadWrite), values.data(),
                values.size() * sizeof(float));
    memory_.mark_written(x_, values.size() * sizeof(float));
  }

  bool run() {
    std::vector<std::byte> params(kernel_->param_bytes());
    std::memcpy(params.data(), &x_, sizeof x_);
    std::memcpy(params.data() + sizeof x_, &kRounds, sizeof kRounds);
    return !kernel_->run(LaunchShape{{kBlocks, 1, 1}, {kThreads, 1, 1}, 0}, params, 0, counts).has_value();
  }

  ExecutionCounts counts;

 private:
  AddressSpace memory_;
  std::unique_ptr<refrain::simgpu::Module> module_;
  const refrain::simgpu::Kernel* kernel_;
  DeviceAddress x_ = 0;
};

void speed(benchmark::State& state, const char* kernel, bool checks) {
  Bench bench(kernel, checks);
  for (auto _ : state) {
    if (!bench.run()) {
      state.SkipWithError("the kernel failed");
      return;
    }
  }
  state.counters["thread_instructions"] =
      benchmark::Counter(static_cast<double>(bench.counts.thread_instructions), benchmark::Counter::kIsRate);
}

// The loop of fma_heavy for all threads, one after the other. Compiled with -O2 and without vectors (see
// CMake).
__attribute__((noinline)) void scalar_fma(float* x) {
  for (std::uint32_t i = 0; i < kElements; ++i) {
    float a = x[i], b = a + 1, c = a + 2, d = a + 3;
    for (int r = 0; r < kRounds; ++r) {
      for (int u = 0; u < 8; ++u) {
        a = __builtin_fmaf(a, 0.999f, 0.001f);
        b = __builtin_fmaf(b, 0.998f, 0.002f);
        c = __builtin_fmaf(c, 0.997f, 0.003f);
        d = __builtin_fmaf(d, 0.996f, 0.004f);
      }
    }
    x[i] = a + b + c + d;
  }
}

// Both sides in turns in one run: time of the device over time of the scalar loop.
void ratio(benchmark::State& state) {
  Bench bench("fma_heavy", true);
  std::vector<float> x(kElements, 0.5f);
  double device_ns = 0;
  double scalar_ns = 0;
  const auto now = [] { return std::chrono::steady_clock::now(); };
  for (auto _ : state) {
    const auto begin = now();
    if (!bench.run()) {
      state.SkipWithError("the kernel failed");
      return;
    }
    const auto middle = now();
    scalar_fma(x.data());
    benchmark::DoNotOptimize(x.data());
    const auto end = now();
    device_ns += std::chrono::duration<double, std::nano>(middle - begin).count();
    scalar_ns += std::chrono::duration<double, std::nano>(end - middle).count();
  }
  state.counters["device_over_scalar"] = device_ns / scalar_ns;
}

BENCHMARK_CAPTURE(speed, fma_heavy, "fma_heavy", true);
BENCHMARK_CAPTURE(speed, memory_heavy, "memory_heavy", true);
BENCHMARK_CAPTURE(speed, memory_heavy_unchecked, "memory_heavy", false);
BENCHMARK_CAPTURE(speed, divergent, "divergent", true);
BENCHMARK_CAPTURE(speed, shared_memory, "shared_memory", true);
BENCHMARK_CAPTURE(speed, shared_memory_unchecked, "shared_memory", false);
BENCHMARK(ratio);

}  // namespace

BENCHMARK_MAIN();
