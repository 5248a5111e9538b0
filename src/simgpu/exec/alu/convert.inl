// cvt between integer and floating types of every width, with PTX's rounding, clamping and NaN rules.

// Float to integer: out of range clamps, a NaN gives zero.
template <class D>
inline D clamp_to(double x) {
  constexpr double kLow = static_cast<double>(std::numeric_limits<D>::min());
  // One past the largest: exact, unlike the largest itself.
  constexpr double kEnd = 2.0 * static_cast<double>(std::numeric_limits<D>::max() / 2 + 1);
  if (x != x) return 0;
  if (x <= kLow) return std::numeric_limits<D>::min();
  if (x >= kEnd) return std::numeric_limits<D>::max();
  return static_cast<D>(x);
}

enum class Integral { kNo, kNearest, kZero, kDown, kUp };

template <Integral kHow>
inline double integral(double x) {
  if constexpr (kHow == Integral::kNearest) return __builtin_rint(x);
  if constexpr (kHow == Integral::kZero) return __builtin_trunc(x);
  if constexpr (kHow == Integral::kDown) return __builtin_floor(x);
  if constexpr (kHow == Integral::kUp) return __builtin_ceil(x);
  return x;
}

struct AsHalf {};  // stands for the type f16 among float and double

template <class S>
inline auto source_value(SlotOf<S> bits) {
  if constexpr (std::is_same_v<S, AsHalf>) {
    return half_to_double(bits & 0xffff);
  } else if constexpr (std::is_same_v<S, float>) {
    return std::bit_cast<float>(bits);
  } else if constexpr (std::is_same_v<S, double>) {
    return std::bit_cast<double>(bits);
  } else {
    return static_cast<S>(static_cast<std::make_unsigned_t<S>>(bits));
  }
}

template <class T>
constexpr bool kIsFloating =
    std::is_same_v<T, AsHalf> || std::is_same_v<T, float> || std::is_same_v<T, double>;

// Integer to integer.
template <class D, class S, bool kSat>
struct IntToInt {
  static SlotOf<D> apply(SlotOf<S> bits) {
    const S x = source_value<S>(bits);
    D r = static_cast<D>(x);
    if constexpr (kSat) {
      if (std::cmp_less(x, std::numeric_limits<D>::min())) r = std::numeric_limits<D>::min();
      if (std::cmp_greater(x, std::numeric_limits<D>::max())) r = std::numeric_limits<D>::max();
    }
    if constexpr (sizeof(D) == 8) return static_cast<std::uint64_t>(r);
    // Sign-extended: a narrower register is masked afterwards.
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(r));
  }
};

template <class S>
struct IntToF32 {
  static std::uint32_t apply(SlotOf<S> bits) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(source_value<S>(bits)));
  }
};
template <class S>
struct IntToF64 {
  static std::uint64_t apply(SlotOf<S> bits) {
    return std::bit_cast<std::uint64_t>(static_cast<double>(source_value<S>(bits)));
  }
};
template <class S>
struct IntToF16 {
  static std::uint32_t apply(SlotOf<S> bits) {
    return double_to_half(static_cast<double>(source_value<S>(bits)));
  }
};

template <class D, class S, Integral kHow, bool kFtz>
struct FloatToInt {
  static SlotOf<D> apply(SlotOf<S> bits) {
    if constexpr (kFtz && std::is_same_v<S, float>) bits = flush32(bits);
    const D r = clamp_to<D>(integral<kHow>(static_cast<double>(source_value<S>(bits))));
    if constexpr (sizeof(D) == 8) return static_cast<std::uint64_t>(r);
    if constexpr (sizeof(D) == 2) return static_cast<std::uint16_t>(r);
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(r));
  }
};

template <class D, class S, Integral kHow, bool kFtz, bool kSat, bool kToZero>
struct FloatToFloat {
  static SlotOf<D> apply(SlotOf<S> bits) {
    if constexpr (kFtz && std::is_same_v<S, float>) bits = flush32(bits);
    double x = static_cast<double>(source_value<S>(bits));
    x = integral<kHow>(x);
    if constexpr (kSat) x = x > 0 ? (x < 1 ? x : 1.0) : 0.0;
    if constexpr (std::is_same_v<D, AsHalf>) return double_to_half<kToZero>(x);
    if constexpr (std::is_same_v<D, float>) return out32<kFtz, false>(static_cast<float>(x));
    if constexpr (std::is_same_v<D, double>) return out64(x);
  }
};

