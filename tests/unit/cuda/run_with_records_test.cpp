// Durations from CUPTI's records in runs: they reach the engine, and change no byte.
#include <array>
#include <thread>

#include "cupti_fixture.hpp"

namespace refrain::cuda {
namespace {

// A run of a library's calls: fills, which seem to launch kernels, the program's short ones and a replay's
// long ones.
class RunWithRecords : public Source {
 protected:
  static constexpr std::size_t kBytes = 16 * 1024;
  struct Fill {
    CUdeviceptr to;
    unsigned value;
  };

  void SetUp() override {
    Source::SetUp();
    set_words = function<CUresult(CUdeviceptr, unsigned, std::size_t, CUstream)>("cuMemsetD32Async");
    read_ = function<CUresult(void*, CUdeviceptr, std::size_t)>("cuMemcpyDtoH_v2");
    launch_in_replay = launch_;
    options::Options options = from(options::CostsFrom::kCupti);
    options.limit.value.any.bytes = 4 * kBytes;
    runtime_ = std::make_unique<Runtime>(driver_, observer_, options,
                                         [this](const std::string& text) { notes_.push_back(text); });
    for (CUdeviceptr& buffer : buffers_) ASSERT_EQ(runtime_->allocate(&buffer, kBytes), CUDA_SUCCESS);
  }
  static CUresult fill(const Fill& fill) {
    return set_words(fill.to, fill.value, kBytes / 4, CU_STREAM_LEGACY);
  }
  static CUresult replay(std::byte* record, CUstream) {
    launch_in_replay(1'000'000);
    return fill(*reinterpret_cast<Fill*>(record));
  }
  void run(unsigned buffer, unsigned value, std::uint64_t ns) {
    const Fill record{buffers_[buffer], value};
    const LibraryUse use{.record_offset_bytes = 0,
                         .address = record.to,
                         .begin = 0,
                         .end = kBytes,
                         .read = false,
                         .written = true,
                         .whole = true,
                         .undefined = false};
    const LibraryOp op{
        .name = "fill", .replay = &replay, .reason = "", .record = std::as_bytes(std::span(&record, 1))};
    const auto call = [&] {
      launch_(ns);
      return fill(record);
    };
    ASSERT_EQ(runtime_->library_call(CU_STREAM_LEGACY, {&use, 1}, op, call), CUDA_SUCCESS);
  }
  unsigned word(unsigned buffer) {
    unsigned value = 0xdead;
    const CUdeviceptr from = buffers_[buffer];
    EXPECT_EQ(runtime_->copy_to_host(CU_STREAM_LEGACY, from, 4, true, [&] { return read_(&value, from, 4); }),
              CUDA_SUCCESS);
    return value;
  }
  void run_all(unsigned rounds) {
    for (unsigned i = 0; i < rounds * buffers_.size(); ++i) {
      const auto buffer = static_cast<unsigned>(i % buffers_.size());
      run(buffer, i, i == 0 ? 5000 : 7000);
      if (i >= buffers_.size()) word((buffer + 1) % buffers_.size());
    }
  }
  void expect_the_bytes_of(unsigned rounds) {
    for (unsigned buffer = 0; buffer < buffers_.size(); ++buffer)
      EXPECT_EQ(word(buffer), (rounds - 1) * buffers_.size() + buffer);
  }

  static inline CUresult (*set_words)(CUdeviceptr, unsigned, std::size_t, CUstream) = nullptr;
  static inline void (*launch_in_replay)(std::uint64_t) = nullptr;
  CUresult (*read_)(void*, CUdeviceptr, std::size_t) = nullptr;
  std::array<CUdeviceptr, 10> buffers_{};
  std::vector<std::string> notes_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(RunWithRecords, TheirDurationsReachTheEngine) {
  run_all(20);
  EXPECT_EQ(runtime_->cost_source(), "CUPTI");
  EXPECT_GT(observer_.evictions, 0);
  EXPECT_GT(observer_.rematerialisations, 0) << "replays are to be seen and not taken";
  EXPECT_EQ(observer_.costs_ns.at(0), 6000) << "two launches: of 5000 and of 7000 ns";
  expect_the_bytes_of(20);
  EXPECT_TRUE(notes_.empty()) << notes_[0];
}

TEST_F(RunWithRecords, RunsTheSameWithoutThem) {
  fake_->drop = true;
  run_all(20);
  expect_the_bytes_of(20);
  fake_->refused = "cuptiActivityFlushAll";
  run_all(20);
  expect_the_bytes_of(20);
}

TEST_F(RunWithRecords, LeaveCuptiToTheProgramThatAsksForIt) {
  run_all(1);
  ASSERT_TRUE(fake_->subscribed);
  runtime_->leave_cupti();
  expect_left_alone();
  EXPECT_EQ(runtime_->cost_source(), "events (CUPTI: the program uses it)");
  run_all(2);
  expect_the_bytes_of(2);
}

TEST_F(RunWithRecords, LeavingDoesNotWaitForWhoeverHoldsTheLock) {
  const std::lock_guard lock(runtime_->mutex());
  std::thread([this] { runtime_->leave_cupti(); }).join();
  EXPECT_TRUE(fake_->subscribed);
}

TEST_F(RunWithRecords, GoesOnAfterItsContextHasGone) {
  run_all(1);
  runtime_->context_gone(context_);
  for (CUdeviceptr& buffer : buffers_) ASSERT_EQ(runtime_->allocate(&buffer, kBytes), CUDA_SUCCESS);
  run_all(20);
  expect_the_bytes_of(20);
}

TEST_F(RunWithRecords, SaysSoWhereItWasAskedForAndCannotBeHad) {
  runtime_.reset();
  fake_->refused = "cuptiSubscribe";
  options::Options options = from(options::CostsFrom::kCupti);
  Runtime runtime(driver_, observer_, options, [this](const std::string& text) { notes_.push_back(text); });
  CUdeviceptr buffer = 0;
  ASSERT_EQ(runtime.allocate(&buffer, kBytes), CUDA_SUCCESS);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_EQ(notes_[0], "durations of kernels: events (CUPTI: cuptiSubscribe: NOT_INITIALIZED)");
}

}  // namespace
}  // namespace refrain::cuda
