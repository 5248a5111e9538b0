// Each driver call that refrain makes to move memory or to replay fails, once at its n-th use and for good
// from there on, with each error that it may return: whatever is read afterwards without an error must be
// right.
#include <functional>
#include <map>

#include "driver_fixture.hpp"

namespace refrain::cuda {
namespace {

constexpr std::size_t kBytes = 64 * 1024;
constexpr int kBuffers = 10;

// What fails: the n-th use of a function, or all from there on.
struct Fault {
  std::string function;
  int use = 0;  // 0: nothing fails
  bool for_good = false;
  CUresult error = CUDA_SUCCESS;
};
Fault fault;
std::map<std::string, int> uses;

bool fails(const char* function) {
  const int use = ++uses[function];
  return fault.use != 0 && fault.function == function &&
         (use == fault.use || (fault.for_good && use > fault.use));
}

template <int kId, class Function>
struct Guarded;
template <int kId, class... Arguments>
struct Guarded<kId, CUresult (*)(Arguments...)> {
  static inline CUresult (*real)(Arguments...) = nullptr;
  static inline const char* name = nullptr;
  static CUresult call(Arguments... arguments) { return fails(name) ? fault.error : real(arguments...); }
};

class Faults : public WithDriver {
 protected:
  void SetUp() override {
    WithDriver::SetUp();
    set_ = function<CUresult(CUdeviceptr, unsigned, std::size_t, CUstream)>("cuMemsetD32Async");
    read_ = function<CUresult(void*, CUdeviceptr, std::size_t)>("cuMemcpyDtoH_v2");
    copy_ = function<CUresult(CUdeviceptr, CUdeviceptr, std::size_t, CUstream)>("cuMemcpyDtoDAsync_v2");
  }

  std::size_t bytes_left() {
    std::size_t free = 0;
    std::size_t total = 0;
    function<CUresult(std::size_t*, std::size_t*)>("cuMemGetInfo_v2")(&free, &total);
    return free;
  }

  // Makes, copies and reads more than the cap holds; every word that is read must be right.
  void run() {
    options::Options options = limited_to(4 * kBytes);
    options.offload.value = engine::Offload::kAuto;
    options.verify.value = engine::Verify::kAll;
    options.host_limit.value.kind = options::Limit::Kind::kBytes;
    options.host_limit.value.bytes = 64 * kBytes;
    Runtime runtime(driver_, observer_, options, [](const std::string&) {});
    std::vector<CUdeviceptr> buffers;
    std::map<CUdeviceptr, unsigned> expected;
    for (int i = 0; i < kBuffers; ++i) {
      CUdeviceptr address = 0;
      if (runtime.allocate(&address, kBytes) != CUDA_SUCCESS) continue;
      buffers.push_back(address);
      const auto value = static_cast<unsigned>(1000 + i);
      if (runtime.set_memory(CU_STREAM_LEGACY, address, value, 4, kBytes / 4, [&] {
            return set_(address, value, kBytes / 4, CU_STREAM_LEGACY);
          }) == CUDA_SUCCESS) {
        expected[address] = value;
      }
    }
    for (int round = 0; round < 3; ++round) {
      for (std::size_t i = 0; i + 1 < buffers.size(); ++i) {
        const CUdeviceptr from = buffers[i];
        const CUdeviceptr to = buffers[(i * 7 + 3) % buffers.size()];
        if (from == to || !expected.contains(from)) continue;
        if (runtime.copy_any(CU_STREAM_LEGACY, to, from, kBytes,
                             [&] { return copy_(to, from, kBytes, CU_STREAM_LEGACY); }) == CUDA_SUCCESS) {
          expected[to] = expected.at(from);
        }
      }
      for (const auto& [address, value] : expected) {
        unsigned word = 0;
        const CUdeviceptr at = address + kBytes / 2;
        if (runtime.copy_to_host(CU_STREAM_LEGACY, at, 4, true, [&] { return read_(&word, at, 4); }) ==
            CUDA_SUCCESS) {
          EXPECT_EQ(word, value) << fault.function << " use " << fault.use
                                 << (fault.for_good ? " for good" : " once") << " with error " << fault.error;
          ++right_reads;
        }
      }
    }
    for (const CUdeviceptr address : buffers) EXPECT_EQ(runtime.free(address), CUDA_SUCCESS);
    runtime.context_gone(context_);
  }

  int right_reads = 0;
  CUresult (*set_)(CUdeviceptr, unsigned, std::size_t, CUstream) = nullptr;
  CUresult (*read_)(void*, CUdeviceptr, std::size_t) = nullptr;
  CUresult (*copy_)(CUdeviceptr, CUdeviceptr, std::size_t, CUstream) = nullptr;
};

// Calls whose failure leaves the context as it was. An error of a wait means that the device is lost.
TEST_F(Faults, WhatIsReadWithoutAnErrorIsRight) {
#define EACH(action)                                                                                         \
  action(cuMemAddressReserve) action(cuMemCreate) action(cuMemMap) action(cuMemSetAccess) action(cuMemUnmap) \
      action(cuMemHostAlloc) action(cuMemHostGetDevicePointer) action(cuMemcpyDtoHAsync)                     \
          action(cuModuleLoadData) action(cuModuleGetFunction) action(cuLaunchKernel) action(cuEventCreate)  \
              action(cuEventRecord) action(cuStreamCreate) action(cuStreamWaitEvent) action(cuGraphCreate)   \
                  action(cuGraphAddMemcpyNode) action(cuGraphAddMemsetNode)                                  \
                      action(cuGraphInstantiateWithFlags) action(cuGraphExecMemcpyNodeSetParams)             \
                          action(cuGraphExecMemsetNodeSetParams) action(cuGraphLaunch)
  std::vector<const char*> functions;
#define GUARD(member)                                             \
  {                                                               \
    using Guard = Guarded<__COUNTER__, decltype(driver_.member)>; \
    Guard::real = driver_.member;                                 \
    Guard::name = #member;                                        \
    driver_.member = &Guard::call;                                \
    functions.push_back(#member);                                 \
  }
  EACH(GUARD)
#undef GUARD
#undef EACH
  fault = {};
  uses.clear();
  run();
  const std::map<std::string, int> all = uses;
  const int reads = right_reads;
  EXPECT_EQ(reads, 3 * kBuffers);
  int cases = 0;
  int sites = 0;
  for (const char* function : functions) {
    const auto used = all.find(function);
    if (used == all.end()) continue;
    ++sites;
    for (const CUresult error : {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_NOT_READY, CUDA_ERROR_LAUNCH_FAILED,
                                 CUDA_ERROR_ILLEGAL_STATE}) {
      for (const bool for_good : {false, true}) {
        for (int use = 1; use <= used->second; use += 1 + used->second / 3) {
          fault = {.function = function, .use = use, .for_good = for_good, .error = error};
          uses.clear();
          const int reads_before = right_reads;
          run();
          ++cases;
          // One fault must not take the device with it.
          if (!for_good) {
            EXPECT_GT(right_reads, reads_before) << function << " use " << use << " error " << error;
          }
          if (HasFailure()) return;
        }
      }
    }
  }
  fault = {};
  RecordProperty("sites", sites);
  RecordProperty("cases", cases);
  std::printf("%d functions, %d cases, %d right reads\n", sites, cases, right_reads);
  EXPECT_GT(sites, 12);
  EXPECT_GT(right_reads, cases);
}

}  // namespace
}  // namespace refrain::cuda