// A signed result in a 16-bit register: its upper half is zero. Registers outside the mask keep what they
// hold.
template <Handler H, unsigned kBits>
void narrowed(Warp& w, const Op& op, LaneMask mask) {
  H(w, op, mask);
  std::uint32_t* d = w.at<std::uint32_t>(op.d);
  for (std::uint32_t i = 0; i < kLanes; ++i) d[i] &= (1u << kBits) - 1;
}

inline Integral integral_of(const ptx::Instruction& in, bool to_integer) {
  using ptx::Modifier;
  if (in.has(Modifier::kRni) || (to_integer && in.has(Modifier::kRn))) return Integral::kNearest;
  if (in.has(Modifier::kRzi) || (to_integer && in.has(Modifier::kRz))) return Integral::kZero;
  if (in.has(Modifier::kRmi) || (to_integer && in.has(Modifier::kRm))) return Integral::kDown;
  if (in.has(Modifier::kRpi) || (to_integer && in.has(Modifier::kRp))) return Integral::kUp;
  return to_integer ? Integral::kZero : Integral::kNo;
}

template <class D, class S>
Handler int_to_int(const ptx::Instruction& in, bool narrow) {
  constexpr Handler kPlain = map1<SlotOf<D>, SlotOf<S>, IntToInt<D, S, false>>;
  constexpr Handler kClamped = map1<SlotOf<D>, SlotOf<S>, IntToInt<D, S, true>>;
  if constexpr (sizeof(D) < 4 && std::is_signed_v<D>) {
    if (narrow) return in.has(ptx::Modifier::kSat) ? narrowed<kClamped, 16> : narrowed<kPlain, 16>;
  }
  return in.has(ptx::Modifier::kSat) ? kClamped : kPlain;
}

template <class D, class S, bool kFtz>
Handler float_to_int_how(const ptx::Instruction& in) {
  switch (integral_of(in, true)) {
    case Integral::kNearest: return map1<SlotOf<D>, SlotOf<S>, FloatToInt<D, S, Integral::kNearest, kFtz>>;
    case Integral::kDown: return map1<SlotOf<D>, SlotOf<S>, FloatToInt<D, S, Integral::kDown, kFtz>>;
    case Integral::kUp: return map1<SlotOf<D>, SlotOf<S>, FloatToInt<D, S, Integral::kUp, kFtz>>;
    default: return map1<SlotOf<D>, SlotOf<S>, FloatToInt<D, S, Integral::kZero, kFtz>>;
  }
}

template <class D, class S, Integral kHow, bool kFtz, bool kSat>
Handler float_to_float_rounded(const ptx::Instruction& in) {
  using ptx::Modifier;
  if constexpr (std::is_same_v<D, AsHalf>) {
    if (in.has(Modifier::kRm) || in.has(Modifier::kRp)) return nullptr;
    return in.has(Modifier::kRz) ? map1<SlotOf<D>, SlotOf<S>, FloatToFloat<D, S, kHow, kFtz, kSat, true>>
                                 : map1<SlotOf<D>, SlotOf<S>, FloatToFloat<D, S, kHow, kFtz, kSat, false>>;
  } else {
    return with_rounding<map1<SlotOf<D>, SlotOf<S>, FloatToFloat<D, S, kHow, kFtz, kSat, false>>>(in);
  }
}

template <class D, class S, bool kFtz, bool kSat>
Handler float_to_float_how(const ptx::Instruction& in) {
  switch (integral_of(in, false)) {
    case Integral::kNearest: return float_to_float_rounded<D, S, Integral::kNearest, kFtz, kSat>(in);
    case Integral::kZero: return float_to_float_rounded<D, S, Integral::kZero, kFtz, kSat>(in);
    case Integral::kDown: return float_to_float_rounded<D, S, Integral::kDown, kFtz, kSat>(in);
    case Integral::kUp: return float_to_float_rounded<D, S, Integral::kUp, kFtz, kSat>(in);
    default: return float_to_float_rounded<D, S, Integral::kNo, kFtz, kSat>(in);
  }
}

