// What the steps of a slice compute: which rule is whose, and what all rules share. It must never give a
// value where it cannot be sure for all blocks.
#include <algorithm>

#include "access/lane_numbers.hpp"
#include "access/lanes.hpp"

namespace refrain::access {

void Lanes::join_levels(const View& a, const View& b) {
  for (std::uint32_t i = 0; i < threads_; ++i) out_level_[i] = std::max(a.level[i], b.level[i]);
}

// The value is in out_, its levels in out_level_.
bool Lanes::finish(const Step& step, const Mask& mask, std::int32_t base, const Slopes& slope) {
  if (slope == Slopes{} && step.bits == 32) {
    for (std::uint32_t i = 0; i < threads_; ++i) out_[i] = static_cast<std::int32_t>(out_[i]);
  } else if (slope == Slopes{} && step.bits < 64) {
    for (std::uint32_t i = 0; i < threads_; ++i) out_[i] = wrapped(bits_of(out_[i]), step.bits);
  }
  return assign(step.out, mask, base, slope, out_.data(), out_level_.data(),
                out_is_bounded_ ? out_width_.data() : nullptr);
}

// The same number for all threads that are known.
bool Lanes::uniform(const View& view, std::int64_t& value) const {
  bool found = false;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (known_[i] == 0) continue;
    if (found && view.lane[i] != value) return false;
    value = view.lane[i];
    found = true;
  }
  if (!found) value = 0;
  return true;
}

// Makes the view the number that the register's bits stand for. A value that moves from block to block must
// not leave the range of the type on its way.
bool Lanes::settle(View& view, unsigned bits, bool is_signed, std::vector<std::int64_t>& into) {
  if (view.flat()) {
    if (is_signed || bits >= 64) {
      for (std::uint32_t i = 0; i < threads_; ++i) into[i] = wrapped(bits_of(view.lane[i]), bits);
    } else {
      const std::uint64_t ones = (std::uint64_t{1} << bits) - 1;
      for (std::uint32_t i = 0; i < threads_; ++i)
        into[i] = static_cast<std::int64_t>(bits_of(view.lane[i]) & ones);
    }
    view.lane = into.data();
    return true;
  }
  const Spread extent = spread(view.slope);
  Wide low = 0, high = 0;
  bool any = false;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (known_[i] == 0) continue;
    const Wide least = view.lane[i] + extent.low, most = view.lane[i] + extent.high;
    low = any ? std::min(low, least) : least;
    high = any ? std::max(high, most) : most;
    any = true;
  }
  const Wide least = is_signed ? -(Wide{1} << (bits - 1)) : Wide{0};
  const Wide most = is_signed || bits >= 64 ? (Wide{1} << (bits - 1)) - 1 : (Wide{1} << bits) - 1;
  if (low >= least && high <= most) return true;
  // All of it may lie one turn off.
  const Wide turn = bits >= 64 ? Wide{0} : Wide{1} << bits;
  for (const Wide offset : {turn, -turn}) {
    if (offset == 0 || low + offset < least || high + offset > most) continue;
    for (std::uint32_t i = 0; i < threads_; ++i)
      into[i] = sum(view.lane[i], static_cast<std::int64_t>(offset));
    view.lane = into.data();
    return true;
  }
  return needs_split(view.slope);
}

bool Lanes::extend(const Step& step, const Mask& mask, View a) {
  if (!settle(a, step.bits, step.is_signed, left_)) return false;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    out_[i] = a.lane[i];
  }
  return assign(step.out, mask, a.base == kNotGlobalBase ? kNotGlobalBase : kNoBase, a.slope, out_.data(),
                out_level_.data());
}

bool Lanes::compute(const Step& step, const Mask& mask) {
  const View a = view(step.a);
  const View b = step.b == Step::kNone ? a : view(step.b);
  join_levels(a, b);
  for (std::uint32_t i = 0; i < threads_; ++i) known_[i] = mask[i] != 0 && out_level_[i] == kKnown;
  out_is_bounded_ = false;
  if (a.width != nullptr || b.width != nullptr) {
    bool done = true;
    const bool whole = bounded(step, mask, a, b, done);
    if (done) return whole;
    out_is_bounded_ = false;
    for (std::uint32_t i = 0; i < threads_; ++i) {
      if (out_level_[i] == kBounded) out_level_[i] = kOffsetUnknown;
      known_[i] = known_[i] != 0 && out_level_[i] == kKnown;
    }
  }
  switch (step.kind) {
    case StepKind::kMove:
      if (step.bits == 64 || a.base == kNoBase || a.base == kNotGlobalBase) {
        return assign(step.out, mask, a.base, a.slope, a.lane, a.level, a.width);
      }
      return assign_flat(step.out, mask, kNoBase, 0, kLost);
    case StepKind::kAdd:
    case StepKind::kSub: return additive(step, mask, a, b);
    case StepKind::kCompare: return compare(step, mask, a, b);
    case StepKind::kSelect: {
      const View c = view(step.c);
      for (std::uint32_t i = 0; i < threads_; ++i) pick_[i] = c.level[i] == kKnown ? c.lane[i] != 0 : 2;
      return choose(step, mask, a, b);
    }
    default: break;
  }
  // What follows makes no address out of an address; of shared and local memory it does not matter.
  if (a.base == kNotGlobalBase || b.base == kNotGlobalBase) {
    const bool lost = a.base >= 0 || b.base >= 0;
    return assign_flat(step.out, mask, lost ? kNoBase : kNotGlobalBase, 0, lost ? kLost : kOffsetUnknown);
  }
  if (a.base >= 0 || b.base >= 0) {
    const bool same = (step.kind == StepKind::kTruncate || step.kind == StepKind::kExtend) && step.bits == 64;
    if (same) return assign(step.out, mask, a.base, a.slope, a.lane, a.level, a.width);
    return assign_flat(step.out, mask, kNoBase, 0, kLost);
  }
  switch (step.kind) {
    case StepKind::kMul: return product(step, mask, a, b);
    case StepKind::kMulHigh: return product_high(step, mask, a, b);
    case StepKind::kDiv:
    case StepKind::kRem: return division(step, mask, a, b);
    case StepKind::kShl: return shift_left(step, mask, a, b);
    case StepKind::kShr: return shift_right(step, mask, a, b);
    case StepKind::kAnd:
    case StepKind::kOr:
    case StepKind::kXor: return bitwise(step, mask, a, b);
    case StepKind::kNot: return negation(step, mask, a);
    case StepKind::kMin:
    case StepKind::kMax: return extreme(step, mask, a, b);
    case StepKind::kExtend: return extend(step, mask, a);
    case StepKind::kTruncate: {
      std::copy(a.lane, a.lane + threads_, out_.begin());
      return finish(step, mask, kNoBase, a.slope);
    }
    default: return assign_flat(step.out, mask, kNoBase, 0, kLost);
  }
}

}  // namespace refrain::access
