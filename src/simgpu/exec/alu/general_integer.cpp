// Integer forms beyond the common ones: carry chains, saturation, 24-bit products, pairs of 16 bits, bit
// searches and masks, byte permutations with modes.
#include <algorithm>
#include <bit>
#include <limits>

#include "simgpu/exec/alu/general.hpp"

namespace refrain::simgpu::general {
namespace {

using Word = std::uint32_t;
__extension__ typedef unsigned __int128 Wide;
__extension__ typedef __int128 SignedWide;

// F: (a) or (a, b) or (a, b, c) to the result, on slots.
template <class D, class A, class F>
void unary(Warp& w, const Op& op, LaneMask mask) {
  D* d = w.at<D>(op.d);
  const A* a = w.at<A>(op.a);
  for_each_lane(mask, [&](Word i) { d[i] = F::apply(a[i], options(op)); });
}
template <class F>
void binary(Warp& w, const Op& op, LaneMask mask) {
  Word* d = w.at<Word>(op.d);
  const Word *a = w.at<Word>(op.a), *b = w.at<Word>(op.b);
  for_each_lane(mask, [&](Word i) { d[i] = F::apply(a[i], b[i], options(op)); });
}
template <class F>
void ternary(Warp& w, const Op& op, LaneMask mask) {
  Word* d = w.at<Word>(op.d);
  const Word *a = w.at<Word>(op.a), *b = w.at<Word>(op.b), *c = w.at<Word>(op.c);
  for_each_lane(mask, [&](Word i) { d[i] = F::apply(a[i], b[i], c[i], options(op)); });
}

std::int64_t as_signed(Word x) {
  return static_cast<std::int32_t>(x);
}
Word clamp_s32(std::int64_t x) {
  return static_cast<Word>(std::clamp<std::int64_t>(x, std::numeric_limits<std::int32_t>::min(),
                                                    std::numeric_limits<std::int32_t>::max()));
}

// Op::e is where the function keeps its carry flags.
enum class Chain { kAdd, kSub, kMad };
template <class T, Chain kWhat, bool kCarryIn>
void chained(Warp& w, const Op& op, LaneMask mask) {
  constexpr unsigned kBits = sizeof(T) * 8;
  const Options o = options(op);
  T* d = w.at<T>(op.d);
  const T *a = w.at<T>(op.a), *b = w.at<T>(op.b);
  const T* c = kWhat == Chain::kMad ? w.at<T>(op.c) : nullptr;
  const LaneMask carry = w.predicate(op.e);
  LaneMask out = 0;
  for_each_lane(mask, [&](Word i) {
    const Wide in = kCarryIn ? (carry >> i) & 1u : 0;
    Wide result;
    if constexpr (kWhat == Chain::kAdd) {
      result = static_cast<Wide>(a[i]) + b[i] + in;
    } else if constexpr (kWhat == Chain::kSub) {
      result = static_cast<Wide>(a[i]) - b[i] - in;
    } else {
      T part = static_cast<T>(a[i] * b[i]);
      if (o.has(Options::kHi)) {
        using S = std::make_signed_t<T>;
        part = o.has(Options::kSigned)
                   ? static_cast<T>((static_cast<SignedWide>(static_cast<S>(a[i])) * static_cast<S>(b[i])) >>
                                    kBits)
                   : static_cast<T>((static_cast<Wide>(a[i]) * b[i]) >> kBits);
      }
      result = static_cast<Wide>(part) + c[i] + in;
    }
    d[i] = static_cast<T>(result);
    if (((result >> kBits) & 1u) != 0) out |= 1u << i;
  });
  if (o.has(Options::kCarryOut)) set_predicate(w, op.e, out, mask);
}

template <Chain kWhat, bool kCarryIn>
Handler find_chained(const ptx::Instruction& in) {
  return ptx::bits_of(in.type()) == 64 ? chained<std::uint64_t, kWhat, kCarryIn>
                                       : chained<Word, kWhat, kCarryIn>;
}

struct AddSat {
  static Word apply(Word a, Word b, Options) { return clamp_s32(as_signed(a) + as_signed(b)); }
};
struct SubSat {
  static Word apply(Word a, Word b, Options) { return clamp_s32(as_signed(a) - as_signed(b)); }
};
struct MadHiSat {
  static Word apply(Word a, Word b, Word c, Options) {
    return clamp_s32(((as_signed(a) * as_signed(b)) >> 32) + as_signed(c));
  }
};

// Of the 48-bit product of the operands' lower 24 bits, the upper or the lower 32.
std::int64_t product24(Word a, Word b, Options o) {
  if (!o.has(Options::kSigned)) {
    const std::uint64_t product = static_cast<std::uint64_t>(a & 0xffffff) * (b & 0xffffff);
    return static_cast<std::int64_t>(o.has(Options::kHi) ? product >> 16 : product & 0xffffffff);
  }
  const auto low24 = [](Word x) { return static_cast<std::int64_t>(static_cast<std::int32_t>(x << 8) >> 8); };
  const std::int64_t product = low24(a) * low24(b);
  return static_cast<std::int32_t>(o.has(Options::kHi) ? product >> 16 : product);
}
struct Mul24 {
  static Word apply(Word a, Word b, Options o) { return static_cast<Word>(product24(a, b, o)); }
};
struct Mad24 {
  static Word apply(Word a, Word b, Word c, Options o) {
    const std::int64_t product = product24(a, b, o);
    return o.has(Options::kSat) ? clamp_s32(product + as_signed(c)) : static_cast<Word>(product) + c;
  }
};

template <bool kMax>
struct ExtremeRelu {
  static Word apply(Word a, Word b, Options) {
    const std::int64_t r = kMax ? std::max(as_signed(a), as_signed(b)) : std::min(as_signed(a), as_signed(b));
    return static_cast<Word>(std::max<std::int64_t>(r, 0));
  }
};
struct AddPair {
  static Word apply(Word a, Word b, Options) { return ((a + b) & 0xffff) | (((a >> 16) + (b >> 16)) << 16); }
};
template <bool kMax>
struct ExtremePair {
  static Word apply(Word a, Word b, Options o) {
    Word result = 0;
    for (unsigned shift = 0; shift < 32; shift += 16) {
      const auto half = [&](Word x) -> std::int32_t {
        const auto bits = static_cast<std::uint16_t>(x >> shift);
        return o.has(Options::kSigned) ? static_cast<std::int16_t>(bits) : static_cast<std::int32_t>(bits);
      };
      std::int32_t r = kMax ? std::max(half(a), half(b)) : std::min(half(a), half(b));
      if (o.has(Options::kRelu)) r = std::max(r, 0);
      result |= (static_cast<Word>(r) & 0xffff) << shift;
    }
    return result;
  }
};

// The distance by which the leading bit is to be shifted to the top.
template <class T>
struct BfindShift {
  static Word apply(T a, Options o) {
    constexpr T kSign = T{1} << (sizeof(T) * 8 - 1);
    const T bits = o.has(Options::kSigned) && (a & kSign) != 0 ? static_cast<T>(~a) : a;
    return bits == 0 ? ~0u : static_cast<Word>(std::countl_zero(bits));
  }
};

// The position of the n-th set bit from a base, upward or downward.
struct Fns {
  static Word apply(Word mask, Word base, Word offset, Options) {
    const auto n = static_cast<std::int32_t>(offset);
    if (base > 31) return ~0u;
    if (n == 0) return (mask >> base & 1u) != 0 ? base : ~0u;
    const int step = n > 0 ? 1 : -1;
    std::int64_t left = n > 0 ? n : -static_cast<std::int64_t>(n);
    for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step) {
      if ((mask >> at & 1u) != 0 && --left == 0) return static_cast<Word>(at);
    }
    return ~0u;
  }
};

struct Bmsk {
  static Word apply(Word a, Word b, Options o) {
    const Word from = o.has(Options::kWrap) ? a & 31 : std::min(a, 32u);
    const Word count = o.has(Options::kWrap) ? b & 31 : std::min(b, 32u);
    const Word ones = count >= 32 ? ~0u : (1u << count) - 1;
    return from >= 32 ? 0 : ones << from;
  }
};

// The lower n bits, extended by their sign or by zeros.
struct Szext {
  static Word apply(Word a, Word n, Options o) {
    if (o.has(Options::kWrap)) n &= 31;
    if (n == 0) return 0;
    if (n >= 32) return a;
    const Word low = a & ((1u << n) - 1);
    return o.has(Options::kSigned) && (low >> (n - 1) & 1u) != 0 ? low | (~0u << n) : low;
  }
};

template <bool kHigh, class A, class B>
struct Dp2a {
  static Word apply(Word a, Word b, Word c, Options) {
    Word sum = c;
    for (unsigned i = 0; i < 2; ++i) {
      const auto half = static_cast<A>(a >> (16 * i));
      const auto byte = static_cast<B>(b >> (8 * i + (kHigh ? 16 : 0)));
      sum += static_cast<Word>(static_cast<std::int32_t>(half) * static_cast<std::int32_t>(byte));
    }
    return sum;
  }
};
template <bool kHigh>
Handler find_dp2a(const ptx::Instruction& in) {
  using U16 = std::uint16_t;
  using S16 = std::int16_t;
  using U8 = std::uint8_t;
  using S8 = std::int8_t;
  const bool a_is_signed = in.types[0] == ptx::Type::kS32, b_is_signed = in.types[1] == ptx::Type::kS32;
  if (a_is_signed) return b_is_signed ? ternary<Dp2a<kHigh, S16, S8>> : ternary<Dp2a<kHigh, S16, U8>>;
  return b_is_signed ? ternary<Dp2a<kHigh, U16, S8>> : ternary<Dp2a<kHigh, U16, U8>>;
}

// prmt's modes: which of the eight bytes of b:a each byte of the result is, for the control's lower two bits.
constexpr Word kForward4[] = {0x3210, 0x4321, 0x5432, 0x6543};
constexpr Word kBackward4[] = {0x5670, 0x6701, 0x7012, 0x0123};
constexpr Word kReplicate8[] = {0x0000, 0x1111, 0x2222, 0x3333};
constexpr Word kEdgeLeft[] = {0x3210, 0x3211, 0x3222, 0x3333};
constexpr Word kEdgeRight[] = {0x0000, 0x1110, 0x2210, 0x3210};
constexpr Word kReplicate16[] = {0x1010, 0x3232, 0x1010, 0x3232};

template <const Word* kTable>
struct Permute {
  static Word apply(Word a, Word b, Word c, Options) {
    const std::uint64_t source = (static_cast<std::uint64_t>(b) << 32) | a;
    const Word selectors = kTable[c & 3];
    Word result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      result |= (static_cast<Word>(source >> (8 * ((selectors >> (4 * i)) & 7))) & 0xff) << (8 * i);
    }
    return result;
  }
};
Handler find_permute(const ptx::Instruction& in) {
  using ptx::Modifier;
  if (in.has(Modifier::kF4e)) return ternary<Permute<kForward4>>;
  if (in.has(Modifier::kB4e)) return ternary<Permute<kBackward4>>;
  if (in.has(Modifier::kRc8)) return ternary<Permute<kReplicate8>>;
  if (in.has(Modifier::kEcl)) return ternary<Permute<kEdgeLeft>>;
  if (in.has(Modifier::kEcr)) return ternary<Permute<kEdgeRight>>;
  return in.has(Modifier::kRc16) ? ternary<Permute<kReplicate16>> : nullptr;
}

