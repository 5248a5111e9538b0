// cvt between any two types, in integers: a value is taken apart exactly, rounded once, and put together
// again. Slow, for the pairs of types and the words that the vectorised conversions do not have.
#include <algorithm>
#include <bit>

#include "simgpu/exec/alu/general.hpp"

namespace refrain::simgpu::general {
namespace {

using Word = std::uint32_t;
__extension__ typedef __int128 SignedWide;

struct Format {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity = true;
  std::uint64_t canonical_nan = 0;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int lowest() const {
    return 1 - bias() - mantissa_bits;
  }  // exponent of the last bit of the smallest number
  std::uint64_t sign() const { return std::uint64_t{1} << (exponent_bits + mantissa_bits); }
  std::uint64_t infinity() const { return ((std::uint64_t{1} << exponent_bits) - 1) << mantissa_bits; }
  std::uint64_t largest() const { return has_infinity ? infinity() - 1 : infinity() | 6; }
};
constexpr Format kF16{5, 10, true, 0x7fff};
constexpr Format kBf16{8, 7, true, 0x7fff};
constexpr Format kF32{8, 23, true, 0x7fffffff};
constexpr Format kF64{11, 52, true, 0xfff8000000000000};
constexpr Format kE4m3{4, 3, false, 0x7f};  // all ones is its only NaN
constexpr Format kE5m2{5, 2, true, 0x7f};
constexpr Format kTf32{8, 10, true, 0x7fffffff >> 13};

const Format& format_of(ptx::Type type) {
  switch (type) {
    case ptx::Type::kF16:
    case ptx::Type::kF16x2: return kF16;
    case ptx::Type::kBf16:
    case ptx::Type::kBf16x2: return kBf16;
    case ptx::Type::kE4m3x2: return kE4m3;
    case ptx::Type::kE5m2x2: return kE5m2;
    case ptx::Type::kTf32: return kTf32;
    case ptx::Type::kF64: return kF64;
    default: return kF32;
  }
}

// mantissa * 2^exponent, exactly.
struct Number {
  enum class Kind { kFinite, kInfinite, kNan } kind = Kind::kFinite;
  bool negative = false;
  std::uint64_t mantissa = 0;
  int exponent = 0;
  std::uint64_t payload = 0;  // of a NaN: the bits below the quiet one, from the top of 64
};

Number from_integer(std::uint64_t bits, ptx::Type type) {
  const unsigned width = ptx::bits_of(type);
  if (width < 64) bits &= (std::uint64_t{1} << width) - 1;
  Number n;
  n.negative = ptx::kind_of(type) == ptx::TypeKind::kSigned && (bits >> (width - 1) & 1) != 0;
  n.mantissa = bits;
  if (n.negative) {
    n.mantissa = 0 - bits;
    if (width < 64) n.mantissa &= (std::uint64_t{1} << width) - 1;
  }
  return n;
}

Number from_float(std::uint64_t bits, const Format& f) {
  Number n;
  n.negative = (bits & f.sign()) != 0;
  bits &= f.sign() - 1;
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << f.mantissa_bits) - 1);
  const auto exponent = static_cast<int>(bits >> f.mantissa_bits);
  if (f.has_infinity ? bits >= f.infinity() : bits == f.canonical_nan) {
    n.kind = bits == f.infinity() ? Number::Kind::kInfinite : Number::Kind::kNan;
    n.payload = fraction << (64 - f.mantissa_bits);
    return n;
  }
  n.mantissa = exponent == 0 ? fraction : fraction | (std::uint64_t{1} << f.mantissa_bits);
  n.exponent = f.lowest() + std::max(exponent, 1) - 1;
  return n;
}

// mantissa * 2^-shift as an integer, rounded. shift may be anything; a left shift must fit.
std::uint64_t shifted(std::uint64_t mantissa, int shift, Rounding rounding, bool negative) {
  if (shift <= 0) return mantissa << -shift;
  const std::uint64_t whole = shift > 63 ? 0 : mantissa >> shift;
  const std::uint64_t lost = shift > 63 ? mantissa : mantissa & ((std::uint64_t{1} << shift) - 1);
  if (lost == 0) return whole;
  const int against_half = shift > 64                               ? -1
                           : lost < std::uint64_t{1} << (shift - 1) ? -1
                           : lost > std::uint64_t{1} << (shift - 1) ? 1
                                                                    : 0;
  switch (rounding) {
    case Rounding::kNearest:
      return whole + (against_half > 0 || (against_half == 0 && (whole & 1) != 0) ? 1 : 0);
    case Rounding::kNearestAway: return whole + (against_half >= 0 ? 1 : 0);
    case Rounding::kZero: return whole;
    case Rounding::kDown: return whole + (negative ? 1 : 0);
    case Rounding::kUp: return whole + (negative ? 0 : 1);
  }
  return whole;
}

