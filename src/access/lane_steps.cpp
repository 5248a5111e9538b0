// What the steps of a slice compute. Every rule holds for each block of the box, or the box is to be divided.
// It must never give a value where it cannot be sure for all blocks.
#include <algorithm>
#include <bit>
#include <limits>

#include "access/lanes.hpp"

namespace refrain::access {
namespace {

std::int64_t wrapped(std::uint64_t value, unsigned bits) {
  if (bits >= 64) return static_cast<std::int64_t>(value);
  if (bits == 1) return static_cast<std::int64_t>(value & 1);
  if (bits == 32) return static_cast<std::int32_t>(value);
  return static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
}

std::uint64_t bits_of(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(bits_of(a) + bits_of(b));
}
std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(bits_of(a) - bits_of(b));
}
std::int64_t times(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(bits_of(a) * bits_of(b));
}

Wide floor_div(Wide a, std::int64_t b) {
  const Wide q = a / b;
  return q * b > a ? q - 1 : q;
}

bool small(Wide value) {
  constexpr Wide kMost = Wide{1} << 62;
  return value > -kMost && value < kMost;
}

}  // namespace

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
  return assign(step.out, mask, base, slope, out_.data(), out_level_.data());
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

bool Lanes::shift_left(const Step& step, const Mask& mask, View a, View b) {
  if (!settle(b, 32, false, right_)) return false;
  if (!b.flat()) return needs_split(b.slope);
  std::int64_t amount = 0;
  const bool same = uniform(b, amount);
  if (!same && !a.flat()) return needs_split(a.slope);
  for (std::uint32_t i = 0; i < threads_; ++i) {
    const std::int64_t by = b.lane[i];
    out_[i] = by >= step.bits ? 0 : static_cast<std::int64_t>(bits_of(a.lane[i]) << by);
  }
  Slopes slope{};
  for (unsigned d = 0; d < 3; ++d) {
    slope[d] = amount >= step.bits ? 0 : static_cast<std::int64_t>(bits_of(a.slope[d]) << amount);
  }
  return finish(step, mask, kNoBase, slope);
}

bool Lanes::shift_right(const Step& step, const Mask& mask, View a, View b) {
  if (!settle(a, step.bits, step.is_signed, left_) || !settle(b, 32, false, right_)) return false;
  if (!b.flat()) return needs_split(b.slope);
  std::int64_t amount = 0;
  if (!a.flat()) {
    if (!uniform(b, amount) || amount >= step.bits || amount > 61) return needs_split(a.slope);
    Slopes slope{};
    if (!floor_quotient(a, std::int64_t{1} << amount, out_.data(), slope)) return false;
    return finish(step, mask, kNoBase, slope);
  }
  for (std::uint32_t i = 0; i < threads_; ++i) {
    const std::int64_t by = std::min<std::int64_t>(b.lane[i], step.bits);
    if (step.is_signed) {
      out_[i] = a.lane[i] >> std::min<std::int64_t>(by, 63);
    } else {
      out_[i] = by >= 64 || by >= step.bits ? 0 : static_cast<std::int64_t>(bits_of(a.lane[i]) >> by);
    }
  }
  return finish(step, mask, kNoBase, Slopes{});
}

