// set, and setp of pairs of halves: the comparison is chosen by the options, the result by what true looks
// like.
#include <immintrin.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "simgpu/exec/alu/general.hpp"

namespace refrain::simgpu::general {
namespace {

// clang-format off
#include "simgpu/exec/alu/lanes.inl"
#include "simgpu/exec/alu/half.inl"
// clang-format on

using Word = std::uint32_t;

template <class T>
bool holds(Comparison comparison, T a, T b) {
  const bool unordered = a != a || b != b;
  switch (comparison) {
    case Comparison::kEq: return a == b;
    case Comparison::kNe: return !unordered && a != b;
    case Comparison::kLt: return a < b;
    case Comparison::kLe: return a <= b;
    case Comparison::kGt: return a > b;
    case Comparison::kGe: return a >= b;
    case Comparison::kEqu: return unordered || a == b;
    case Comparison::kNeu: return unordered || a != b;
    case Comparison::kLtu: return unordered || a < b;
    case Comparison::kLeu: return unordered || a <= b;
    case Comparison::kGtu: return unordered || a > b;
    case Comparison::kGeu: return unordered || a >= b;
    case Comparison::kNum: return !unordered;
    case Comparison::kNan: return unordered;
  }
  return false;
}

// How a slot is read: Slot is its type, read gives something comparable.
template <class T>
struct Integer {
  using Slot = std::conditional_t<sizeof(T) == 8, std::uint64_t, Word>;
  static T read(Slot bits, Options) { return static_cast<T>(bits); }
};
struct Single {
  using Slot = Word;
  static float read(Word bits, Options o) {
    if (o.has(Options::kFtz) && (bits & 0x7f800000) == 0) bits &= 0x80000000;
    return std::bit_cast<float>(bits);
  }
};
struct Double {
  using Slot = std::uint64_t;
  static double read(std::uint64_t bits, Options) { return std::bit_cast<double>(bits); }
};
template <class H, unsigned kShift = 0>
struct Half {
  using Slot = Word;
  static float read(Word bits, Options o) {
    bits = (bits >> kShift) & 0xffff;
    constexpr Word kExponent = std::is_same_v<H, AsHalf> ? 0x7c00 : 0x7f80;
    if (o.has(Options::kFtz) && (bits & kExponent) == 0) bits &= 0x8000;
    return H::widen(bits);
  }
};

template <class R>
LaneMask compare(const Warp& w, const Op& op, LaneMask mask) {
  const Options o = options(op);
  const auto comparison = static_cast<Comparison>((op.imm >> Options::kComparisonShift) & 0xff);
  const auto* a = w.at<typename R::Slot>(op.a);
  const auto* b = w.at<typename R::Slot>(op.b);
  LaneMask result = 0;
  for_each_lane(mask, [&](Word i) {
    if (holds(comparison, R::read(a[i], o), R::read(b[i], o))) result |= 1u << i;
  });
  return combined(w, op, result);
}

// Op::target is what true looks like.
template <class R>
void set(Warp& w, const Op& op, LaneMask mask) {
  const LaneMask result = compare<R>(w, op, mask);
  Word* d = w.at<Word>(op.d);
  for_each_lane(mask, [&](Word i) { d[i] = (result >> i & 1u) != 0 ? op.target : 0; });
}

template <class H>
void set_pair(Warp& w, const Op& op, LaneMask mask) {
  const LaneMask low = compare<Half<H, 0>>(w, op, mask), high = compare<Half<H, 16>>(w, op, mask);
  Word* d = w.at<Word>(op.d);
  for_each_lane(mask, [&](Word i) {
    d[i] = ((low >> i & 1u) != 0 ? op.target & 0xffff : 0) |
           ((high >> i & 1u) != 0 ? op.target & 0xffff0000 : 0);
  });
}

template <class R>
void setp(Warp& w, const Op& op, LaneMask mask) {
  const LaneMask first = compare<R>(w, op, mask);
  LaneMask second = 0;
  if (op.e != kNoSlot) {
    // The other predicate is of the opposite comparison, combined with the same operand.
    Op plain = op;
    plain.combine = Combine::kNone;
    second = combined(w, op, ~compare<R>(w, plain, mask));
  }
  set_predicate(w, op.d, first, mask);
  set_predicate(w, op.e, second, mask);
}

template <class H>
void setp_pair(Warp& w, const Op& op, LaneMask mask) {
  const LaneMask low = compare<Half<H, 0>>(w, op, mask), high = compare<Half<H, 16>>(w, op, mask);
  set_predicate(w, op.d, low, mask);
  set_predicate(w, op.e, high, mask);
}

}  // namespace

Handler find_compare(const ptx::Instruction& in) {
  using ptx::Type;
  const bool is_set = in.opcode == ptx::Opcode::kSet;
  switch (in.types[is_set ? 1 : 0]) {
    case Type::kF16x2: return is_set ? set_pair<AsHalf> : setp_pair<AsHalf>;
    case Type::kBf16x2: return is_set ? set_pair<AsBrain> : setp_pair<AsBrain>;
    case Type::kF16: return is_set ? set<Half<AsHalf>> : setp<Half<AsHalf>>;
    default: break;
  }
  if (!is_set) return nullptr;
  switch (in.types[1]) {
    case Type::kB16:
    case Type::kU16: return set<Integer<std::uint16_t>>;
    case Type::kS16: return set<Integer<std::int16_t>>;
    case Type::kB32:
    case Type::kU32: return set<Integer<std::uint32_t>>;
    case Type::kS32: return set<Integer<std::int32_t>>;
    case Type::kB64:
    case Type::kU64: return set<Integer<std::uint64_t>>;
    case Type::kS64: return set<Integer<std::int64_t>>;
    case Type::kBf16: return set<Half<AsBrain>>;
    case Type::kF32: return set<Single>;
    case Type::kF64: return set<Double>;
    default: return nullptr;
  }
}

}  // namespace refrain::simgpu::general
