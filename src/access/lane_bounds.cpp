// The rules for numbers that are known only to lie between two others, as loaded ones may be. What has no
// rule here is unknown. It must never narrow what a value can be.
#include <algorithm>

#include "access/lane_numbers.hpp"
#include "access/lanes.hpp"

namespace refrain::access {
namespace {

struct Limits {
  Wide least, most;
};

Limits limits_of(unsigned bits, bool is_signed) {
  const Wide half = Wide{1} << (std::min(bits, 64u) - 1);
  if (is_signed) return {-half, half - 1};
  return {0, bits >= 64 ? half - 1 : 2 * half - 1};
}

// A value from `low` to `high`.
struct Reach {
  Wide low, high;
};

// nullopt-like: low above high means that nothing is known.
constexpr Reach kNothing{1, 0};

Reach quotient(const Reach& a, const Reach& b, bool remainder) {
  if (b.low != b.high || b.low <= 0) return kNothing;
  const Wide divisor = b.low;
  if (!remainder) return {a.low / divisor, a.high / divisor};
  const bool same_turn = a.low / divisor == a.high / divisor && (a.low >= 0) == (a.high >= 0);
  if (same_turn) return {a.low % divisor, a.high % divisor};
  return {a.low >= 0 ? Wide{0} : 1 - divisor, a.high <= 0 ? Wide{0} : divisor - 1};
}

Reach flat_rule(StepKind kind, unsigned bits, const Reach& a, const Reach& b) {
  switch (kind) {
    case StepKind::kMin: return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case StepKind::kMax: return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case StepKind::kDiv: return quotient(a, b, false);
    case StepKind::kRem: return quotient(a, b, true);
    case StepKind::kShr: {
      if (b.low != b.high) return kNothing;
      const auto by = static_cast<unsigned>(std::min<Wide>(b.low, bits));
      return {a.low >> by, a.high >> by};
    }
    case StepKind::kAnd:
      if (a.low < 0 || b.low < 0) return kNothing;
      if (a.low == a.high && b.low == b.high) return {a.low & b.low, a.low & b.low};
      return {0, std::min(a.high, b.high)};
    default: return kNothing;
  }
}

}  // namespace

void Lanes::set_width(std::uint32_t thread, Wide width) {
  out_width_[thread] = 0;
  if (out_level_[thread] != kBounded) return;
  if (width > kMostWidth) {
    out_level_[thread] = kOffsetUnknown;
    known_[thread] = 0;
  } else {
    out_width_[thread] = static_cast<std::int64_t>(width);
  }
}

bool Lanes::bounded(const Step& step, const Mask& mask, const View& a, const View& b, bool& done) {
  for (std::uint32_t i = 0; i < threads_; ++i) known_[i] = mask[i] != 0 && out_level_[i] < kOffsetUnknown;
  out_is_bounded_ = true;
  if (step.kind == StepKind::kAdd || step.kind == StepKind::kSub) return bounded_sum(step, mask, a, b);
  done = false;
  if (a.base != kNoBase || b.base != kNoBase || step.bits == 1) return true;
  done = true;
  switch (step.kind) {
    case StepKind::kMul: return bounded_product(step, mask, a, b, done);
    case StepKind::kShl: return bounded_shift_left(step, mask, a, b, done);
    case StepKind::kExtend: return bounded_extend(step, mask, a);
    case StepKind::kTruncate:
      for (std::uint32_t i = 0; i < threads_; ++i) {
        out_[i] = a.lane[i];
        set_width(i, a.width_of(i));
      }
      return finish(step, mask, kNoBase, a.slope);
    case StepKind::kCompare: return bounded_compare(step, mask, a, b);
    case StepKind::kMin:
    case StepKind::kMax:
    case StepKind::kDiv:
    case StepKind::kRem:
    case StepKind::kShr:
    case StepKind::kAnd: return bounded_flat(step, mask, a, b, done);
    default: done = false; return true;
  }
}

bool Lanes::bounded_sum(const Step& step, const Mask& mask, const View& a, View b) {
  const bool adds = step.kind == StepKind::kAdd;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    right_[i] = adds ? b.lane[i] : sum(b.lane[i], b.width_of(i));
    set_width(i, Wide{a.width_of(i)} + b.width_of(i));
  }
  b.lane = right_.data();
  return additive(step, mask, a, b);
}

bool Lanes::bounded_product(const Step& step, const Mask& mask, View a, View b, bool& done) {
  if (a.width == nullptr) std::swap(a, b);
  for (std::uint32_t i = 0; i < threads_; ++i) done = done && (known_[i] == 0 || b.level[i] != kBounded);
  done = done && b.flat();
  if (!done) return true;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    const std::int64_t factor = wrapped(bits_of(b.lane[i]), step.bits), width = a.width_of(i);
    left_[i] = factor >= 0 ? a.lane[i] : sum(a.lane[i], width);
    right_[i] = factor;
    set_width(i, Wide{width} * (factor >= 0 ? Wide{factor} : -Wide{factor}));
  }
  a.lane = left_.data();
  b.lane = right_.data();
  return product(step, mask, a, b);
}