// a & ones, where a moves: ones that lie side by side take a field out of it.
bool Lanes::masked(const Step& step, const Mask& mask, const View& a, std::int64_t ones) {
  const std::uint64_t field = bits_of(ones);
  if (ones == 0 || ones == -1) {
    Slopes slope = ones == 0 ? Slopes{} : a.slope;
    for (std::uint32_t i = 0; i < threads_; ++i) out_[i] = ones == 0 ? 0 : a.lane[i];
    return finish(step, mask, kNoBase, slope);
  }
  const int low = std::countr_zero(field);
  const int length = std::countr_one(field >> low);
  const bool to_the_top = low + length == 64;
  if (low > 61 || (!to_the_top && (field >> low >> length != 0 || low + length > 61)))
    return needs_split(a.slope);
  // Modulo 2^k only needs the value modulo 2^bits.
  const auto modulo = [&](int bits, std::vector<std::int64_t>& into, Slopes& slope) {
    const std::int64_t size = std::int64_t{1} << bits;
    Slopes quotient{};
    if (!floor_quotient(a, size, into.data(), quotient)) return false;
    for (std::uint32_t i = 0; i < threads_; ++i) into[i] = difference(a.lane[i], times(into[i], size));
    for (unsigned d = 0; d < 3; ++d) slope[d] = difference(a.slope[d], times(quotient[d], size));
    return true;
  };
  Slopes below{}, above = a.slope;
  if (!modulo(low, right_, below)) return false;
  if (to_the_top) {
    std::copy(a.lane, a.lane + threads_, out_.begin());
  } else if (!modulo(low + length, out_, above)) {
    return false;
  }
  Slopes slope{};
  for (unsigned d = 0; d < 3; ++d) slope[d] = difference(above[d], below[d]);
  for (std::uint32_t i = 0; i < threads_; ++i) out_[i] = difference(out_[i], right_[i]);
  return finish(step, mask, kNoBase, slope);
}

// a | b and a ^ b where b fills only bits that a leaves free: a sum.
bool Lanes::joined(const Step& step, const Mask& mask, const View& a, const View& b, bool& done) {
  done = false;
  if (!b.flat()) return true;
  std::uint64_t filled = 0;
  bool fits = true;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (known_[i] != 0) filled |= bits_of(b.lane[i]);
  }
  const int width = 64 - std::countl_zero(filled);
  if (width > 61) return true;
  const std::int64_t unit = std::int64_t{1} << width;
  for (const std::int64_t slope : a.slope) fits = fits && slope % unit == 0;
  for (std::uint32_t i = 0; i < threads_; ++i) fits = fits && (known_[i] == 0 || a.lane[i] % unit == 0);
  if (!fits) return true;
  done = true;
  for (std::uint32_t i = 0; i < threads_; ++i) out_[i] = sum(a.lane[i], b.lane[i]);
  return finish(step, mask, kNoBase, a.slope);
}

bool Lanes::bitwise(const Step& step, const Mask& mask, View a, View b) {
  if (step.bits == 1) return logic(step, mask, a, b);
  if (a.flat() && b.flat()) {
    for (std::uint32_t i = 0; i < threads_; ++i) {
      out_[i] = step.kind == StepKind::kAnd  ? a.lane[i] & b.lane[i]
                : step.kind == StepKind::kOr ? a.lane[i] | b.lane[i]
                                             : a.lane[i] ^ b.lane[i];
    }
    return finish(step, mask, kNoBase, Slopes{});
  }
  if (step.kind == StepKind::kAnd) {
    if (!b.flat()) std::swap(a, b);
    std::int64_t ones = 0;
    if (!b.flat() || !uniform(b, ones)) return needs_split(a.slope);
    return masked(step, mask, a, wrapped(bits_of(ones), step.bits));
  }
  bool done = false;
  if (!joined(step, mask, a, b, done) || done) return done;
  if (!joined(step, mask, b, a, done) || done) return done;
  return needs_split(a.flat() ? b.slope : a.slope);
}

// Of predicates, where one side may decide alone.
bool Lanes::logic(const Step& step, const Mask& mask, const View& a, const View& b) {
  for (std::uint32_t i = 0; i < threads_; ++i) {
    const bool x = a.lane[i] != 0, y = b.lane[i] != 0;
    const bool knows_x = a.level[i] == kKnown, knows_y = b.level[i] == kKnown;
    const bool deciding = step.kind == StepKind::kOr;
    const bool decided =
        step.kind != StepKind::kXor && ((knows_x && x == deciding) || (knows_y && y == deciding));
    if (decided) {
      out_[i] = deciding ? 1 : 0;
      out_level_[i] = kKnown;
      continue;
    }
    out_[i] = step.kind == StepKind::kAnd ? (x && y) : step.kind == StepKind::kOr ? (x || y) : (x != y);
    out_level_[i] = knows_x && knows_y ? kKnown : kOffsetUnknown;
  }
  return finish(step, mask, kNoBase, Slopes{});
}

