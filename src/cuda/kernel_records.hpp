// How long kernels ran, from the records of CUPTI, which is opened at run time: never linked, never required.
// The launches of a sample are known by the correlation ids that CUPTI gives them while this thread makes
// them. A record that does not come is a sample that is missing. Must not wait for the device.
//
// Locks: the caller's, of the runtime, around all but `open`; CUPTI's threads hand over under a lock of the
// records' own, under which nothing is called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "cuda/function_ref.hpp"

namespace refrain::cuda {

class KernelRecords {
 public:
  // Samples that may be under way. A step launches each class once or twice: two are enough for any number.
  static constexpr std::size_t kSamples = 64;
  // Launches of one op: those of a library's call. An op with more is not measured.
  static constexpr std::size_t kLaunches = 16;

  KernelRecords() = default;
  ~KernelRecords() { stop(); }
  KernelRecords(const KernelRecords&) = delete;
  KernelRecords& operator=(const KernelRecords&) = delete;

  // Finds and opens the library, unless somebody else uses it. Returns why not, or nothing. Takes the
  // loader's lock, so the caller holds none.
  std::string open(int driver_version);
  // Subscribes, and has launches recorded. Returns why not, or nothing: then nothing of it is left.
  std::string start();
  bool running() const noexcept { return running_; }

  // Around the launches of one op by this thread, where it is to be measured; op_number grows from op to op.
  // nullopt: not now.
  using Sample = std::uint32_t;
  std::optional<Sample> begin(std::uint32_t cost_class, std::uint64_t op_number);
  // false: CUPTI saw no launch, or too many: nothing will come of it.
  bool finish(Sample sample);
  void cancel(Sample sample);

  // Has CUPTI hand over what is complete. false: it refuses.
  bool flush();
  // Takes the samples that are done, and those from which nothing will come any more, without ns: for one,
  // all of ops before oldest_op.
  using Take = FunctionRef<void(std::uint32_t cost_class, std::optional<double> ns)>;
  void collect(std::uint64_t oldest_op, Take take);
  std::size_t waiting() const noexcept { return waiting_; }

  // Gives everything back: the subscription, CUPTI's buffers, its settings. What is under way is dropped.
  void stop();

 private:
  std::string subscribe();

  bool running_ = false;
  std::size_t waiting_ = 0;
};

}  // namespace refrain::cuda
