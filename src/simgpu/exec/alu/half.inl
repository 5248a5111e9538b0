// Half precision in software: exact widening, and rounding of a double to half in one step.

inline double half_to_double(std::uint32_t bits) {
  const std::uint32_t exponent = (bits >> 10) & 31;
  const std::uint32_t fraction = bits & 0x3ff;
  double magnitude;
  if (exponent == 31) {
    magnitude = fraction != 0 ? std::bit_cast<double>(0x7ff8000000000000ull)
                              : std::bit_cast<double>(0x7ff0000000000000ull);
  } else if (exponent == 0) {
    magnitude = fraction * 0x1p-24;
  } else {
    magnitude = std::bit_cast<double>((static_cast<std::uint64_t>(exponent + 1008) << 52) |
                                      (static_cast<std::uint64_t>(fraction) << 42));
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

constexpr std::uint32_t kHalfNan = 0x7fff;

// To nearest even, or towards zero. Never rounds twice.
template <bool kToZero = false>
inline std::uint32_t double_to_half(double x) {
  if (x != x) return kHalfNan;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto sign = static_cast<std::uint32_t>(bits >> 48) & 0x8000;
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1023;
  const double magnitude = std::bit_cast<double>(bits & 0x7fffffffffffffffull);
  if (exponent == 1024) return sign | 0x7c00;
  if (kToZero ? exponent > 15 : magnitude >= 65520.0) return sign | (kToZero ? 0x7bff : 0x7c00);
  const int place = std::max(exponent, -14);
  // In units of the last place: below 2^11, so that adding 2^52 rounds to an integer.
  const double units = magnitude * std::bit_cast<double>(static_cast<std::uint64_t>(1023 + 10 - place) << 52);
  double whole = (units + 0x1p52) - 0x1p52;
  if (kToZero && whole > units) whole -= 1;
  const auto mantissa = static_cast<std::uint32_t>(whole);
  if (mantissa < 1024) return sign | mantissa;
  return sign | (static_cast<std::uint32_t>(place + 14) * 1024 + mantissa);
}

inline std::uint32_t flush_half(std::uint32_t bits) {
  return (bits & 0x7c00) == 0 ? bits & 0x8000 : bits;
}

// The sum of an exact product and a half: rounded to odd first, so that the second rounding is the only one.
inline double sum_to_odd(double p, double c) {
  const double s = p + c;
  const double back = s - p;
  const double error = (p - (s - back)) + (c - back);
  auto bits = std::bit_cast<std::uint64_t>(s);
  if (error != 0 && (bits & 1) == 0) bits += ((error > 0) == (s > 0)) ? 1 : ~0ull;
  return std::bit_cast<double>(bits);
}

template <bool kFtz, bool kSat>
struct Half {
  static double in(std::uint32_t x) { return half_to_double(kFtz ? flush_half(x & 0xffff) : x & 0xffff); }
  static std::uint32_t out(double r) {
    if constexpr (kSat) r = r > 0 ? (r < 1 ? r : 1.0) : 0.0;
    const std::uint32_t bits = double_to_half(r);
    return kFtz ? flush_half(bits) : bits;
  }
  struct Add {
    static std::uint32_t apply(std::uint32_t a, std::uint32_t b) { return out(in(a) + in(b)); }
  };
  struct Sub {
    static std::uint32_t apply(std::uint32_t a, std::uint32_t b) { return out(in(a)-in(b)); }
  };
  struct Mul {
    static std::uint32_t apply(std::uint32_t a, std::uint32_t b) { return out(in(a)*in(b)); }
  };
  struct Fma {
    static std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
      const double p = in(a)*in(b);
      const double sum = p + in(c);
      return out(std::isfinite(sum) && sum != 0 ? sum_to_odd(p, in(c)) : sum);
    }
  };
  struct Neg {
    static std::uint32_t apply(std::uint32_t a) {
      return (kFtz ? flush_half(a & 0xffff) : a & 0xffff) ^ 0x8000;
    }
  };
  struct Abs {
    static std::uint32_t apply(std::uint32_t a) {
      return (kFtz ? flush_half(a & 0xffff) : a & 0xffff) & 0x7fff;
    }
  };
  template <bool kMax>
  struct Extreme {
    static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
      const double x = in(a), y = in(b);
      if (x != x && y != y) return kHalfNan;
      if (x != x) return out(y);
      if (y != y) return out(x);
      if (x == y) return kMax ? (a & b & 0xffff) : ((a | b) & 0xffff);
      return out((x < y) != kMax ? x : y);
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

template <bool kFtz, bool kSat, bool kPacked>
Handler half_handler_for(ptx::Opcode opcode) {
  using H = Half<kFtz, kSat>;
  using U = std::uint32_t;
  switch (opcode) {
    case ptx::Opcode::kAdd: return map2_slow<U, U, OneOrTwo<typename H::Add, kPacked>>;
    case ptx::Opcode::kSub: return map2_slow<U, U, OneOrTwo<typename H::Sub, kPacked>>;
    case ptx::Opcode::kMul: return map2_slow<U, U, OneOrTwo<typename H::Mul, kPacked>>;
    case ptx::Opcode::kFma: return map3<U, U, OneOrTwo<typename H::Fma, kPacked>>;
    case ptx::Opcode::kNeg: return map1_slow<U, U, OneOrTwo<typename H::Neg, kPacked>>;
    case ptx::Opcode::kAbs: return map1_slow<U, U, OneOrTwo<typename H::Abs, kPacked>>;
    case ptx::Opcode::kMin: return map2_slow<U, U, OneOrTwo<typename H::template Extreme<false>, kPacked>>;
    case ptx::Opcode::kMax: return map2_slow<U, U, OneOrTwo<typename H::template Extreme<true>, kPacked>>;
    default: return nullptr;
  }
}

template <bool kPacked>
Handler half_handler(const ptx::Instruction& in) {
  const bool ftz = in.has(ptx::Modifier::kFtz);
  const bool sat = in.has(ptx::Modifier::kSat);
  if (ftz)
    return sat ? half_handler_for<true, true, kPacked>(in.opcode)
               : half_handler_for<true, false, kPacked>(in.opcode);
  return sat ? half_handler_for<false, true, kPacked>(in.opcode)
             : half_handler_for<false, false, kPacked>(in.opcode);
}