bool Lanes::bounded_shift_left(const Step& step, const Mask& mask, const View& a, const View& b, bool& done) {
  for (std::uint32_t i = 0; i < threads_; ++i) done = done && (known_[i] == 0 || b.level[i] != kBounded);
  done = done && b.flat();
  if (!done) return true;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    const std::uint64_t amount = bits_of(b.lane[i]) & 0xffffffffu;
    set_width(i, amount >= step.bits ? Wide{0} : Wide{a.width_of(i)} << amount);
  }
  return shift_left(step, mask, a, b);
}

// As settle; what might leave the range of the type on its way from low to high is unknown.
bool Lanes::settle_bounded(View& view, unsigned bits, bool is_signed, std::vector<std::int64_t>& into) {
  const Spread extent = spread(view.slope);
  const auto [least, most] = limits_of(bits, is_signed);
  const auto drop_what_leaves = [&] {
    for (std::uint32_t i = 0; i < threads_; ++i) {
      if (known_[i] == 0 || view.level[i] != kBounded) continue;
      const Wide low = view.lane[i] + extent.low, high = view.lane[i] + extent.high + view.width[i];
      if (low >= least && high <= most) continue;
      out_level_[i] = kOffsetUnknown;
      known_[i] = 0;
    }
  };
  if (!view.flat()) drop_what_leaves();
  if (!settle(view, bits, is_signed, into)) return false;
  drop_what_leaves();
  return true;
}

bool Lanes::bounded_extend(const Step& step, const Mask& mask, View a) {
  if (!settle_bounded(a, step.bits, step.is_signed, left_)) return false;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    out_[i] = a.lane[i];
    set_width(i, a.width_of(i));
  }
  return assign(step.out, mask, kNoBase, a.slope, out_.data(), out_level_.data(), out_width_.data());
}

bool Lanes::bounded_compare(const Step& step, const Mask& mask, View a, View b) {
  const auto relation = static_cast<Relation>(step.value);
  const bool equality = relation == Relation::kEq || relation == Relation::kNe;
  const bool is_signed = step.is_signed || equality;
  if (!settle_bounded(a, step.bits, is_signed, left_) || !settle_bounded(b, step.bits, is_signed, right_))
    return false;
  Slopes slope{};
  for (unsigned d = 0; d < 3; ++d) slope[d] = difference(a.slope[d], b.slope[d]);
  const Spread extent = spread(slope);
  for (std::uint32_t i = 0; i < threads_; ++i) {
    out_[i] = 0;
    if (known_[i] == 0) continue;
    const bool exact = a.level[i] == kKnown && b.level[i] == kKnown;
    const bool huge = !is_signed && step.bits == 64 && (a.lane[i] < 0 || b.lane[i] < 0);
    const Answer answer = answer_of(relation, Wide{a.lane[i]} - b.lane[i] - b.width_of(i) + extent.low,
                                    Wide{a.lane[i]} - b.lane[i] + a.width_of(i) + extent.high);
    if (exact && !huge && !answer.yes && !answer.no) return needs_split(slope);
    out_[i] = answer.yes;
    out_level_[i] = !huge && (answer.yes || answer.no) ? kKnown : kOffsetUnknown;
  }
  out_is_bounded_ = false;
  return finish(step, mask, kNoBase, Slopes{});
}

bool Lanes::bounded_flat(const Step& step, const Mask& mask, View a, View b, bool& done) {
  done = a.flat() && b.flat();
  if (!done) return true;
  const bool shifts = step.kind == StepKind::kShr;
  const bool is_signed = step.is_signed && step.kind != StepKind::kAnd;
  if (!settle_bounded(a, step.bits, is_signed, left_)) return false;
  if (!settle_bounded(b, shifts ? 32 : step.bits, is_signed && !shifts, right_)) return false;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    out_[i] = out_width_[i] = 0;
    if (known_[i] == 0) continue;
    const bool huge = !is_signed && step.bits == 64 && (a.lane[i] < 0 || b.lane[i] < 0);
    const Reach reach = flat_rule(step.kind, step.bits, {a.lane[i], Wide{a.lane[i]} + a.width_of(i)},
                                  {b.lane[i], Wide{b.lane[i]} + b.width_of(i)});
    if (huge || reach.low > reach.high) {
      out_level_[i] = kOffsetUnknown;
      continue;
    }
    out_[i] = static_cast<std::int64_t>(reach.low);
    out_level_[i] = reach.low == reach.high ? kKnown : kBounded;
    set_width(i, reach.high - reach.low);
  }
  return finish(step, mask, kNoBase, Slopes{});
}

}  // namespace refrain::access
