// Where the launching thread and CUPTI's threads meet: samples under way, and the buffers that CUPTI fills.
// Lives as long as the process, because CUPTI's callbacks may come at any time. Must not allocate, and calls
// nobody under its lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

#include "cuda/kernel_records.hpp"

namespace refrain::cuda {

// What a record of a kernel says, as far as it is of use. CUPTI writes zeros where it has no times.
struct KernelTime {
  std::uint32_t correlation;
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
};

class RecordHandover {
 public:
  // CUPTI clears a buffer on the launching thread before it fills it, and gives it back when all of its
  // kernels have run: small ones, of about 150 records. A device is up to about a thousand launches behind;
  // several threads may launch, each into a buffer of its own.
  static constexpr std::size_t kBufferBytes = 32 * 1024;
  static constexpr std::size_t kBuffers = 32;

  // Whether anything is taken. Closed in a forked child, where the lock may be held by a thread that is not
  // there.
  void set_open(bool open) noexcept { open_.store(open, std::memory_order_release); }
  bool is_open() const noexcept { return open_.load(std::memory_order_acquire); }

  // By the launching thread. nullopt: all are under way.
  std::optional<std::uint32_t> take_sample(std::uint32_t cost_class, std::uint64_t op_number);
  // counts: it stands for one launch, and is not another number of the same.
  void add_launch(std::uint32_t sample, std::uint32_t correlation, bool counts);
  // No more launches. false: there were none, or too many, and the sample is free again.
  bool close(std::uint32_t sample);
  void free(std::uint32_t sample);
  void free_all();
  // One that is done, or, without ns, from which nothing will come any more: it is free then. nullopt: none
  // is.
  struct Result {
    std::uint32_t cost_class;
    std::optional<double> ns;
  };
  std::optional<Result> next_result(std::uint64_t oldest_op);

  // By CUPTI's threads
  void record(const KernelTime& time);
  std::uint8_t* take_buffer();
  void give_buffer(const std::uint8_t* buffer);

 private:
  enum class State : std::uint8_t { kFree, kOpen, kWaiting, kDone, kLost };
  struct Sample {
    State state = State::kFree;
    std::uint32_t cost_class = 0;
    std::uint64_t op_number = 0;
    // A launch may be known by two numbers: the runtime's call's, and that of the driver's call inside it.
    std::array<std::uint32_t, 2 * KernelRecords::kLaunches> correlations{};
    std::uint32_t correlation_count = 0;
    std::uint32_t launches = 0;
    std::uint32_t recorded = 0;
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
  };
  struct alignas(8) Buffer {  // as CUPTI wants its records
    std::array<std::uint8_t, kBufferBytes> bytes;
  };
  static void settle(Sample& sample);  // under the lock

  std::atomic<bool> open_{false};
  std::mutex mutex_;
  std::array<Sample, KernelRecords::kSamples> samples_;
  std::array<bool, kBuffers> taken_{};
  std::array<Buffer, kBuffers> buffers_;
};

}  // namespace refrain::cuda
