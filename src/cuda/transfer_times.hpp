// What a copy to the host costs, as measured: a line through the times of the first copies of each size. The
// way back is taken to cost the same. Must not wait for anything.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "cuda/costs.hpp"
#include "engine/policy.hpp"

namespace refrain::cuda {

// Times and sizes of copies, each with how many it stands for.
struct TransferSample {
  std::uint64_t bytes = 0;
  double ns = 0;
  double weight = 0;
};

// Least squares, neither part negative. Where all samples are of one size, the fixed part stays what it was
// taken for, as far as the copies took that long. nullopt: no samples.
std::optional<engine::TransferCost> fit_transfer_cost(const std::vector<TransferSample>& samples);

// Thread safety: the caller's lock.
class TransferTimes {
 public:
  explicit TransferTimes(const Driver& driver) : costs_(driver) {}

  // Around a copy, on its stream. begin returns an event where this one is to be timed, else nullptr.
  CUevent begin(std::uint64_t bytes, CUstream stream);
  void finish(CUevent begin, std::uint64_t bytes, CUstream stream);
  void cancel(CUevent begin) { costs_.cancel(begin); }

  // nullopt: nothing new since the last call.
  std::optional<engine::TransferCost> collect();
  void forget_events() { costs_.forget_events(); }

 private:
  std::uint32_t class_of(std::uint64_t bytes);

  Costs costs_;
  std::vector<TransferSample> samples_;  // by cost class
};

}  // namespace refrain::cuda