// lop3 with a predicate: whether the result is not zero, combined with another one. Op::target is the table,
// Op::list the registers b and c, for c is the predicate.
void lop3_with_predicate(Warp& w, const Op& op, LaneMask mask) {
  const std::uint32_t* list = w.frame->code->lists.data() + op.list;
  const Word *a = w.at<Word>(op.a), *b = w.at<Word>(list[0]), *c = w.at<Word>(list[1]);
  Word values[kLanes];
  LaneMask truth = 0;
  for_each_lane(mask, [&](Word i) {
    Word r = 0;
    for (unsigned row = 0; row < 8; ++row) {
      if ((op.target >> row & 1u) == 0) continue;
      r |=
          ((row & 4) != 0 ? a[i] : ~a[i]) & ((row & 2) != 0 ? b[i] : ~b[i]) & ((row & 1) != 0 ? c[i] : ~c[i]);
    }
    values[i] = r;
    if (r != 0) truth |= 1u << i;
  });
  const LaneMask result = combined(w, op, truth);
  if (op.d != kNoSlot) for_each_lane(mask, [&](Word i) { w.at<Word>(op.d)[i] = values[i]; });
  set_predicate(w, op.e, result, mask);
}

template <bool kMax>
Handler find_extreme(const ptx::Instruction& in) {
  switch (in.type()) {
    case ptx::Type::kS32: return binary<ExtremeRelu<kMax>>;
    case ptx::Type::kU16x2:
    case ptx::Type::kS16x2: return binary<ExtremePair<kMax>>;
    default: return nullptr;
  }
}

