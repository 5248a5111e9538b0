// Classes, and timing of ops by events. Must not wait for anything.
#include "cuda/costs.hpp"

namespace refrain::cuda {
namespace {

// Two launches are enough for a mean that the policies can use: h_DTR compares orders of magnitude.
constexpr std::uint32_t kTimedLaunches = 2;

}  // namespace

std::uint32_t Costs::class_of(const CostKey& key, bool& is_new) {
  const auto [it, inserted] = numbers_.emplace(key, static_cast<std::uint32_t>(classes_.size()));
  if (inserted) classes_.emplace_back();
  is_new = inserted;
  return it->second;
}

// 5 us of launch and 1 TB/s: of the order of a data-centre GPU, and only used until the first times are in.
double Costs::guess_ns(std::uint64_t bytes) noexcept {
  return 5000.0 + static_cast<double>(bytes) / 1000.0;
}

bool Costs::wants(std::uint32_t cost_class) const noexcept {
  return classes_[cost_class].started < kTimedLaunches;
}

CUevent Costs::begin(std::uint32_t cost_class, CUstream stream) {
  if (!wants(cost_class)) return nullptr;
  const CUevent event = take_event();
  if (!event) return nullptr;
  if (driver_.cuEventRecord(event, stream) != CUDA_SUCCESS) {
    spare_.push_back(event);
    return nullptr;
  }
  started(cost_class);
  return event;
}

void Costs::finish(std::uint32_t cost_class, CUevent begin, CUstream stream) {
  const CUevent end = take_event();
  if (end && driver_.cuEventRecord(end, stream) == CUDA_SUCCESS) {
    pending_.push_back({cost_class, begin, end});
    return;
  }
  spare_.push_back(begin);
  if (end) spare_.push_back(end);
}

CUevent Costs::take_event() {
  CUevent event = nullptr;
  if (!spare_.empty()) {
    event = spare_.back();
    spare_.pop_back();
  } else if (driver_.cuEventCreate(&event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
    return nullptr;
  }
  return event;
}

}  // namespace refrain::cuda
