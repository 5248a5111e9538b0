// Sums, products and quotients. Every rule holds for each block of the box, or the box is to be divided.
#include <algorithm>
#include <limits>

#include "access/lane_numbers.hpp"
#include "access/lanes.hpp"

namespace refrain::access {

bool Lanes::additive(const Step& step, const Mask& mask, View a, View b) {
  const bool adds = step.kind == StepKind::kAdd;
  Slopes slope{};
  for (unsigned d = 0; d < 3; ++d) {
    slope[d] = adds ? sum(a.slope[d], b.slope[d]) : difference(a.slope[d], b.slope[d]);
  }
  std::int32_t base = adds && a.base == kNoBase ? b.base : a.base;
  bool lost = a.base != kNoBase && b.base != kNoBase;
  if (!adds && b.base != kNoBase) lost = a.base != b.base;
  if (!adds && a.base == b.base && a.base != kNoBase) base = kNoBase;
  if (base >= 0 && step.bits < 64) lost = true;
  if (lost) base = kNoBase;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    out_[i] = adds ? sum(a.lane[i], b.lane[i]) : difference(a.lane[i], b.lane[i]);
    if (lost) out_level_[i] = kLost;
  }
  return finish(step, mask, base, slope);
}

bool Lanes::product(const Step& step, const Mask& mask, View a, View b) {
  if (!b.flat()) std::swap(a, b);
  if (!b.flat()) return needs_split(a.slope);
  Slopes slope{};
  if (!a.flat()) {
    std::int64_t factor = 0;
    if (!uniform(b, factor)) return needs_split(a.slope);
    for (unsigned d = 0; d < 3; ++d) slope[d] = times(a.slope[d], factor);
  }
  for (std::uint32_t i = 0; i < threads_; ++i) out_[i] = times(a.lane[i], b.lane[i]);
  return finish(step, mask, kNoBase, slope);
}

bool Lanes::product_high(const Step& step, const Mask& mask, View a, View b) {
  if (!settle(a, step.bits, step.is_signed, left_) || !settle(b, step.bits, step.is_signed, right_))
    return false;
  if (!b.flat()) std::swap(a, b);
  if (!b.flat()) return needs_split(a.slope);
  const Spread extent = spread(a.slope);
  const bool unsigned64 = step.bits == 64 && !step.is_signed;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (unsigned64 && a.flat()) {
      out_[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(
          (static_cast<WideUnsigned>(bits_of(a.lane[i])) * bits_of(b.lane[i])) >> 64));
      continue;
    }
    const Wide low = ((a.lane[i] + extent.low) * b.lane[i]) >> step.bits;
    const Wide high = ((a.lane[i] + extent.high) * b.lane[i]) >> step.bits;
    if (known_[i] != 0 && (low != high || (unsigned64 && b.lane[i] < 0))) return needs_split(a.slope);
    out_[i] = static_cast<std::int64_t>(low);
  }
  return finish(step, mask, kNoBase, Slopes{});
}

bool Lanes::floor_quotient(const View& a, std::int64_t divisor, std::int64_t* out, Slopes& slope) {
  slope = {};
  const bool even =
      std::all_of(a.slope.begin(), a.slope.end(), [&](std::int64_t s) { return s % divisor == 0; });
  if (even) {
    for (unsigned d = 0; d < 3; ++d) slope[d] = a.slope[d] / divisor;
    for (std::uint32_t i = 0; i < threads_; ++i)
      out[i] = static_cast<std::int64_t>(floor_div(a.lane[i], divisor));
    return true;
  }
  const Spread extent = spread(a.slope);
  bool differs = false;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    const Wide low = floor_div(a.lane[i] + extent.low, divisor);
    differs |= known_[i] != 0 && low != floor_div(a.lane[i] + extent.high, divisor);
    missing_[i] = static_cast<std::int64_t>((low + 1) * divisor - (a.lane[i] + extent.low));
    out[i] = static_cast<std::int64_t>(low);
  }
  return !differs || needs_split_before(a.slope, missing_);
}

bool Lanes::division(const Step& step, const Mask& mask, View a, View b) {
  if (!settle(a, step.bits, step.is_signed, left_) || !settle(b, step.bits, step.is_signed, right_))
    return false;
  if (!b.flat()) return needs_split(b.slope);
  const bool remainder = step.kind == StepKind::kRem;
  if (a.flat()) {
    for (std::uint32_t i = 0; i < threads_; ++i) {
      const bool bad =
          b.lane[i] == 0 || (b.lane[i] == -1 && a.lane[i] == std::numeric_limits<std::int64_t>::min());
      if (bad) {
        out_level_[i] = std::max<Level>(out_level_[i], kOffsetUnknown);
        out_[i] = 0;
      } else if (step.bits == 64 && !step.is_signed) {
        out_[i] = static_cast<std::int64_t>(remainder ? bits_of(a.lane[i]) % bits_of(b.lane[i])
                                                      : bits_of(a.lane[i]) / bits_of(b.lane[i]));
      } else {
        out_[i] = remainder ? a.lane[i] % b.lane[i] : a.lane[i] / b.lane[i];
      }
    }
    return finish(step, mask, kNoBase, Slopes{});
  }
  std::int64_t divisor = 0;
  const Spread extent = spread(a.slope);
  bool negative = false;
  for (std::uint32_t i = 0; i < threads_; ++i) negative |= known_[i] != 0 && a.lane[i] + extent.low < 0;
  if (negative || !uniform(b, divisor) || divisor <= 0) return needs_split(a.slope);
  Slopes slope{};
  if (!floor_quotient(a, divisor, out_.data(), slope)) return false;
  if (remainder) {
    for (std::uint32_t i = 0; i < threads_; ++i) out_[i] = difference(a.lane[i], times(out_[i], divisor));
    for (unsigned d = 0; d < 3; ++d) slope[d] = difference(a.slope[d], times(slope[d], divisor));
  }
  return finish(step, mask, kNoBase, slope);
}

}  // namespace refrain::access