bool Lanes::negation(const Step& step, const Mask& mask, const View& a) {
  Slopes slope{};
  for (unsigned d = 0; d < 3; ++d) slope[d] = difference(0, a.slope[d]);
  for (std::uint32_t i = 0; i < threads_; ++i) {
    out_[i] = step.bits == 1 ? static_cast<std::int64_t>(a.lane[i] == 0) : difference(-1, a.lane[i]);
  }
  return finish(step, mask, kNoBase, slope);
}

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
    const bool less = high<0, not_less = low >= 0, more = low> 0, not_more = high <= 0;
    const bool equal = !moves && low == 0, apart = less || more;
    bool yes = false, no = false;
    switch (relation) {
      case Relation::kEq: yes = equal, no = apart; break;
      case Relation::kNe: yes = apart, no = equal; break;
      case Relation::kLt: yes = less, no = not_less; break;
      case Relation::kLe: yes = not_more, no = more; break;
      case Relation::kGt: yes = more, no = not_more; break;
      case Relation::kGe: yes = not_less, no = less; break;
    }
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

// For each thread a or b, as pick_ says: 1, 0, or 2 for who knows.
bool Lanes::choose(const Step& step, const Mask& mask, const View& a, const View& b) {
  bool takes_a = false, takes_b = false;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (mask[i] == 0) continue;
    const bool equal = a.base == b.base && a.slope == b.slope && a.level[i] == kKnown &&
                       b.level[i] == kKnown && a.lane[i] == b.lane[i];
    if (pick_[i] == 2 && equal) pick_[i] = 1;
    takes_a |= pick_[i] == 1 && a.level[i] == kKnown;
    takes_b |= pick_[i] == 0 && b.level[i] == kKnown;
  }
  if (takes_a && takes_b && a.slope != b.slope) return needs_split(a.flat() ? b.slope : a.slope);
  const bool a_leads = takes_a || !takes_b;
  const View& leads = a_leads ? a : b;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    const bool is_a = pick_[i] == 1;
    out_[i] = is_a ? a.lane[i] : b.lane[i];
    std::uint8_t how = is_a ? a.level[i] : b.level[i];
    if (pick_[i] == 2) how = a.base == b.base ? std::max({a.level[i], b.level[i], kOffsetUnknown}) : kLost;
    if (pick_[i] != 2 && is_a != a_leads && a.base != b.base) how = kLost;
    out_level_[i] = how;
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

bool Lanes::extend(const Step& step, const Mask& mask, View a) {
  if (!settle(a, step.bits, step.is_signed, left_)) return false;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    out_[i] = a.lane[i];
    out_level_[i] = a.level[i];
  }
  return assign(step.out, mask, a.base == kNotGlobalBase ? kNotGlobalBase : kNoBase, a.slope, out_.data(),
                out_level_.data());
}

bool Lanes::compute(const Step& step, const Mask& mask) {
  const View a = view(step.a);
  const View b = step.b == Step::kNone ? a : view(step.b);
  join_levels(a, b);
  for (std::uint32_t i = 0; i < threads_; ++i) known_[i] = mask[i] != 0 && out_level_[i] == kKnown;
  switch (step.kind) {
    case StepKind::kMove:
      if (step.bits == 64 || a.base == kNoBase || a.base == kNotGlobalBase) {
        return assign(step.out, mask, a.base, a.slope, a.lane, a.level);
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
    if (same) return assign(step.out, mask, a.base, a.slope, a.lane, a.level);
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
