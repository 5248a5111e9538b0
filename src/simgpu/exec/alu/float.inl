// f32 and f64 arithmetic: one rounding each, subnormals flushed and results clamped where asked. A NaN result
// is the canonical one. Approximate functions are computed in double and rounded, the same on every host.

constexpr std::uint32_t kNan32 = 0x7fffffff;
constexpr std::uint64_t kNan64 = 0xfff8000000000000;

inline std::uint32_t flush32(std::uint32_t bits) {
  return (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits;
}

template <bool kFtz>
inline float in32(std::uint32_t bits) {
  return std::bit_cast<float>(kFtz ? flush32(bits) : bits);
}

template <bool kFtz, bool kSat>
inline std::uint32_t out32(float r) {
  if constexpr (kSat) {
    // A NaN becomes +0 here.
    r = r > 0.0f ? r : 0.0f;
    r = r < 1.0f ? r : 1.0f;
  }
  std::uint32_t bits = std::bit_cast<std::uint32_t>(r);
  if constexpr (!kSat) bits = r != r ? kNan32 : bits;
  return kFtz ? flush32(bits) : bits;
}

inline double in64(std::uint64_t bits) {
  return std::bit_cast<double>(bits);
}
// A NaN operand comes out quiet, the first one where there are more; any other NaN is the canonical one.
inline std::uint64_t quiet64(std::uint64_t bits) {
  return bits | 0x0008000000000000;
}
inline bool is_nan64(std::uint64_t bits) {
  return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
}
inline std::uint64_t out64(double r, std::uint64_t a) {
  const std::uint64_t bits = r != r ? kNan64 : std::bit_cast<std::uint64_t>(r);
  return is_nan64(a) ? quiet64(a) : bits;
}
inline std::uint64_t out64(double r, std::uint64_t a, std::uint64_t b) {
  const std::uint64_t bits = r != r ? kNan64 : std::bit_cast<std::uint64_t>(r);
  const std::uint64_t second = is_nan64(b) ? quiet64(b) : bits;
  return is_nan64(a) ? quiet64(a) : second;
}
inline std::uint64_t out64(double r, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  const std::uint64_t bits = r != r ? kNan64 : std::bit_cast<std::uint64_t>(r);
  const std::uint64_t third = is_nan64(c) ? quiet64(c) : bits;
  const std::uint64_t second = is_nan64(b) ? quiet64(b) : third;
  return is_nan64(a) ? quiet64(a) : second;
}

template <bool kFtz, bool kSat>
struct F32 {
  using U = std::uint32_t;
  static float in(U x) { return in32<kFtz>(x); }
  static U out(float r) { return out32<kFtz, kSat>(r); }
  struct Add {
    static U apply(U a, U b) { return out(in(a) + in(b)); }
  };
  struct Sub {
    static U apply(U a, U b) { return out(in(a)-in(b)); }
  };
  struct Mul {
    static U apply(U a, U b) { return out(in(a)*in(b)); }
  };
  struct Div {
    static U apply(U a, U b) { return out(in(a) / in(b)); }
  };
  // a * (1/b): a divisor above 2^126 has a reciprocal that is flushed.
  struct DivApprox {
    static U apply(U a, U b) {
      const float x = in(a), y = in(b);
      const float size = y < 0 ? -y : y;
      const bool flushed = size > 0x1p126f && size - size == 0;
      return out(flushed ? x * (y < 0 ? -0.0f : 0.0f) : x / y);
    }
  };
  struct Fma {
    static U apply(U a, U b, U c) { return out(__builtin_fmaf(in(a), in(b), in(c))); }
  };
  struct Rcp {
    static U apply(U a) { return out(1.0f / in(a)); }
  };
  struct Sqrt {
    static U apply(U a) { return out(__builtin_sqrtf(in(a))); }
  };
  struct Rsqrt {
    static U apply(U a) { return out(static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(in(a))))); }
  };
  struct Ex2 {
    static U apply(U a) { return out(exp2_of(in(a))); }
  };
  struct Lg2 {
    static U apply(U a) {
      const float x = in(a);
      const double r = log2_of(x > 0 && x - x == 0 ? static_cast<double>(x) : 1.0);
      const float special = x == 0  ? -std::numeric_limits<float>::infinity()
                            : x < 0 ? std::numeric_limits<float>::quiet_NaN()
                                    : x;
      return out(x > 0 && x - x == 0 ? static_cast<float>(r) : special);
    }
  };
  struct Sin {
    static U apply(U a) { return out(static_cast<float>(circular(static_cast<double>(in(a)), 0))); }
  };
  struct Cos {
    static U apply(U a) { return out(static_cast<float>(circular(static_cast<double>(in(a)), 1))); }
  };
  struct Tanh {
    static U apply(U a) {
      const float x = in(a);
      const double r = tanh_of(x != x ? 0.0 : static_cast<double>(x));
      // A zero keeps its sign.
      return out(x != x || x == 0 ? x : static_cast<float>(r));
    }
  };
  struct Neg {
    static U apply(U a) { return (kFtz ? flush32(a) : a) ^ 0x80000000; }
  };
  struct Abs {
    static U apply(U a) { return (kFtz ? flush32(a) : a) & 0x7fffffff; }
  };
  template <bool kMax, bool kNan>
  struct Extreme {
    static U apply(U a, U b) {
      const U x = kFtz ? flush32(a) : a;
      const U y = kFtz ? flush32(b) : b;
      const float fx = std::bit_cast<float>(x), fy = std::bit_cast<float>(y);
      const U equal = kMax ? (x & y) : (x | y);  // of +0 and -0 the smaller or the larger
      U r = (fx < fy) != kMax ? x : y;
      r = fx == fy ? equal : r;
      r = fy != fy ? x : r;
      r = fx != fx ? y : r;
      const bool bad = kNan ? (fx != fx || fy != fy) : (fx != fx && fy != fy);
      return bad ? kNan32 : r;
    }
  };
};

