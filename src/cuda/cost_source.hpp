// Where the costs of ops come from: kernels' durations from CUPTI's records where they can be had, from pairs
// of events elsewhere, as do those of copies and fills. Either way the statistic is the same. It changes its
// mind once at most, from records to events. Must not wait for the device.
//
// Thread safety: the caller's lock, but for the constructor.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "cuda/costs.hpp"
#include "cuda/kernel_records.hpp"
#include "options/options.hpp"

namespace refrain::cuda {

class CostSource {
 public:
  // Opens CUPTI, where it is to be used, so the caller holds no lock.
  CostSource(const Driver& driver, const options::Options& options);

  // A context is current, and costs are of use. Nothing of CUPTI runs before this.
  void start();

  std::uint32_t class_of(const CostKey& key, bool& is_new) { return costs_.class_of(key, is_new); }

  // Around an op, on its stream, by the thread that makes the calls. kernel: it is launches, nothing else.
  // What begin returns goes to finish or to cancel.
  struct Timing {
    CUevent event = nullptr;
    std::optional<KernelRecords::Sample> sample = std::nullopt;
  };
  Timing begin(std::uint32_t cost_class, CUstream stream, bool kernel);
  void finish(const Timing& timing, std::uint32_t cost_class, CUstream stream);
  void cancel(const Timing& timing, std::uint32_t cost_class);

  // Calls set(class, ns) for every class whose mean has changed since the last call.
  using Set = FunctionRef<void(std::uint32_t cost_class, double ns)>;
  void collect(Set set) {
    collect_records(set);
    costs_.collect(set);
  }
  bool waiting() const noexcept { return costs_.waiting() || records_.waiting() > 0; }
  // Samples are about to be missed because nobody collects.
  bool crowded() const noexcept { return records_.waiting() > KernelRecords::kSamples / 2; }
  // The contexts of all that is under way are gone.
  void forget_events();
  // Somebody else wants CUPTI: it is given up, for good.
  void leave(const char* reason);

  // For people: "CUPTI", "events (CUPTI: not found)".
  const std::string& description() const noexcept { return description_; }
  bool uses_records() const noexcept { return records_.running(); }

 private:
  // An op that is that many ops back has run: a stream holds about a thousand.
  static constexpr std::uint64_t kPatienceOps = 4096;
  // A flush goes through all of CUPTI's buffers: not at each op.
  static constexpr std::uint64_t kFlushOps = 64;
  // So many in a row that bring nothing: records do not come, or not for what this program does.
  static constexpr int kMostLost = 16;
  // A step of a large model has thousands of ops. While CUPTI records, each costs something: where less than
  // one in a thousand is measured, events do it as well.
  static constexpr std::uint64_t kWindowOps = 16384;
  static constexpr std::uint64_t kFewSamples = 16;

  void collect_records(Set set);
  void drop_records();
  void count_op();
  void count_lost(std::uint32_t cost_class);

  bool opened_ = false;
  bool started_ = false;
  bool measured_ = false;  // by records
  std::string refusal_;    // why CUPTI cannot be had; empty where it is not asked for
  std::string description_ = "events";
  Costs costs_;
  KernelRecords records_;
  std::uint64_t ops_ = 0;
  std::uint64_t window_samples_ = 0;
  std::uint64_t last_flush_op_ = 0;
  int lost_in_a_row_ = 0;
};

}  // namespace refrain::cuda
