// The conversions that programs are full of; the others are in general_convert.cpp. Between integers, between
// integers and f32 or f64, between floating types.

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, AsHalf> || std::is_same_v<T, AsBrain>;
template <class T>
constexpr bool kIsFloating = kIsHalf<T> || std::is_same_v<T, float> || std::is_same_v<T, double>;

template <class S>
inline auto source_value(SlotOf<S> bits) {
  if constexpr (kIsHalf<S>) {
    return S::widen(bits & 0xffff);
  } else if constexpr (std::is_same_v<S, float>) {
    return std::bit_cast<float>(bits);
  } else if constexpr (std::is_same_v<S, double>) {
    return std::bit_cast<double>(bits);
  } else {
    return static_cast<S>(static_cast<std::make_unsigned_t<S>>(bits));
  }
}

// Integer to integer, into a register of the same size as D.
template <class D, class S>
struct IntToInt {
  static SlotOf<D> apply(SlotOf<S> bits) {
    return static_cast<std::make_unsigned_t<D>>(static_cast<D>(source_value<S>(bits)));
  }
};

template <class D, class S>
struct IntToFloat {
  static SlotOf<D> apply(SlotOf<S> bits) {
    return std::bit_cast<SlotOf<D>>(static_cast<D>(source_value<S>(bits)));
  }
};

// f32 to 32 bits: out of range clamps, a NaN gives zero. In double everything in between is exact.
template <class D, Rounding kHow>
struct F32ToInt {
  static std::uint32_t apply(std::uint32_t bits) {
    const double x = static_cast<double>(std::bit_cast<float>(bits));
    double r = x;
    if constexpr (kHow == Rounding::kNearest) r = __builtin_rint(x);
    if constexpr (kHow == Rounding::kDown) r = __builtin_floor(x);
    if constexpr (kHow == Rounding::kUp) r = __builtin_ceil(x);
    constexpr double kLow = static_cast<double>(std::numeric_limits<D>::min());
    constexpr double kHigh = static_cast<double>(std::numeric_limits<D>::max());
    r = r > kLow ? r : kLow;
    r = r < kHigh ? r : kHigh;
    r = x != x ? 0.0 : r;
    // Through 64 bits where a double may be beyond what the host's instruction for 32 takes.
    if constexpr (std::is_signed_v<D>) return static_cast<std::uint32_t>(static_cast<D>(r));
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(r));
  }
};

// f32 to f32: rounded to an integer or not.
template <bool kIntegral, Rounding kHow, bool kFtz, bool kSat>
struct F32ToF32 {
  static std::uint32_t apply(std::uint32_t bits) {
    float x = in32<kFtz>(bits);
    if constexpr (kIntegral && kHow == Rounding::kNearest) x = __builtin_rintf(x);
    if constexpr (kIntegral && kHow == Rounding::kZero) x = __builtin_truncf(x);
    if constexpr (kIntegral && kHow == Rounding::kDown) x = __builtin_floorf(x);
    if constexpr (kIntegral && kHow == Rounding::kUp) x = __builtin_ceilf(x);
    return out32<kFtz, kSat>(x);
  }
};

template <bool kFtz>
struct F32ToF64 {
  static std::uint64_t apply(std::uint32_t bits) {
    // The host's conversion keeps the payload of a NaN and makes it quiet, as PTX does.
    return std::bit_cast<std::uint64_t>(static_cast<double>(in32<kFtz>(bits)));
  }
};
template <bool kFtz>
struct F64ToF32 {
  static std::uint32_t apply(std::uint64_t bits) {
    return out32<kFtz, false>(static_cast<float>(std::bit_cast<double>(bits)));
  }
};

template <class H>
struct HalfToF32 {
  static std::uint32_t apply(std::uint32_t bits) { return out32<false, false>(H::widen(bits & 0xffff)); }
};
template <class H>
struct F32ToHalf {
  static std::uint32_t apply(std::uint32_t bits) { return H::narrow(std::bit_cast<float>(bits)); }
};
// Two floats into one register: the first is the upper half.
template <class H>
struct F32sToHalves {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    return (H::narrow(std::bit_cast<float>(a)) << 16) | H::narrow(std::bit_cast<float>(b));
  }
};

template <class D, class S>
Handler between_numbers(const ptx::Instruction& in) {
  if constexpr (!kIsFloating<D> && !kIsFloating<S>) {
    return map1<SlotOf<D>, SlotOf<S>, IntToInt<D, S>>;
  } else {
    return with_rounding<map1<SlotOf<D>, SlotOf<S>, IntToFloat<D, S>>>(in);
  }
}

template <class D>
Handler from_integer(const ptx::Instruction& in) {
  switch (in.types[1]) {
    case ptx::Type::kU8: return between_numbers<D, std::uint8_t>(in);
    case ptx::Type::kS8: return between_numbers<D, std::int8_t>(in);
    case ptx::Type::kU16: return between_numbers<D, std::uint16_t>(in);
    case ptx::Type::kS16: return between_numbers<D, std::int16_t>(in);
    case ptx::Type::kU32: return between_numbers<D, std::uint32_t>(in);
    case ptx::Type::kS32: return between_numbers<D, std::int32_t>(in);
    case ptx::Type::kU64: return between_numbers<D, std::uint64_t>(in);
    case ptx::Type::kS64: return between_numbers<D, std::int64_t>(in);
    default: return nullptr;
  }
}

