// f16 and bf16 with flushing, saturation, NaN or sign rules, and their approximate functions; single or in
// pairs.
#include <immintrin.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "simgpu/exec/alu/general.hpp"

namespace refrain::simgpu::general {
namespace {

// clang-format off
#include "simgpu/exec/alu/lanes.inl"
#include "simgpu/exec/alu/half.inl"
#include "simgpu/exec/alu/approximate.inl"
// clang-format on

using Word = std::uint32_t;

// The smallest normal number's exponent bits: of what has none of them, only the sign is left by .ftz.
template <class H>
constexpr Word kExponent = std::is_same_v<H, AsHalf> ? 0x7c00 : 0x7f80;

template <class H>
Word flushed(Word bits, Options o) {
  return o.has(Options::kFtz) && (bits & kExponent<H>) == 0 ? bits & 0x8000 : bits;
}
template <class H>
float in(Word bits, Options o) {
  return H::widen(flushed<H>(bits, o));
}
template <class H>
Word out(float r, Options o) {
  if (o.has(Options::kSat)) {
    r = r > 0.0f ? r : 0.0f;
    r = r < 1.0f ? r : 1.0f;
  }
  if (o.has(Options::kRelu) && !(r != r)) r = r > 0.0f ? r : 0.0f;
  return flushed<H>(H::narrow(r), o);
}

template <class H>
struct Add {
  static Word apply(Word a, Word b, Word, Options o) { return out<H>(in<H>(a, o) + in<H>(b, o), o); }
};
template <class H>
struct Sub {
  static Word apply(Word a, Word b, Word, Options o) { return out<H>(in<H>(a, o) - in<H>(b, o), o); }
};
template <class H>
struct Mul {
  static Word apply(Word a, Word b, Word, Options o) { return out<H>(in<H>(a, o) * in<H>(b, o), o); }
};
template <class H>
struct Fma {
  static Word apply(Word a, Word b, Word c, Options o) {
    return out<H>(H::fused(in<H>(a, o), in<H>(b, o), in<H>(c, o)), o);
  }
};
template <class H>
struct Neg {
  static Word apply(Word a, Word, Word, Options o) { return flushed<H>(a, o) ^ 0x8000; }
};
template <class H>
struct Abs {
  static Word apply(Word a, Word, Word, Options o) { return flushed<H>(a, o) & 0x7fff; }
};
template <class H>
struct Ex2 {
  static Word apply(Word a, Word, Word, Options o) {
    const float x = in<H>(a, o);
    return x != x ? kHalfNan : out<H>(exp2_of(x), o);
  }
};
template <class H>
struct Tanh {
  static Word apply(Word a, Word, Word, Options o) {
    const float x = in<H>(a, o);
    return x != x ? kHalfNan : x == 0 ? a : out<H>(static_cast<float>(tanh_of(static_cast<double>(x))), o);
  }
};

template <class H, bool kMax>
struct Extreme {
  static Word apply(Word a, Word b, Word, Options o) {
    const bool sizes = o.has(Options::kXorsignAbs);
    const Word x = flushed<H>(sizes ? a & 0x7fff : a, o), y = flushed<H>(sizes ? b & 0x7fff : b, o);
    const float fx = H::widen(x), fy = H::widen(y);
    const bool x_is_nan = fx != fx, y_is_nan = fy != fy;
    Word r;
    if (x_is_nan || y_is_nan) {
      if ((x_is_nan && y_is_nan) || o.has(Options::kNan)) return kHalfNan;
      r = x_is_nan ? y : x;
    } else if (fx == fy) {
      r = kMax ? x & y : x | y;
    } else {
      r = (fx < fy) != kMax ? x : y;
    }
    return sizes ? r | ((a ^ b) & 0x8000) : r;
  }
};

template <class F, bool kPair>
void halves(Warp& w, const Op& op, LaneMask mask) {
  const Options o = options(op);
  const Word* a = w.at<Word>(op.a);
  const Word* b = op.b == kNoSlot ? a : w.at<Word>(op.b);
  const Word* c = op.c == kNoSlot ? a : w.at<Word>(op.c);
  Word* d = w.at<Word>(op.d);
  for_each_lane(mask, [&](Word i) {
    const Word low = F::apply(a[i] & 0xffff, b[i] & 0xffff, c[i] & 0xffff, o);
    d[i] = kPair ? low | (F::apply(a[i] >> 16, b[i] >> 16, c[i] >> 16, o) << 16) : low;
  });
}

template <class H, bool kPair>
Handler find_for(const ptx::Instruction& in) {
  using ptx::Opcode;
  switch (in.opcode) {
    case Opcode::kAdd: return halves<Add<H>, kPair>;
    case Opcode::kSub: return halves<Sub<H>, kPair>;
    case Opcode::kMul: return halves<Mul<H>, kPair>;
    case Opcode::kFma: return halves<Fma<H>, kPair>;
    case Opcode::kNeg: return halves<Neg<H>, kPair>;
    case Opcode::kAbs: return halves<Abs<H>, kPair>;
    case Opcode::kEx2: return halves<Ex2<H>, kPair>;
    case Opcode::kTanh: return halves<Tanh<H>, kPair>;
    case Opcode::kMin: return halves<Extreme<H, false>, kPair>;
    case Opcode::kMax: return halves<Extreme<H, true>, kPair>;
    default: return nullptr;
  }
}

}  // namespace

Handler find_half(const ptx::Instruction& in) {
  switch (in.type()) {
    case ptx::Type::kF16: return find_for<AsHalf, false>(in);
    case ptx::Type::kF16x2: return find_for<AsHalf, true>(in);
    case ptx::Type::kBf16: return find_for<AsBrain, false>(in);
    default: return find_for<AsBrain, true>(in);
  }
}

}  // namespace refrain::simgpu::general
