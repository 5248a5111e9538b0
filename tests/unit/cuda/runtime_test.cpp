// The runtime over the software device's driver, without interception: fills and copies stand for kernels.
#include <thread>
#include <vector>

#include "driver_fixture.hpp"

namespace refrain::cuda {
namespace {

constexpr std::size_t kBytes = 16 * 1024;

class RuntimeOverDriver : public WithDriver {
 protected:
  void SetUp() override {
    WithDriver::SetUp();
    set_ = function<CUresult(CUdeviceptr, unsigned, std::size_t, CUstream)>("cuMemsetD32Async");
    read_ = function<CUresult(void*, CUdeviceptr, std::size_t)>("cuMemcpyDtoH_v2");
    copy_ = function<CUresult(CUdeviceptr, CUdeviceptr, std::size_t, CUstream)>("cuMemcpyDtoDAsync_v2");
    write_ = function<CUresult(CUdeviceptr, const void*, std::size_t)>("cuMemcpyHtoD_v2");
  }
  std::unique_ptr<Runtime> make(std::uint64_t limit_bytes) {
    return std::make_unique<Runtime>(driver_, observer_, limited_to(limit_bytes),
                                     [this](const std::string& text) { notes_.push_back(text); });
  }
  CUdeviceptr allocate(Runtime& runtime, std::size_t bytes = kBytes) {
    CUdeviceptr out = 0;
    EXPECT_EQ(runtime.allocate(&out, bytes), CUDA_SUCCESS);
    return out;
  }
  CUresult fill(Runtime& runtime, CUdeviceptr to, unsigned value, CUstream stream = CU_STREAM_LEGACY,
                std::size_t bytes = kBytes) {
    return runtime.set_memory(stream, to, value, 4, bytes / 4,
                              [&] { return set_(to, value, bytes / 4, stream); });
  }
  CUresult copy(Runtime& runtime, CUdeviceptr to, CUdeviceptr from, CUstream stream = CU_STREAM_LEGACY) {
    return runtime.copy_any(stream, to, from, kBytes, [&] { return copy_(to, from, kBytes, stream); });
  }
  unsigned first_word(Runtime& runtime, CUdeviceptr from) {
    unsigned value = 0xdead;
    EXPECT_EQ(runtime.copy_to_host(CU_STREAM_LEGACY, from, 4, true, [&] { return read_(&value, from, 4); }),
              CUDA_SUCCESS);
    return value;
  }