Number rounded_to_integer(Number n, Rounding rounding) {
  if (n.kind != Number::Kind::kFinite || n.exponent >= 0) return n;
  n.mantissa = shifted(n.mantissa, -n.exponent, rounding, n.negative);
  n.exponent = 0;
  return n;
}

// Clamped to the type. Its bits, sign-extended.
std::uint64_t to_integer(const Number& n, ptx::Type type) {
  const unsigned width = ptx::bits_of(type);
  const bool is_signed = ptx::kind_of(type) == ptx::TypeKind::kSigned;
  const std::uint64_t largest = is_signed     ? (std::uint64_t{1} << (width - 1)) - 1
                                : width == 64 ? ~std::uint64_t{0}
                                              : (std::uint64_t{1} << width) - 1;
  const std::uint64_t most_negative = is_signed ? largest + 1 : 0;
  const std::uint64_t limit = n.negative ? most_negative : largest;
  const bool huge = n.kind == Number::Kind::kInfinite ||
                    (n.mantissa != 0 && n.exponent > 0 && std::countl_zero(n.mantissa) < n.exponent);
  const std::uint64_t size = huge ? limit : std::min(n.mantissa << n.exponent, limit);
  return n.negative ? 0 - size : size;
}

std::uint64_t nan_as_integer(ptx::Type from, ptx::Type to) {
  const unsigned width = ptx::bits_of(to);
  return from == ptx::Type::kF64 || width == 64 ? std::uint64_t{1} << (width - 1) : 0;
}

std::uint64_t to_float(const Number& n, const Format& f, Rounding rounding, bool finite) {
  const std::uint64_t sign = n.negative ? f.sign() : 0;
  if (n.kind == Number::Kind::kNan) {
    if (f.mantissa_bits != kF64.mantissa_bits) return f.canonical_nan;
    return sign | f.infinity() | (std::uint64_t{1} << 51) | n.payload >> 12;
  }
  const std::uint64_t overflow = finite || !f.has_infinity ? f.largest() : f.infinity();
  if (n.kind == Number::Kind::kInfinite) return sign | overflow;
  if (n.mantissa == 0) return sign;
  const int top = 63 - std::countl_zero(n.mantissa) + n.exponent;  // exponent of the leading bit
  const int last = std::max(top - f.mantissa_bits, f.lowest());
  std::uint64_t units = 0;
  if (n.exponent < last) {
    units = shifted(n.mantissa, last - n.exponent, rounding, n.negative);
  } else {
    units = n.mantissa << (n.exponent - last);
  }
  // Counting the units of all smaller exponents: a mantissa that rounds up carries into the exponent by
  // itself.
  const std::uint64_t bits = units + (static_cast<std::uint64_t>(last - f.lowest()) << f.mantissa_bits);
  if (bits > f.largest()) {
    const bool to_largest = rounding == Rounding::kZero || (rounding == Rounding::kDown && !n.negative) ||
                            (rounding == Rounding::kUp && n.negative);
    return sign | (to_largest ? f.largest() : overflow);
  }
  return sign | bits;
}

struct Plan {
  ptx::Type to;
  ptx::Type from;
  Options options;
};

std::uint64_t convert_to_float(Number n, const Plan& plan) {
  const Format& f = format_of(plan.to);
  const Options o = plan.options;
  const bool is_nan = n.kind == Number::Kind::kNan;
  const bool integral = o.has(Options::kIntegral);
  if (integral) n = rounded_to_integer(n, o.rounding());
  // Into [0, 1], where a NaN is 0; or not below 0, where it stays one.
  if (n.negative && (o.has(Options::kSat) || (o.has(Options::kRelu) && !is_nan))) return 0;
  if (is_nan && o.has(Options::kSat)) return 0;
  std::uint64_t bits = to_float(n, f, o.rounding(), o.has(Options::kSatfinite));
  const std::uint64_t one = static_cast<std::uint64_t>(f.bias()) << f.mantissa_bits;
  if (o.has(Options::kSat)) bits = std::min(bits, one);
  const bool flushes = o.has(Options::kFtz) && plan.to == ptx::Type::kF32;
  if (flushes && (bits & f.infinity()) == 0) bits &= f.sign();
  return plan.to == ptx::Type::kTf32 ? (is_nan ? 0x7fffffff : bits << 13) : bits;
}

bool is_float(ptx::Type type) {
  return ptx::kind_of(type) == ptx::TypeKind::kFloat;
}

