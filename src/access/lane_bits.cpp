// Shifts, fields and predicates. Every rule holds for each block of the box, or the box is to be divided.
#include <algorithm>
#include <bit>

#include "access/lane_numbers.hpp"
#include "access/lanes.hpp"

namespace refrain::access {

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

}  // namespace refrain::access
