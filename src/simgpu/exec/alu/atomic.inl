// What atom and red do to a value in memory, by operation and type. How they reach it is in memory.inl.

// Atomic updates: new value from (old, b, c, flush).
struct AtomExch {
  template <class T>
  static T apply(T, T b, T, bool) {
    return b;
  }
};
struct AtomCas {
  template <class T>
  static T apply(T old, T b, T c, bool) {
    return old == b ? c : old;
  }
};
struct AtomInc {
  template <class T>
  static T apply(T old, T b, T, bool) {
    return old >= b ? 0 : old + 1;
  }
};
struct AtomDec {
  template <class T>
  static T apply(T old, T b, T, bool) {
    return old == 0 || old > b ? b : old - 1;
  }
};
template <class F>
struct AtomInt {
  template <class T>
  static T apply(T old, T b, T, bool) {
    return F::apply(old, b);
  }
};
struct AtomAddF32 {
  static std::uint32_t apply(std::uint32_t old, std::uint32_t b, std::uint32_t, bool flush) {
    return flush ? F32<true, false>::Add::apply(old, b) : F32<false, false>::Add::apply(old, b);
  }
};
struct AtomAddF64 {
  static std::uint64_t apply(std::uint64_t old, std::uint64_t b, std::uint64_t, bool) {
    return F64::Add::apply(old, b);
  }
};
// F on halves, one or two of them. Subnormals are kept: .noftz.
template <class T, class F>
struct AtomHalf {
  static T apply(T old, T b, T, bool) { return static_cast<T>(F::apply(old, b)); }
};

template <>
constexpr Use kUpdateBy<AtomAddF32> = Use::kFloatUpdate;
template <>
constexpr Use kUpdateBy<AtomAddF64> = Use::kFloatUpdate;
template <class T, class F>
constexpr Use kUpdateBy<AtomHalf<T, F>> = Use::kFloatUpdate;

template <class T>
Handler integer_atomic(const ptx::Instruction& in) {
  using I = Int<T>;
  using U = std::make_unsigned_t<T>;
  using ptx::Modifier;
  if (in.has(Modifier::kAdd)) return atomic<U, AtomInt<typename I::Add>>;
  if (in.has(Modifier::kMin)) return atomic<U, AtomInt<typename I::Min>>;
  if (in.has(Modifier::kMax)) return atomic<U, AtomInt<typename I::Max>>;
  if (in.has(Modifier::kAnd)) return atomic<U, AtomInt<typename I::And>>;
  if (in.has(Modifier::kOr)) return atomic<U, AtomInt<typename I::Or>>;
  if (in.has(Modifier::kXor)) return atomic<U, AtomInt<typename I::Xor>>;
  if (in.has(Modifier::kExch)) return atomic<U, AtomExch>;
  if (in.has(Modifier::kCas)) return atomic<U, AtomCas>;
  if (in.has(Modifier::kInc)) return atomic<U, AtomInc>;
  if (in.has(Modifier::kDec)) return atomic<U, AtomDec>;
  return nullptr;
}

template <class Format>
Handler half_atomic(const ptx::Instruction& in) {
  using H = HalfOps<Format>;
  using T = std::uint16_t;
  using ptx::Modifier;
  if (in.has(Modifier::kAdd)) return atomic<T, AtomHalf<T, typename H::Add>>;
  if (in.has(Modifier::kMin)) return atomic<T, AtomHalf<T, typename H::template Extreme<false>>>;
  return in.has(Modifier::kMax) ? atomic<T, AtomHalf<T, typename H::template Extreme<true>>> : nullptr;
}
template <class Format>
Handler half_pair_atomic(const ptx::Instruction& in) {
  using H = HalfOps<Format>;
  using T = std::uint32_t;
  using ptx::Modifier;
  if (in.has(Modifier::kAdd)) return atomic<T, AtomHalf<T, Packed<typename H::Add>>>;
  if (in.has(Modifier::kMin)) return atomic<T, AtomHalf<T, Packed<typename H::template Extreme<false>>>>;
  return in.has(Modifier::kMax) ? atomic<T, AtomHalf<T, Packed<typename H::template Extreme<true>>>>
                                : nullptr;
}

inline Handler find_atomic(const ptx::Instruction& in) {
  using ptx::Modifier;
  const bool add = in.has(Modifier::kAdd);
  switch (in.type()) {
    case ptx::Type::kB16: return in.has(Modifier::kCas) ? atomic<std::uint16_t, AtomCas> : nullptr;
    case ptx::Type::kB32:
    case ptx::Type::kU32: return integer_atomic<std::uint32_t>(in);
    case ptx::Type::kS32: return integer_atomic<std::int32_t>(in);
    case ptx::Type::kB64:
    case ptx::Type::kU64: return integer_atomic<std::uint64_t>(in);
    case ptx::Type::kS64: return integer_atomic<std::int64_t>(in);
    case ptx::Type::kB128:
      if (in.has(Modifier::kExch)) return atomic<UnsignedWide, AtomExch>;
      return in.has(Modifier::kCas) ? atomic<UnsignedWide, AtomCas> : nullptr;
    case ptx::Type::kF32: return add ? atomic<std::uint32_t, AtomAddF32> : nullptr;
    case ptx::Type::kF64: return add ? atomic<std::uint64_t, AtomAddF64> : nullptr;
    case ptx::Type::kF16: return half_atomic<AsHalf>(in);
    case ptx::Type::kBf16: return half_atomic<AsBrain>(in);
    case ptx::Type::kF16x2: return half_pair_atomic<AsHalf>(in);
    case ptx::Type::kBf16x2: return half_pair_atomic<AsBrain>(in);
    default: return nullptr;
  }
}
