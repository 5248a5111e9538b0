// Buckets that grow by a sixteenth of a power of two. Must not allocate.
#include "simulate/decision_times.hpp"

#include <algorithm>
#include <cmath>

namespace refrain::simulate {

void DecisionTimes::add(double ns) {
  const double place = std::log2(std::max(ns, 1.0)) * kSteps;
  ++counts_[std::min(static_cast<std::size_t>(place), counts_.size() - 1)];
  ++count_;
}

double DecisionTimes::quantile_ns(double share) const {
  const double wanted = share * static_cast<double>(count_);
  std::uint64_t passed = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    passed += counts_[i];
    if (passed > 0 && static_cast<double>(passed) >= wanted)
      return std::exp2(static_cast<double>(i + 1) / kSteps);
  }
  return 0;
}

}  // namespace refrain::simulate