std::uint64_t convert_one(std::uint64_t bits, const Plan& plan) {
  const Options o = plan.options;
  if (!is_float(plan.from)) {
    const Number n = from_integer(bits, plan.from);
    if (is_float(plan.to)) return convert_to_float(n, plan);
    return o.has(Options::kSat) ? to_integer(n, plan.to) : (n.negative ? 0 - n.mantissa : n.mantissa);
  }
  const Format& f = format_of(plan.from);
  if (f.mantissa_bits < 52) bits &= (f.sign() << 1) - 1;
  if (o.has(Options::kFtz) && plan.from == ptx::Type::kF32 && (bits & f.infinity()) == 0) bits &= f.sign();
  const Number n = from_float(bits, f);
  if (is_float(plan.to)) return convert_to_float(n, plan);
  if (n.kind == Number::Kind::kNan) return nan_as_integer(plan.from, plan.to);
  return to_integer(rounded_to_integer(n, o.rounding()), plan.to);
}

std::uint64_t read(const Warp& w, std::uint32_t slot, Word lane, bool wide) {
  return wide ? w.at<std::uint64_t>(slot)[lane] : w.at<Word>(slot)[lane];
}

// A result narrower than its register is extended by its type's sign.
std::uint64_t extended(std::uint64_t value, ptx::Type type) {
  const unsigned width = ptx::bits_of(type);
  if (width == 64) return value;
  const std::uint64_t low = value & ((std::uint64_t{1} << width) - 1);
  const bool fill = ptx::kind_of(type) == ptx::TypeKind::kSigned && (low >> (width - 1) & 1) != 0;
  return fill ? low | ~std::uint64_t{0} << width : low;
}

Plan plan_of(const Op& op) {
  return {static_cast<ptx::Type>(op.target & 0xff), static_cast<ptx::Type>(op.target >> 8 & 0xff),
          options(op)};
}

// Op::a_is_64: the source register has 64 bits. Op::register_bits: of the destination.
void single(Warp& w, const Op& op, LaneMask mask) {
  const Plan plan = plan_of(op);
  for_each_lane(mask, [&](Word i) {
    const std::uint64_t value = extended(convert_one(read(w, op.a, i, op.a_is_64), plan), plan.to);
    if (op.register_bits == 64) {
      w.at<std::uint64_t>(op.d)[i] = value;
    } else {
      w.at<Word>(op.d)[i] = static_cast<Word>(op.register_bits == 16 ? value & 0xffff : value);
    }
  });
}

// Two sources into the halves of one register: the first is the upper one.
void from_two(Warp& w, const Op& op, LaneMask mask) {
  const Plan plan = plan_of(op);
  const unsigned width = ptx::bits_of(plan.to) / 2;
  const Word *a = w.at<Word>(op.a), *b = w.at<Word>(op.b);
  for_each_lane(mask, [&](Word i) {
    w.at<Word>(op.d)[i] = static_cast<Word>(convert_one(a[i], plan) << width | convert_one(b[i], plan));
  });
}

// Each half of one register into a half of another.
void halves(Warp& w, const Op& op, LaneMask mask) {
  const Plan plan = plan_of(op);
  const unsigned from_bits = ptx::bits_of(plan.from) / 2, to_bits = ptx::bits_of(plan.to) / 2;
  const Word* a = w.at<Word>(op.a);
  for_each_lane(mask, [&](Word i) {
    const Word low = a[i] & ((1u << from_bits) - 1), high = (a[i] >> from_bits) & ((1u << from_bits) - 1);
    w.at<Word>(op.d)[i] = static_cast<Word>(convert_one(high, plan) << to_bits | convert_one(low, plan));
  });
}

// cvt.pack: two clamped integers, and for bytes what c has in its lower half above them.
void packed(Warp& w, const Op& op, LaneMask mask) {
  Plan plan = plan_of(op);
  const unsigned width = ptx::bits_of(plan.to);
  const Word keep = width == 16 ? 0xffff : 0xff;
  const Word *a = w.at<Word>(op.a), *b = w.at<Word>(op.b);
  const Word* c = op.c == kNoSlot ? nullptr : w.at<Word>(op.c);
  for_each_lane(mask, [&](Word i) {
    const auto part = [&](Word x) { return static_cast<Word>(convert_one(x, plan)) & keep; };
    Word value = part(a[i]) << width | part(b[i]);
    if (c != nullptr) value |= c[i] << (2 * width);
    w.at<Word>(op.d)[i] = value;
  });
}

bool is_pair(ptx::Type type) {
  return type == ptx::Type::kF16x2 || type == ptx::Type::kBf16x2 || type == ptx::Type::kE4m3x2 ||
         type == ptx::Type::kE5m2x2;
}

}  // namespace

Handler find_convert(const ptx::Instruction& in) {
  if (in.has(ptx::Modifier::kPack)) return packed;
  if (!is_pair(in.types[0])) return single;
  return is_pair(in.types[1]) ? halves : from_two;
}

}  // namespace refrain::simgpu::general
