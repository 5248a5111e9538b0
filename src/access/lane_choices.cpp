// Comparisons, and one of two values. Every rule holds for each block of the box, or the box is to be
// divided.
#include <algorithm>

#include "access/lane_numbers.hpp"
#include "access/lanes.hpp"

namespace refrain::access {

// Whether a (relation) b, for each known thread, in pick_; for all blocks of the box alike, or it is divided.
bool Lanes::decide(const View& a, const View& b, Relation relation, bool is_unsigned) {
  bool whole = true;
  if (a.flat() && b.flat()) {
    for (std::uint32_t i = 0; i < threads_; ++i) {
      const bool less = is_unsigned ? bits_of(a.lane[i]) < bits_of(b.lane[i]) : a.lane[i] < b.lane[i];
      const bool equal = a.lane[i] == b.lane[i];
      switch (relation) {
        case Relation::kEq: pick_[i] = equal; break;
        case Relation::kNe: pick_[i] = !equal; break;
        case Relation::kLt: pick_[i] = less; break;
        case Relation::kLe: pick_[i] = less || equal; break;
        case Relation::kGt: pick_[i] = !less && !equal; break;
        case Relation::kGe: pick_[i] = !less; break;
      }
    }
    return true;
  }
  Slopes slope{};
  for (unsigned d = 0; d < 3; ++d) slope[d] = difference(a.slope[d], b.slope[d]);
  const Spread extent = spread(slope);
  if (!small(extent.low) || !small(extent.high)) {
    return needs_split(a.flat() ? b.slope : a.slope);
  }
  const bool moves = slope != Slopes{};
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (known_[i] == 0) continue;
    const Wide low = Wide{a.lane[i]} - b.lane[i] + extent.low,
               high = Wide{a.lane[i]} - b.lane[i] + extent.high;
    const auto [yes, no] = answer_of(relation, low, high);
    whole = whole && (yes || no);
    pick_[i] = yes;
    // To zero, or beyond it where zero is on this side.
    const bool beyond = relation == Relation::kLe || relation == Relation::kGt || low == 0;
    missing_[i] = yes || no ? 0 : static_cast<std::int64_t>((beyond ? 1 : 0) - low);
  }
  return whole || needs_split_before(moves ? slope : a.slope, missing_);
}

bool Lanes::compare(const Step& step, const Mask& mask, View a, View b) {
  const auto relation = static_cast<Relation>(step.value);
  const bool equality = relation == Relation::kEq || relation == Relation::kNe;
  if (a.base != b.base) {
    // A pointer against null; anything else depends on where memory lies.
    const View& pointer = a.base >= 0 ? a : b;
    const View& other = a.base >= 0 ? b : a;
    std::int64_t value = 1;
    const bool null = equality && pointer.base >= 0 && other.base == kNoBase && other.flat() &&
                      uniform(other, value) && value == 0;
    for (std::uint32_t i = 0; i < threads_; ++i) {
      out_[i] = relation == Relation::kNe;
      const bool known = null && known_[i] != 0;
      out_level_[i] = known ? kKnown : kOffsetUnknown;
    }
    return finish(step, mask, kNoBase, Slopes{});
  }
  const bool is_unsigned = !step.is_signed && !equality && a.base == kNoBase;
  if (!settle(a, step.bits, !is_unsigned, left_) || !settle(b, step.bits, !is_unsigned, right_)) return false;
  if (!decide(a, b, relation, is_unsigned && step.bits == 64)) return false;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    out_[i] = pick_[i];
    out_level_[i] = std::min<Level>(out_level_[i], kOffsetUnknown);
    if (a.base == kNotGlobalBase) out_level_[i] = kOffsetUnknown;
  }
  return finish(step, mask, kNoBase, Slopes{});
}

// a or b, who knows: from the less of the two to the more, in out_ and out_width_.
Level Lanes::either(std::uint32_t thread, const View& a, const View& b) {
  if (a.base != b.base) return kLost;
  const Level worst = std::max(a.level[thread], b.level[thread]);
  if (worst >= kOffsetUnknown || a.slope != b.slope) return std::max(worst, kOffsetUnknown);
  const Wide low = std::min(a.lane[thread], b.lane[thread]);
  const Wide high =
      std::max(Wide{a.lane[thread]} + a.width_of(thread), Wide{b.lane[thread]} + b.width_of(thread));
  if (high - low > kMostWidth) return kOffsetUnknown;
  out_[thread] = static_cast<std::int64_t>(low);
  out_width_[thread] = static_cast<std::int64_t>(high - low);
  return kBounded;
}

// For each thread a or b, as pick_ says: 1, 0, or 2 for who knows.
bool Lanes::choose(const Step& step, const Mask& mask, const View& a, const View& b) {
  bool takes_a = false, takes_b = false;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (mask[i] == 0) continue;
    const bool equal = a.base == b.base && a.slope == b.slope && a.level[i] == kKnown &&
                       b.level[i] == kKnown && a.lane[i] == b.lane[i];
    if (pick_[i] == 2 && equal) pick_[i] = 1;
    takes_a |= pick_[i] == 1 && a.level[i] < kOffsetUnknown;
    takes_b |= pick_[i] == 0 && b.level[i] < kOffsetUnknown;
  }
  if (takes_a && takes_b && a.slope != b.slope) return needs_split(a.flat() ? b.slope : a.slope);
  const bool a_leads = takes_a || !takes_b;
  const View& leads = a_leads ? a : b;
  out_is_bounded_ = false;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    const bool is_a = pick_[i] == 1;
    out_[i] = is_a ? a.lane[i] : b.lane[i];
    out_width_[i] = is_a ? a.width_of(i) : b.width_of(i);
    std::uint8_t how = is_a ? a.level[i] : b.level[i];
    if (pick_[i] == 2) how = either(i, a, b);
    if (pick_[i] != 2 && is_a != a_leads && a.base != b.base) how = kLost;
    out_level_[i] = how;
    out_is_bounded_ |= how == kBounded;
  }
  return finish(step, mask, leads.base, leads.slope);
}

bool Lanes::extreme(const Step& step, const Mask& mask, View a, View b) {
  if (!settle(a, step.bits, step.is_signed, left_) || !settle(b, step.bits, step.is_signed, right_))
    return false;
  const bool least = step.kind == StepKind::kMin;
  if (!decide(a, b, least ? Relation::kLe : Relation::kGe, !step.is_signed && step.bits == 64)) return false;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (known_[i] == 0) pick_[i] = 2;
  }
  return choose(step, mask, a, b);
}

}  // namespace refrain::access