  CUresult (*set_)(CUdeviceptr, unsigned, std::size_t, CUstream) = nullptr;
  CUresult (*read_)(void*, CUdeviceptr, std::size_t) = nullptr;
  CUresult (*copy_)(CUdeviceptr, CUdeviceptr, std::size_t, CUstream) = nullptr;
  CUresult (*write_)(CUdeviceptr, const void*, std::size_t) = nullptr;
  std::vector<std::string> notes_;
};

TEST_F(RuntimeOverDriver, FillsComeBackAfterEviction) {
  const auto runtime = make(4 * kBytes);
  std::vector<CUdeviceptr> buffers;
  for (unsigned i = 0; i < 12; ++i) {
    buffers.push_back(allocate(*runtime));
    ASSERT_EQ(fill(*runtime, buffers.back(), i), CUDA_SUCCESS);
  }
  EXPECT_GE(observer_.evictions, 8);
  for (unsigned i = 0; i < 12; ++i) EXPECT_EQ(first_word(*runtime, buffers[i]), i);
  EXPECT_LE(runtime->engine()->memory().peak_held_bytes(), 4 * kBytes);
  for (const CUdeviceptr buffer : buffers) EXPECT_EQ(runtime->free(buffer), CUDA_SUCCESS);
}

TEST_F(RuntimeOverDriver, CopiesToTheHostAreTimed) {
  const auto runtime = make(4 * kBytes);
  const engine::TransferCost assumed;
  std::vector<CUdeviceptr> buffers;
  for (unsigned i = 0; i < 12; ++i) {
    buffers.push_back(allocate(*runtime));
    ASSERT_EQ(fill(*runtime, buffers.back(), i), CUDA_SUCCESS);
  }
  ASSERT_GT(runtime->engine()->statistics().offloads, 0u) << "of what is on probation";
  const engine::TransferCost& measured = runtime->engine()->transfer_cost();
  EXPECT_GT(measured(kBytes), 0);
  EXPECT_NE(measured(kBytes), assumed(kBytes));
}

TEST_F(RuntimeOverDriver, CopiesAcrossStreamsAreOrdered) {
  const auto runtime = make(5 * kBytes);
  CUstream streams[2] = {};
  for (CUstream& stream : streams)
    ASSERT_EQ(driver_.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  std::vector<CUdeviceptr> chain{allocate(*runtime)};
  const std::vector<unsigned> host(kBytes / 4, 77);
  const CUdeviceptr first = chain[0];
  ASSERT_EQ(runtime->copy_from_host(CU_STREAM_LEGACY, first, host.data(), kBytes, true,
                                    [&] { return write_(first, host.data(), kBytes); }),
            CUDA_SUCCESS);
  for (int i = 1; i < 14; ++i) {
    chain.push_back(allocate(*runtime));
    // The program's own order between its streams.
    CUevent event = nullptr;
    driver_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    driver_.cuEventRecord(event, streams[(i - 1) % 2]);
    driver_.cuStreamWaitEvent(streams[i % 2], event, 0);
    ASSERT_EQ(copy(*runtime, chain[i], chain[i - 1], streams[i % 2]), CUDA_SUCCESS);
  }
  EXPECT_GT(observer_.evictions, 0);
  driver_.cuCtxSynchronize();
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) EXPECT_EQ(first_word(*runtime, *it), 77u);
  EXPECT_GT(observer_.rematerialisations, 0);
}

TEST_F(RuntimeOverDriver, SmallAllocationsShareSlabsAndStay) {
  const auto runtime = make(64 * 1024 + 4 * kBytes);
  std::vector<CUdeviceptr> small;
  for (unsigned i = 0; i < 20; ++i) {
    small.push_back(allocate(*runtime, 100));
    ASSERT_EQ(fill(*runtime, small.back(), i, CU_STREAM_LEGACY, 100), CUDA_SUCCESS);
  }
  for (int i = 0; i < 8; ++i) fill(*runtime, allocate(*runtime), 5);
  for (unsigned i = 0; i < 20; ++i) EXPECT_EQ(first_word(*runtime, small[i]), i);
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  EXPECT_EQ(runtime->address_range(&base, &bytes, small[3] + 50), CUDA_SUCCESS);
  EXPECT_EQ(base, small[3]);
  EXPECT_EQ(bytes, 100u);
}

TEST_F(RuntimeOverDriver, UnknownPointersAreTheDrivers) {
  const auto runtime = make(0);
  const CUdeviceptr ours = allocate(*runtime);
  EXPECT_EQ(runtime->free(0x1234), std::nullopt);
  EXPECT_EQ(runtime->free(ours + 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(runtime->free(ours), CUDA_SUCCESS);
  EXPECT_EQ(runtime->free(ours), std::nullopt);
  EXPECT_FALSE(runtime->touch(ours));
}

TEST_F(RuntimeOverDriver, FailedCallChangesNothing) {
  const auto runtime = make(4 * kBytes);
  const CUdeviceptr a = allocate(*runtime);
  fill(*runtime, a, 3);
  EXPECT_EQ(
      runtime->set_memory(CU_STREAM_LEGACY, a, 9, 4, kBytes / 4, [] { return CUDA_ERROR_LAUNCH_FAILED; }),
      CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(runtime->engine()->check_invariants(), nullptr);
  for (int i = 0; i < 6; ++i) fill(*runtime, allocate(*runtime), 5);
  EXPECT_EQ(first_word(*runtime, a), 3u);
}

TEST_F(RuntimeOverDriver, FailedBlockingCopyOverAnEvictedValueLosesNothing) {
  const auto runtime = make(4 * kBytes);
  const CUdeviceptr a = allocate(*runtime);
  fill(*runtime, a, 3);
  for (int i = 0; i < 6; ++i) fill(*runtime, allocate(*runtime), 5);
  const std::vector<unsigned> host(kBytes / 4, 77);
  EXPECT_EQ(runtime->copy_from_host(CU_STREAM_LEGACY, a, host.data(), kBytes, true,
                                    [] { return CUDA_ERROR_LAUNCH_FAILED; }),
            CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(first_word(*runtime, a), 3u);
}

TEST_F(RuntimeOverDriver, UnfollowedCallOfAnotherContextIsNotCounted) {
  const auto runtime = make(0);
  bool begun = true;
  EXPECT_EQ(runtime->before_unfollowed("cuSomethingElse", begun), CUDA_SUCCESS);
  EXPECT_FALSE(begun) << "nothing is managed yet";
}

TEST_F(RuntimeOverDriver, MemoryInfoReportsTheCapAndWhatIsLeft) {
  const auto runtime = make(8 * kBytes);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  ASSERT_EQ(runtime->memory_info(&free_bytes, &total_bytes), CUDA_SUCCESS);
  EXPECT_EQ(total_bytes, 8 * kBytes);
  EXPECT_EQ(free_bytes, 8 * kBytes);
  fill(*runtime, allocate(*runtime), 1);
  ASSERT_EQ(runtime->memory_info(&free_bytes, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes, 7 * kBytes);
}

TEST_F(RuntimeOverDriver, MemoryOfTheProgramsOwnCounts) {
  const auto runtime = make(4 * kBytes);
  for (unsigned i = 0; i < 4; ++i) fill(*runtime, allocate(*runtime), i);
  EXPECT_EQ(runtime->external(2 * kBytes, [] { return CUDA_SUCCESS; }), CUDA_SUCCESS);
  EXPECT_EQ(observer_.evictions, 2);
  EXPECT_EQ(runtime->external(3 * kBytes, [] { return CUDA_SUCCESS; }), CUDA_ERROR_OUT_OF_MEMORY);
  runtime->external_freed(2 * kBytes);
  EXPECT_EQ(runtime->external(kBytes, [] { return CUDA_ERROR_INVALID_VALUE; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(runtime->counters().unmanaged_peak_bytes, 2 * kBytes);
}

TEST_F(RuntimeOverDriver, BarrierNamesItselfThreeTimesAtMost) {
  const auto runtime = make(0);
  fill(*runtime, allocate(*runtime), 1);
  static constexpr std::string_view kName = "cuSomethingElse";
  for (int i = 0; i < 10; ++i) {
    bool begun = false;
    EXPECT_EQ(runtime->before_unfollowed(kName, begun), CUDA_SUCCESS);
    EXPECT_TRUE(begun);
    runtime->after_unfollowed();
  }
  EXPECT_EQ(notes_.size(), 3u);
  EXPECT_EQ(runtime->counters().barriers, 10u);
  EXPECT_EQ(runtime->engine()->lineage().op_count(), 0u);
}

TEST_F(RuntimeOverDriver, ThreadsMayCallAtOnce) {
  const auto runtime = make(6 * kBytes);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      function<CUresult(CUcontext)>("cuCtxSetCurrent")(context_);
      for (unsigned round = 0; round < 10; ++round) {
        const CUdeviceptr a = allocate(*runtime);
        const CUdeviceptr b = allocate(*runtime);
        EXPECT_EQ(fill(*runtime, a, t * 100 + round), CUDA_SUCCESS);
        EXPECT_EQ(copy(*runtime, b, a), CUDA_SUCCESS);
        EXPECT_EQ(first_word(*runtime, b), t * 100 + round);
        EXPECT_EQ(first_word(*runtime, a), t * 100 + round);
        EXPECT_EQ(runtime->free(a), CUDA_SUCCESS);
        EXPECT_EQ(runtime->free(b), CUDA_SUCCESS);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runtime->engine()->check_invariants(), nullptr);
}

TEST_F(RuntimeOverDriver, StreamHandlesMayComeAgain) {
  Streams streams(driver_);
  CUstream stream = nullptr;
  ASSERT_EQ(driver_.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  const StreamIndex before = streams.index_of(stream);
  const std::uint64_t work = streams.issue(before, false);
  streams.forget(stream);
  // Another stream: with a slot of its own, or with one whose count goes on, so that the old work stays what
  // it was.
  const StreamIndex again = streams.index_of(stream);
  const std::uint64_t later = streams.issue(again, false);
  EXPECT_TRUE(again != before || later > work);
  EXPECT_EQ(streams.wait_on_host(before, work), CUDA_SUCCESS);
  EXPECT_TRUE(streams.done(before, work));
  EXPECT_EQ(streams.wait_on_host(again, later), CUDA_SUCCESS);
}

TEST_F(RuntimeOverDriver, ManyShortLivedStreamsNeedFewSlots) {
  Streams streams(driver_);
  StreamIndex highest = 0;
  for (int i = 0; i < 200; ++i) {
    CUstream stream = nullptr;
    ASSERT_EQ(driver_.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    const StreamIndex index = streams.index_of(stream);
    highest = std::max(highest, index);
    streams.wait_on_host(index, streams.issue(index, false));
    streams.forget(stream);
  }
  EXPECT_LE(highest, 2u);
}

}  // namespace
}  // namespace refrain::cuda