struct F64 {
  using U = std::uint64_t;
  struct Add {
    static U apply(U a, U b) { return out64(in64(a) + in64(b), a, b); }
  };
  struct Sub {
    static U apply(U a, U b) { return out64(in64(a) - in64(b), a, b); }
  };
  struct Mul {
    static U apply(U a, U b) { return out64(in64(a) * in64(b), a, b); }
  };
  struct Div {
    static U apply(U a, U b) { return out64(in64(a) / in64(b), a, b); }
  };
  struct Fma {
    static U apply(U a, U b, U c) { return out64(__builtin_fma(in64(a), in64(b), in64(c)), a, b, c); }
  };
  struct Rcp {
    static U apply(U a) { return out64(1.0 / in64(a), a); }
  };
  struct Sqrt {
    static U apply(U a) { return out64(__builtin_sqrt(in64(a)), a); }
  };
  // The approximate forms read and give the upper 32 bits only, and flush subnormals.
  static U upper(U bits) {
    return (bits & 0x7ff0000000000000) == 0 ? bits & 0x8000000000000000 : bits & 0xffffffff00000000;
  }
  struct RcpApprox {
    static U apply(U a) { return upper(out64(1.0 / in64(upper(a)), a)); }
  };
  struct RsqrtApprox {
    static U apply(U a) { return upper(out64(1.0 / __builtin_sqrt(in64(upper(a))), a)); }
  };
  struct Rsqrt {
    static U apply(U a) { return out64(1.0 / __builtin_sqrt(in64(a)), a); }
  };
  struct Neg {
    static U apply(U a) { return a ^ 0x8000000000000000; }
  };
  struct Abs {
    static U apply(U a) { return a & 0x7fffffffffffffff; }
  };
  template <bool kMax>
  struct Extreme {
    static U apply(U a, U b) {
      const double x = in64(a), y = in64(b);
      const U equal = kMax ? (a & b) : (a | b);
      U r = (x < y) != kMax ? a : b;
      r = x == y ? equal : r;
      r = y != y ? a : r;
      r = x != x ? b : r;
      return x != x && y != y ? kNan64 : r;
    }
  };
};

template <class T>
struct Copysign {
  static constexpr T kSign = T{1} << (sizeof(T) * 8 - 1);
  static T apply(T a, T b) { return (b & ~kSign) | (a & kSign); }
};

// What has a .sat form.
template <bool kFtz, bool kSat>
Handler f32_sum_handler(const ptx::Instruction& in) {
  using F = F32<kFtz, kSat>;
  using U = std::uint32_t;
  switch (in.opcode) {
    case ptx::Opcode::kAdd: return with_rounding<map2<U, U, typename F::Add>>(in);
    case ptx::Opcode::kSub: return with_rounding<map2<U, U, typename F::Sub>>(in);
    case ptx::Opcode::kMul: return with_rounding<map2<U, U, typename F::Mul>>(in);
    case ptx::Opcode::kFma:
    case ptx::Opcode::kMad: return with_rounding<map3<U, U, typename F::Fma>>(in);
    default: return nullptr;
  }
}

