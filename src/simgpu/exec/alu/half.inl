// f16 and bf16: exact widening to float, rounding to nearest even, and the arithmetic without further words;
// the other forms are in general_half.cpp. Sums and products of two halves rounded to float first round as if
// once: a float has more than twice a half's bits. A fused sum is rounded to odd in between. No branches, so
// that loops are vectorised.

constexpr std::uint32_t kHalfNan = 0x7fff;  // of both formats

struct AsHalf {  // stands for the type f16 among float and double
  static float widen(std::uint32_t bits) {
    const std::uint32_t magnitude = (bits & 0x7fff) << 13;
    const auto scaled = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
    const std::uint32_t finite_or_not = (bits & 0x7c00) == 0x7c00 ? magnitude | 0x7f800000 : scaled;
    return std::bit_cast<float>(finite_or_not | ((bits & 0x8000) << 16));
  }
  static std::uint32_t narrow(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t size = bits & 0x7fffffff;
    const std::uint32_t normal = (size - (112u << 23) + 0xfff + ((size >> 13) & 1)) >> 13;
    // Subnormal halves are multiples of 2^-24, which is what the last bit of 0.5 stands for.
    const std::uint32_t tiny = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3f000000;
    std::uint32_t r = size < 0x38800000 ? tiny : normal;
    r = size >= 0x477ff000 ? 0x7c00 : r;
    r |= (bits >> 16) & 0x8000;
    return size > 0x7f800000 ? kHalfNan : r;
  }
  // The product of two halves is exact in float.
  static float fused(float a, float b, float c) {
    const float p = a * b;
    const float s = p + c;
    const float back = s - p;
    const float error = (p - (s - back)) + (c - back);
    auto bits = std::bit_cast<std::uint32_t>(s);
    const std::uint32_t away = (error > 0) == (s > 0) ? 1u : ~0u;
    bits += (error < 0 || error > 0) && (bits & 1) == 0 ? away : 0u;
    return std::bit_cast<float>(bits);
  }
};

struct AsBrain {  // stands for the type bf16
  static float widen(std::uint32_t bits) { return std::bit_cast<float>(bits << 16); }
  static std::uint32_t narrow(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t r = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return (bits & 0x7fffffff) > 0x7f800000 ? kHalfNan : r;
  }
  // Products may leave a float's range, but not a double's.
  static float fused(float a, float b, float c) {
    const double p = static_cast<double>(a) * static_cast<double>(b);
    const double wide = static_cast<double>(c);
    const double s = p + wide;
    const double back = s - p;
    const double error = (p - (s - back)) + (wide - back);
    auto bits = std::bit_cast<std::uint64_t>(s);
    const std::uint64_t away = (error > 0) == (s > 0) ? 1ull : ~0ull;
    bits += (error < 0 || error > 0) && (bits & 1) == 0 ? away : 0ull;
    const double odd = std::bit_cast<double>(bits);
    // To float, again to odd.
    const auto rounded_bits = std::bit_cast<std::uint32_t>(static_cast<float>(odd));
    const double of_float = static_cast<double>(static_cast<float>(odd));
    const double size = odd < 0 ? -odd : odd, float_size = of_float < 0 ? -of_float : of_float;
    const std::uint32_t step = float_size < size ? 1u : float_size > size ? ~0u : 0u;
    return std::bit_cast<float>(rounded_bits + ((rounded_bits & 1) == 0 ? step : 0u));
  }
};

template <class H>
struct HalfOps {
  using U = std::uint32_t;
  static float in(U x) { return H::widen(x & 0xffff); }
  struct Add {
    static U apply(U a, U b) { return H::narrow(in(a) + in(b)); }
  };
  struct Sub {
    static U apply(U a, U b) { return H::narrow(in(a)-in(b)); }
  };
  struct Mul {
    static U apply(U a, U b) { return H::narrow(in(a)*in(b)); }
  };
  struct Fma {
    static U apply(U a, U b, U c) { return H::narrow(H::fused(in(a), in(b), in(c))); }
  };
  struct Neg {
    static U apply(U a) { return (a & 0xffff) ^ 0x8000; }
  };
  struct Abs {
    static U apply(U a) { return a & 0x7fff; }
  };
  template <bool kMax>
  struct Extreme {
    static U apply(U a, U b) {
      const U x = a & 0xffff, y = b & 0xffff;
      const float fx = in(a), fy = in(b);
      U r = (fx < fy) != kMax ? x : y;
      r = fx == fy ? (kMax ? (x & y) : (x | y)) : r;  // of +0 and -0 the smaller or the larger
      r = fy != fy ? x : r;
      r = fx != fx ? y : r;
      return fx != fx && fy != fy ? kHalfNan : r;
    }
  };
};

// Two halves in one register: F on each.
template <class F>
struct Packed {
  static std::uint32_t apply(std::uint32_t a) { return F::apply(a & 0xffff) | (F::apply(a >> 16) << 16); }
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    return F::apply(a & 0xffff, b & 0xffff) | (F::apply(a >> 16, b >> 16) << 16);
  }
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return F::apply(a & 0xffff, b & 0xffff, c & 0xffff) | (F::apply(a >> 16, b >> 16, c >> 16) << 16);
  }
};

template <class F, bool kPacked>
using OneOrTwo = std::conditional_t<kPacked, Packed<F>, F>;

template <class Format, bool kPacked>
Handler half_handler(const ptx::Instruction& in) {
  using H = HalfOps<Format>;
  using U = std::uint32_t;
  using ptx::Modifier;
  for (const Modifier word :
       {Modifier::kFtz, Modifier::kSat, Modifier::kRelu, Modifier::kNan, Modifier::kXorsign}) {
    if (in.has(word)) return nullptr;
  }
  switch (in.opcode) {
    case ptx::Opcode::kAdd: return map2<U, U, OneOrTwo<typename H::Add, kPacked>>;
    case ptx::Opcode::kSub: return map2<U, U, OneOrTwo<typename H::Sub, kPacked>>;
    case ptx::Opcode::kMul: return map2<U, U, OneOrTwo<typename H::Mul, kPacked>>;
    case ptx::Opcode::kFma: return map3<U, U, OneOrTwo<typename H::Fma, kPacked>>;
    case ptx::Opcode::kNeg: return map1<U, U, OneOrTwo<typename H::Neg, kPacked>>;
    case ptx::Opcode::kAbs: return map1<U, U, OneOrTwo<typename H::Abs, kPacked>>;
    case ptx::Opcode::kMin: return map2<U, U, OneOrTwo<typename H::template Extreme<false>, kPacked>>;
    case ptx::Opcode::kMax: return map2<U, U, OneOrTwo<typename H::template Extreme<true>, kPacked>>;
    default: return nullptr;
  }
}
