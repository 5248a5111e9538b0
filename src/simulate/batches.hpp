// The largest batch that fits: a search over a function that runs the record scaled by a factor. Must not
// know what scales or runs it. No clock, no I/O.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "simulate/outcome.hpp"

namespace refrain::simulate {

struct BatchPoint {
  double factor = 0;  // of the recorded batch
  Outcome outcome = Outcome::kOk;
  double overhead = 0;  // only where the outcome is kOk
};

struct Batches {
  std::uint64_t memory_bytes = 0;
  double growing_part = 0;  // of the recorded peak
  double plain = 0;         // the largest factor that fits without recomputation; 0: none that was tried
  std::optional<BatchPoint> largest;
  std::optional<BatchPoint> largest_within;  // with at most so much overhead
  std::vector<BatchPoint> curve;             // all that were tried, smallest first
};

// Factors between these are tried: doubled or halved from 1 on, then the gap halved down to this part.
inline constexpr double kLeastBatch = 1.0 / 16, kMostBatch = 64, kBatchStep = 0.01;

// peak_bytes of a factor: what it takes where nothing limits it. memory_bytes, growing_part: of the result.
Batches find_batches(std::uint64_t memory_bytes, double max_overhead,
                     const std::function<std::uint64_t(double factor)>& peak_bytes,
                     const std::function<Result(double factor)>& run);

}  // namespace refrain::simulate