template <bool kFtz>
Handler f32_extreme_handler(const ptx::Instruction& in) {
  using F = F32<kFtz, false>;
  using U = std::uint32_t;
  if (in.has(ptx::Modifier::kAbs) || in.operands.size() > 3) return nullptr;
  const bool nan = in.has(ptx::Modifier::kNan);
  if (in.opcode == ptx::Opcode::kMin) {
    return nan ? map2<U, U, typename F::template Extreme<false, true>>
               : map2<U, U, typename F::template Extreme<false, false>>;
  }
  return nan ? map2<U, U, typename F::template Extreme<true, true>>
             : map2<U, U, typename F::template Extreme<true, false>>;
}

template <bool kFtz>
Handler f32_handler_for(const ptx::Instruction& in) {
  using F = F32<kFtz, false>;
  using U = std::uint32_t;
  switch (in.opcode) {
    case ptx::Opcode::kDiv:
      if (in.has(ptx::Modifier::kApprox)) return map2<U, U, typename F::DivApprox>;
      return with_rounding<map2<U, U, typename F::Div>>(in);
    case ptx::Opcode::kRcp: return with_rounding<map1<U, U, typename F::Rcp>>(in);
    case ptx::Opcode::kSqrt: return with_rounding<map1<U, U, typename F::Sqrt>>(in);
    case ptx::Opcode::kRsqrt: return map1<U, U, typename F::Rsqrt>;
    case ptx::Opcode::kEx2: return map1<U, U, typename F::Ex2>;
    case ptx::Opcode::kLg2: return map1<U, U, typename F::Lg2>;
    case ptx::Opcode::kSin: return map1_slow<U, U, typename F::Sin>;
    case ptx::Opcode::kCos: return map1_slow<U, U, typename F::Cos>;
    case ptx::Opcode::kTanh: return map1<U, U, typename F::Tanh>;
    case ptx::Opcode::kNeg: return map1<U, U, typename F::Neg>;
    case ptx::Opcode::kAbs: return map1<U, U, typename F::Abs>;
    case ptx::Opcode::kMin:
    case ptx::Opcode::kMax: return f32_extreme_handler<kFtz>(in);
    case ptx::Opcode::kCopysign: return map2<U, U, Copysign<U>>;
    default: return nullptr;
  }
}

inline Handler f32_handler(const ptx::Instruction& in) {
  if (in.type_count != 1) return nullptr;
  const bool ftz = in.has(ptx::Modifier::kFtz);
  const bool sat = in.has(ptx::Modifier::kSat);
  if (const Handler sum =
          ftz ? (sat ? f32_sum_handler<true, true>(in) : f32_sum_handler<true, false>(in))
              : (sat ? f32_sum_handler<false, true>(in) : f32_sum_handler<false, false>(in))) {
    return sum;
  }
  return ftz ? f32_handler_for<true>(in) : f32_handler_for<false>(in);
}

inline Handler f64_handler(const ptx::Instruction& in) {
  using U = std::uint64_t;
  const bool approx = in.has(ptx::Modifier::kApprox);
  switch (in.opcode) {
    case ptx::Opcode::kAdd: return with_rounding<map2<U, U, F64::Add>>(in);
    case ptx::Opcode::kSub: return with_rounding<map2<U, U, F64::Sub>>(in);
    case ptx::Opcode::kMul: return with_rounding<map2<U, U, F64::Mul>>(in);
    case ptx::Opcode::kFma:
    case ptx::Opcode::kMad: return with_rounding<map3<U, U, F64::Fma>>(in);
    case ptx::Opcode::kDiv: return with_rounding<map2<U, U, F64::Div>>(in);
    case ptx::Opcode::kRcp:
      return approx ? map1<U, U, F64::RcpApprox> : with_rounding<map1<U, U, F64::Rcp>>(in);
    case ptx::Opcode::kSqrt: return with_rounding<map1<U, U, F64::Sqrt>>(in);
    case ptx::Opcode::kRsqrt:
      return in.has(ptx::Modifier::kFtz) ? map1<U, U, F64::RsqrtApprox> : map1<U, U, F64::Rsqrt>;
    case ptx::Opcode::kNeg: return map1<U, U, F64::Neg>;
    case ptx::Opcode::kAbs: return map1<U, U, F64::Abs>;
    case ptx::Opcode::kMin: return map2<U, U, F64::Extreme<false>>;
    case ptx::Opcode::kMax: return map2<U, U, F64::Extreme<true>>;
    case ptx::Opcode::kCopysign: return map2<U, U, Copysign<U>>;
    default: return nullptr;
  }
}
