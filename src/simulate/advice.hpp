// Which caps work and what they cost: the curve of overhead against cap, and the points on it that matter.
// A search over a function that runs one cap; must not know what runs it. No clock, no I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "simulate/outcome.hpp"

namespace refrain::simulate {

struct CurvePoint {
  std::uint64_t cap_bytes = 0;
  Outcome outcome = Outcome::kOk;
  double overhead = 0;  // compute beyond the base, as a part of it; only where the outcome is kOk
};

struct Advice {
  std::uint64_t peak_bytes = 0;
  double max_overhead = 0;
  std::vector<CurvePoint> curve;  // the twentieths that were tried and what is named below, highest cap first
  // Of the points that work: the one farthest below the straight line between the highest and the lowest,
  // with both axes scaled to 1 (Satopaa et al., "Finding a Kneedle in a Haystack", 2011). None where fewer
  // than three work or the curve is nowhere below that line.
  std::optional<CurvePoint> knee;
  std::optional<CurvePoint> lowest;         // that works
  std::uint64_t none_works_from_bytes = 0;  // up to lowest, of the caps tried there
  std::optional<CurvePoint> lowest_within;  // that works with at most max_overhead
};

// Tries the peak and twentieths of it downward until one fails, and halves the gap in which the lowest lies
// down to this part of the peak. What works is not a matter of the cap alone: a policy may thrash at one cap
// and get through at a lower one. So caps of 1 % less each are tried below it, until kMoreTries of them in a
// row fail. lowest_within in the same way.
inline constexpr double kAdviceStep = 1.0 / 500;
inline constexpr int kMoreTries = 10;

// peak_bytes: above 0; max_overhead: 0.1 is 10 %. Runs no cap twice.
Advice advise(std::uint64_t peak_bytes, double max_overhead,
              const std::function<Result(std::uint64_t cap_bytes)>& run);

}  // namespace refrain::simulate