template <class D, class S>
Handler convert_handler(const ptx::Instruction& in, bool narrow) {
  const bool ftz = in.has(ptx::Modifier::kFtz);
  const bool sat = in.has(ptx::Modifier::kSat);
  if constexpr (!kIsFloating<D> && !kIsFloating<S>) {
    return int_to_int<D, S>(in, narrow);
  } else if constexpr (!kIsFloating<D>) {
    // Clamping is what the conversion does anyway.
    const Handler plain = ftz ? float_to_int_how<D, S, true>(in) : float_to_int_how<D, S, false>(in);
    return plain;
  } else if constexpr (!kIsFloating<S>) {
    if (sat) return nullptr;
    if constexpr (std::is_same_v<D, float>)
      return with_rounding<map1<std::uint32_t, SlotOf<S>, IntToF32<S>>>(in);
    if constexpr (std::is_same_v<D, double>)
      return with_rounding<map1<std::uint64_t, SlotOf<S>, IntToF64<S>>>(in);
    if (!in.has(ptx::Modifier::kRn)) return nullptr;
    return map1<std::uint32_t, SlotOf<S>, IntToF16<S>>;
  } else {
    if (ftz)
      return sat ? float_to_float_how<D, S, true, true>(in) : float_to_float_how<D, S, true, false>(in);
    return sat ? float_to_float_how<D, S, false, true>(in) : float_to_float_how<D, S, false, false>(in);
  }
}

template <class D>
Handler convert_from(const ptx::Instruction& in, bool narrow) {
  switch (in.types[1]) {
    case ptx::Type::kB8:
    case ptx::Type::kU8: return convert_handler<D, std::uint8_t>(in, narrow);
    case ptx::Type::kS8: return convert_handler<D, std::int8_t>(in, narrow);
    case ptx::Type::kB16:
    case ptx::Type::kU16: return convert_handler<D, std::uint16_t>(in, narrow);
    case ptx::Type::kS16: return convert_handler<D, std::int16_t>(in, narrow);
    case ptx::Type::kB32:
    case ptx::Type::kU32: return convert_handler<D, std::uint32_t>(in, narrow);
    case ptx::Type::kS32: return convert_handler<D, std::int32_t>(in, narrow);
    case ptx::Type::kB64:
    case ptx::Type::kU64: return convert_handler<D, std::uint64_t>(in, narrow);
    case ptx::Type::kS64: return convert_handler<D, std::int64_t>(in, narrow);
    case ptx::Type::kF16: return convert_handler<D, AsHalf>(in, narrow);
    case ptx::Type::kF32: return convert_handler<D, float>(in, narrow);
    case ptx::Type::kF64: return convert_handler<D, double>(in, narrow);
    default: return nullptr;
  }
}

// narrow: the destination is a 16-bit register.
inline Handler find_convert(const ptx::Instruction& in, bool narrow) {
  switch (in.types[0]) {
    case ptx::Type::kB8:
    case ptx::Type::kU8: return convert_from<std::uint8_t>(in, narrow);
    case ptx::Type::kS8: return convert_from<std::int8_t>(in, narrow);
    case ptx::Type::kB16:
    case ptx::Type::kU16: return convert_from<std::uint16_t>(in, narrow);
    case ptx::Type::kS16: return convert_from<std::int16_t>(in, narrow);
    case ptx::Type::kB32:
    case ptx::Type::kU32: return convert_from<std::uint32_t>(in, narrow);
    case ptx::Type::kS32: return convert_from<std::int32_t>(in, narrow);
    case ptx::Type::kB64:
    case ptx::Type::kU64: return convert_from<std::uint64_t>(in, narrow);
    case ptx::Type::kS64: return convert_from<std::int64_t>(in, narrow);
    case ptx::Type::kF16: return convert_from<AsHalf>(in, narrow);
    case ptx::Type::kF32: return convert_from<float>(in, narrow);
    case ptx::Type::kF64: return convert_from<double>(in, narrow);
    default: return nullptr;
  }
}
