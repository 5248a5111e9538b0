// Fits the line, and keeps the events between a copy and its time.
#include "cuda/transfer_times.hpp"

#include <algorithm>

namespace refrain::cuda {

std::optional<engine::TransferCost> fit_transfer_cost(const std::vector<TransferSample>& samples) {
  double weight = 0;
  double bytes = 0;
  double ns = 0;
  for (const TransferSample& s : samples) {
    weight += s.weight;
    bytes += s.weight * static_cast<double>(s.bytes);
    ns += s.weight * s.ns;
  }
  if (weight == 0) return std::nullopt;
  bytes /= weight;
  ns /= weight;
  double variance = 0;
  double covariance = 0;
  for (const TransferSample& s : samples) {
    const double off = static_cast<double>(s.bytes) - bytes;
    variance += s.weight * off * off;
    covariance += s.weight * off * (s.ns - ns);
  }
  engine::TransferCost cost;
  if (variance > 0) {
    cost.ns_per_byte = std::max(covariance / variance, 0.0);
    cost.fixed_ns = ns - cost.ns_per_byte * bytes;
    if (cost.fixed_ns < 0) {  // the line through the origin that comes nearest
      cost.fixed_ns = 0;
      cost.ns_per_byte = (covariance + ns * bytes * weight) / (variance + bytes * bytes * weight);
    }
  } else {
    cost.fixed_ns = std::min(cost.fixed_ns, ns);
    cost.ns_per_byte = (ns - cost.fixed_ns) / bytes;
  }
  return cost;
}

std::uint32_t TransferTimes::class_of(std::uint64_t bytes) {
  bool is_new = false;
  const std::uint32_t cost_class = costs_.class_of({.what = 0, .shape = bytes}, is_new);
  if (is_new) samples_.push_back({.bytes = bytes, .ns = 0, .weight = 0});
  return cost_class;
}

CUevent TransferTimes::begin(std::uint64_t bytes, CUstream stream) {
  return costs_.begin(class_of(bytes), stream);
}

void TransferTimes::finish(CUevent begin, std::uint64_t bytes, CUstream stream) {
  costs_.finish(class_of(bytes), begin, stream);
}

std::optional<engine::TransferCost> TransferTimes::collect() {
  if (!costs_.waiting()) return std::nullopt;
  bool changed = false;
  costs_.collect([&](std::uint32_t cost_class, double mean_ns) {
    samples_[cost_class].ns = mean_ns;
    samples_[cost_class].weight += 1;
    changed = true;
  });
  return changed ? fit_transfer_cost(samples_) : std::nullopt;
}

}  // namespace refrain::cuda
