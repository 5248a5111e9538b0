// f32 beyond the common forms: pairs in a 64-bit register, sums with a half, minimum and maximum with sign
// rules or of three.
#include <immintrin.h>

#include <bit>
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
constexpr Word kNan32 = 0x7fffffff;

bool is_nan(float x) {
  return x != x;
}
Word flushed(Word bits, Options o) {
  return o.has(Options::kFtz) && (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits;
}
float in(Word bits, Options o) {
  return std::bit_cast<float>(flushed(bits, o));
}
Word out(float r, Options o) {
  if (o.has(Options::kSat)) {
    r = r > 0.0f ? r : 0.0f;
    return std::bit_cast<Word>(r < 1.0f ? r : 1.0f);
  }
  return is_nan(r) ? kNan32 : flushed(std::bit_cast<Word>(r), o);
}

struct Sum {
  static float apply(float a, float b, float) { return a + b; }
};
struct Difference {
  static float apply(float a, float b, float) { return a - b; }
};
struct Product {
  static float apply(float a, float b, float) { return a * b; }
};
struct Fused {
  static float apply(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
};

template <class F>
void pair(Warp& w, const Op& op, LaneMask mask) {
  using Double = std::uint64_t;
  const Options o = options(op);
  const Double *a = w.at<Double>(op.a), *b = w.at<Double>(op.b);
  const Double* c = op.c == kNoSlot ? b : w.at<Double>(op.c);
  Double* d = w.at<Double>(op.d);
  for_each_lane(mask, [&](Word i) {
    const auto half = [&](unsigned shift) -> Double {
      const auto part = [&](Double x) { return in(static_cast<Word>(x >> shift), o); };
      return static_cast<Double>(out(F::apply(part(a[i]), part(b[i]), part(c[i])), o)) << shift;
    };
    d[i] = half(0) | half(32);
  });
}

// d = a (half) + or - b (f32); d = a * b (halves) + c (f32).
template <class F, class H, bool kFused>
void mixed(Warp& w, const Op& op, LaneMask mask) {
  const Options o = options(op);
  const Word *a = w.at<Word>(op.a), *b = w.at<Word>(op.b), *c = kFused ? w.at<Word>(op.c) : b;
  Word* d = w.at<Word>(op.d);
  for_each_lane(mask, [&](Word i) {
    const float second = kFused ? H::widen(b[i] & 0xffff) : std::bit_cast<float>(b[i]);
    d[i] = out(F::apply(H::widen(a[i] & 0xffff), second, std::bit_cast<float>(c[i])), o);
  });
}

// Of two; NaNs and zeros as PTX orders them.
template <bool kMax>
Word extreme(Word a, Word b, Options o) {
  const float x = std::bit_cast<float>(a), y = std::bit_cast<float>(b);
  if (is_nan(x) || is_nan(y)) {
    if ((is_nan(x) && is_nan(y)) || o.has(Options::kNan)) return kNan32;
    return is_nan(x) ? b : a;
  }
  if (x == y) return kMax ? a & b : a | b;
  return (x < y) != kMax ? a : b;
}

template <bool kMax>
void extremes(Warp& w, const Op& op, LaneMask mask) {
  const Options o = options(op);
  const Word *a = w.at<Word>(op.a), *b = w.at<Word>(op.b);
  const Word* c = op.c == kNoSlot ? nullptr : w.at<Word>(op.c);
  Word* d = w.at<Word>(op.d);
  const bool sizes = o.has(Options::kAbs);
  for_each_lane(mask, [&](Word i) {
    const auto operand = [&](Word x) { return flushed(sizes ? x & 0x7fffffff : x, o); };
    Word r = extreme<kMax>(operand(a[i]), operand(b[i]), o);
    if (c != nullptr) r = extreme<kMax>(r, operand(c[i]), o);
    if (o.has(Options::kXorsignAbs) && !is_nan(std::bit_cast<float>(r))) r |= (a[i] ^ b[i]) & 0x80000000;
    d[i] = r;
  });
}

template <class F, bool kFused>
Handler find_mixed(const ptx::Instruction& in) {
  return in.types[1] == ptx::Type::kF16 ? with_rounding<mixed<F, AsHalf, kFused>>(in)
                                        : with_rounding<mixed<F, AsBrain, kFused>>(in);
}

}  // namespace

Handler find_float(const ptx::Instruction& in) {
  using ptx::Opcode;
  const bool of_pairs = in.type() == ptx::Type::kF32x2;
  switch (in.opcode) {
    case Opcode::kAdd: return of_pairs ? with_rounding<pair<Sum>>(in) : find_mixed<Sum, false>(in);
    case Opcode::kSub:
      return of_pairs ? with_rounding<pair<Difference>>(in) : find_mixed<Difference, false>(in);
    case Opcode::kMul: return with_rounding<pair<Product>>(in);
    case Opcode::kFma: return of_pairs ? with_rounding<pair<Fused>>(in) : find_mixed<Fused, true>(in);
    case Opcode::kMin: return extremes<false>;
    case Opcode::kMax: return extremes<true>;
    default: return nullptr;
  }
}

}  // namespace refrain::simgpu::general

namespace refrain::simgpu {

Handler find_general(const ptx::Instruction& in) {
  using ptx::Opcode;
  using ptx::Type;
  switch (in.opcode) {
    case Opcode::kCvt: return general::find_convert(in);
    case Opcode::kSet:
    case Opcode::kSetp: return general::find_compare(in);
    default: break;
  }
  switch (in.type()) {
    case Type::kF16:
    case Type::kF16x2:
    case Type::kBf16:
    case Type::kBf16x2: return general::find_half(in);
    case Type::kF32:
    case Type::kF32x2: return general::find_float(in);
    default: return general::find_integer(in);
  }
}

std::uint32_t general_types(const ptx::Instruction& in) {
  return static_cast<std::uint32_t>(in.types[0]) | (static_cast<std::uint32_t>(in.types[1]) << 8);
}

}  // namespace refrain::simgpu