Handler find_add_or_sub(const ptx::Instruction& in) {
  const bool add = in.opcode == ptx::Opcode::kAdd;
  if (in.has(ptx::Modifier::kCc)) {
    return add ? find_chained<Chain::kAdd, false>(in) : find_chained<Chain::kSub, false>(in);
  }
  if (in.has(ptx::Modifier::kSat)) return add ? binary<AddSat> : binary<SubSat>;
  return add && ptx::bits_of(in.type()) == 32 ? binary<AddPair> : nullptr;
}

}  // namespace

Handler find_integer(const ptx::Instruction& in) {
  using ptx::Opcode;
  const bool wide = ptx::bits_of(in.type()) == 64;
  switch (in.opcode) {
    case Opcode::kAdd:
    case Opcode::kSub: return find_add_or_sub(in);
    case Opcode::kAddc: return find_chained<Chain::kAdd, true>(in);
    case Opcode::kSubc: return find_chained<Chain::kSub, true>(in);
    case Opcode::kMad:
      return in.has(ptx::Modifier::kCc) ? find_chained<Chain::kMad, false>(in) : ternary<MadHiSat>;
    case Opcode::kMadc: return find_chained<Chain::kMad, true>(in);
    case Opcode::kMul24: return binary<Mul24>;
    case Opcode::kMad24: return ternary<Mad24>;
    case Opcode::kMin: return find_extreme<false>(in);
    case Opcode::kMax: return find_extreme<true>(in);
    case Opcode::kBfind:
      return wide ? unary<Word, std::uint64_t, BfindShift<std::uint64_t>>
                  : unary<Word, Word, BfindShift<Word>>;
    case Opcode::kFns: return ternary<Fns>;
    case Opcode::kBmsk: return binary<Bmsk>;
    case Opcode::kSzext: return binary<Szext>;
    case Opcode::kDp2a: return in.has(ptx::Modifier::kHi) ? find_dp2a<true>(in) : find_dp2a<false>(in);
    case Opcode::kPrmt: return find_permute(in);
    case Opcode::kLop3: return lop3_with_predicate;
    default: return nullptr;
  }
}

}  // namespace refrain::simgpu::general