inline Handler to_number(const ptx::Instruction& in) {
  switch (in.types[0]) {
    case ptx::Type::kU16: return from_integer<std::uint16_t>(in);
    case ptx::Type::kS16: return from_integer<std::int16_t>(in);
    case ptx::Type::kU32: return from_integer<std::uint32_t>(in);
    case ptx::Type::kS32: return from_integer<std::int32_t>(in);
    case ptx::Type::kU64: return from_integer<std::uint64_t>(in);
    case ptx::Type::kS64: return from_integer<std::int64_t>(in);
    case ptx::Type::kF32: return from_integer<float>(in);
    case ptx::Type::kF64: return from_integer<double>(in);
    default: return nullptr;
  }
}

template <class D>
Handler f32_to_integer(Rounding rounding) {
  using U = std::uint32_t;
  switch (rounding) {
    case Rounding::kNearest: return map1<U, U, F32ToInt<D, Rounding::kNearest>>;
    case Rounding::kZero: return map1<U, U, F32ToInt<D, Rounding::kZero>>;
    case Rounding::kDown: return map1<U, U, F32ToInt<D, Rounding::kDown>>;
    default: return map1<U, U, F32ToInt<D, Rounding::kUp>>;
  }
}

template <bool kFtz, bool kSat>
Handler f32_to_f32(const Options& options) {
  using U = std::uint32_t;
  if (!options.has(Options::kIntegral)) return map1<U, U, F32ToF32<false, Rounding::kNearest, kFtz, kSat>>;
  switch (options.rounding()) {
    case Rounding::kNearest: return map1<U, U, F32ToF32<true, Rounding::kNearest, kFtz, kSat>>;
    case Rounding::kZero: return map1<U, U, F32ToF32<true, Rounding::kZero, kFtz, kSat>>;
    case Rounding::kDown: return map1<U, U, F32ToF32<true, Rounding::kDown, kFtz, kSat>>;
    default: return map1<U, U, F32ToF32<true, Rounding::kUp, kFtz, kSat>>;
  }
}

inline Handler from_f32(const ptx::Instruction& in, const Options& options) {
  using U = std::uint32_t;
  const bool plain =
      (options.bits & (Options::kFtz | Options::kSat | Options::kRelu | Options::kSatfinite)) == 0;
  const bool nearest = plain && options.rounding() == Rounding::kNearest;
  const bool ftz = options.has(Options::kFtz), sat = options.has(Options::kSat);
  switch (in.types[0]) {
    case ptx::Type::kS32: return plain ? f32_to_integer<std::int32_t>(options.rounding()) : nullptr;
    case ptx::Type::kU32: return plain ? f32_to_integer<std::uint32_t>(options.rounding()) : nullptr;
    case ptx::Type::kF64:
      if (sat) return nullptr;
      return ftz ? map1<std::uint64_t, U, F32ToF64<true>> : map1<std::uint64_t, U, F32ToF64<false>>;
    case ptx::Type::kF32:
      if (ftz) return sat ? f32_to_f32<true, true>(options) : f32_to_f32<true, false>(options);
      return sat ? f32_to_f32<false, true>(options) : f32_to_f32<false, false>(options);
    case ptx::Type::kF16: return nearest ? map1<U, U, F32ToHalf<AsHalf>> : nullptr;
    case ptx::Type::kBf16: return nearest ? map1<U, U, F32ToHalf<AsBrain>> : nullptr;
    case ptx::Type::kF16x2: return nearest ? map2<U, U, F32sToHalves<AsHalf>> : nullptr;
    case ptx::Type::kBf16x2: return nearest ? map2<U, U, F32sToHalves<AsBrain>> : nullptr;
    default: return nullptr;
  }
}

// Into a register as wide as the type; wider ones are the general form's.
inline Handler find_convert(const ptx::Instruction& in) {
  const Options options = options_of(in);
  if (in.has(ptx::Modifier::kPack)) return nullptr;
  const bool to_f32 = in.type() == ptx::Type::kF32;
  switch (in.types[1]) {
    case ptx::Type::kF32: return from_f32(in, options);
    case ptx::Type::kF64:
      if (!to_f32 || options.has(Options::kSat)) return nullptr;
      return options.has(Options::kFtz)
                 ? with_rounding<map1<std::uint32_t, std::uint64_t, F64ToF32<true>>>(in)
                 : with_rounding<map1<std::uint32_t, std::uint64_t, F64ToF32<false>>>(in);
    case ptx::Type::kF16:
      return to_f32 && !options.has(Options::kFtz | Options::kSat)
                 ? map1<std::uint32_t, std::uint32_t, HalfToF32<AsHalf>>
                 : nullptr;
    case ptx::Type::kBf16: return to_f32 ? map1<std::uint32_t, std::uint32_t, HalfToF32<AsBrain>> : nullptr;
    default: return options.has(Options::kSat) ? nullptr : to_number(in);
  }
}
