// setp, selp, slct, testp: comparisons of every type, ordered and unordered. Those that give numbers (set) or
// compare pairs are in general_compare.cpp.

template <class T>
inline auto comparable(SlotOf<T> bits) {
  return source_value<T>(bits);
}

struct Eq {
  template <class T>
  static bool test(T a, T b) {
    return a == b;
  }
};
struct Ne {
  template <class T>
  static bool test(T a, T b) {
    return !(a == b) && a == a && b == b;
  }
};
struct Lt {
  template <class T>
  static bool test(T a, T b) {
    return a < b;
  }
};
struct Le {
  template <class T>
  static bool test(T a, T b) {
    return a <= b;
  }
};
struct Gt {
  template <class T>
  static bool test(T a, T b) {
    return a > b;
  }
};
struct Ge {
  template <class T>
  static bool test(T a, T b) {
    return a >= b;
  }
};
// The unordered forms: true if either is a NaN.
struct Equ {
  template <class T>
  static bool test(T a, T b) {
    return !(a < b) && !(a > b);
  }
};
struct Neu {
  template <class T>
  static bool test(T a, T b) {
    return !(a == b);
  }
};
struct Ltu {
  template <class T>
  static bool test(T a, T b) {
    return !(a >= b);
  }
};
struct Leu {
  template <class T>
  static bool test(T a, T b) {
    return !(a > b);
  }
};
struct Gtu {
  template <class T>
  static bool test(T a, T b) {
    return !(a <= b);
  }
};
struct Geu {
  template <class T>
  static bool test(T a, T b) {
    return !(a < b);
  }
};
struct Num {
  template <class T>
  static bool test(T a, T b) {
    return a == a && b == b;
  }
};
struct Nan {
  template <class T>
  static bool test(T a, T b) {
    return !(a == a && b == b);
  }
};

template <class T, class C, bool kFtz>
inline LaneMask compare_lanes(const Warp& w, const Op& op) {
  const SlotOf<T>* a = w.at<SlotOf<T>>(op.a);
  const SlotOf<T>* b = w.at<SlotOf<T>>(op.b);
  // Bytes first: a loop that the compiler can vectorise, then eight lanes at a time into bits.
  alignas(32) std::uint8_t truth[kLanes];
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    SlotOf<T> x = a[i], y = b[i];
    if constexpr (kFtz) {
      x = flush32(x);
      y = flush32(y);
    }
    truth[i] = C::test(comparable<T>(x), comparable<T>(y)) ? 1 : 0;
  }
  LaneMask result = 0;
  for (std::uint32_t i = 0; i < kLanes; i += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, truth + i, sizeof eight);
    result |= static_cast<LaneMask>((eight * 0x0102040810204080ull) >> 56) << i;
  }
  return result;
}

inline LaneMask combine(const Warp& w, const Op& op, LaneMask result) {
  if (op.combine == Combine::kNone) return result;
  const LaneMask other = op.c_negated ? ~w.predicate(op.c) : w.predicate(op.c);
  if (op.combine == Combine::kAnd) return result & other;
  return op.combine == Combine::kOr ? result | other : result ^ other;
}

template <class T, class C, bool kFtz>
void setp(Warp& w, const Op& op, LaneMask mask) {
  const LaneMask result = compare_lanes<T, C, kFtz>(w, op);
  const LaneMask first = combine(w, op, result);
  const LaneMask second = op.e == kNoSlot ? 0 : combine(w, op, ~result);
  if (op.d != kNoSlot) {
    LaneMask& p = w.predicate(op.d);
    p = (p & ~mask) | (first & mask);
  }
  if (op.e != kNoSlot) {
    LaneMask& q = w.predicate(op.e);
    q = (q & ~mask) | (second & mask);
  }
}

template <class T, bool kFtz>
Handler compare_handler(const ptx::Instruction& in) {
  using ptx::Modifier;
  if (in.has(Modifier::kEq)) return setp<T, Eq, kFtz>;
  if (in.has(Modifier::kNe)) return setp<T, Ne, kFtz>;
  if (in.has(Modifier::kLt) || in.has(Modifier::kLo)) return setp<T, Lt, kFtz>;
  if (in.has(Modifier::kLe) || in.has(Modifier::kLs)) return setp<T, Le, kFtz>;
  if (in.has(Modifier::kGt) || in.has(Modifier::kHi)) return setp<T, Gt, kFtz>;
  if (in.has(Modifier::kGe) || in.has(Modifier::kHs)) return setp<T, Ge, kFtz>;
  if constexpr (kIsFloating<T>) {
    if (in.has(Modifier::kEqu)) return setp<T, Equ, kFtz>;
    if (in.has(Modifier::kNeu)) return setp<T, Neu, kFtz>;
    if (in.has(Modifier::kLtu)) return setp<T, Ltu, kFtz>;
    if (in.has(Modifier::kLeu)) return setp<T, Leu, kFtz>;
    if (in.has(Modifier::kGtu)) return setp<T, Gtu, kFtz>;
    if (in.has(Modifier::kGeu)) return setp<T, Geu, kFtz>;
    if (in.has(Modifier::kNum)) return setp<T, Num, kFtz>;
    if (in.has(Modifier::kIsNan)) return setp<T, Nan, kFtz>;
  }
  return nullptr;
}

inline Handler find_compare(const ptx::Instruction& in) {
  const bool ftz = in.has(ptx::Modifier::kFtz);
  switch (in.type()) {
    case ptx::Type::kB16:
    case ptx::Type::kU16: return compare_handler<std::uint16_t, false>(in);
    case ptx::Type::kS16: return compare_handler<std::int16_t, false>(in);
    case ptx::Type::kB32:
    case ptx::Type::kU32: return compare_handler<std::uint32_t, false>(in);
    case ptx::Type::kS32: return compare_handler<std::int32_t, false>(in);
    case ptx::Type::kB64:
    case ptx::Type::kU64: return compare_handler<std::uint64_t, false>(in);
    case ptx::Type::kS64: return compare_handler<std::int64_t, false>(in);
    case ptx::Type::kF16: return ftz ? nullptr : compare_handler<AsHalf, false>(in);
    case ptx::Type::kBf16: return compare_handler<AsBrain, false>(in);
    case ptx::Type::kF32: return ftz ? compare_handler<float, true>(in) : compare_handler<float, false>(in);
    case ptx::Type::kF64: return compare_handler<double, false>(in);
    default: return nullptr;
  }
}

template <class T>
void selp(Warp& w, const Op& op, LaneMask mask) {
  T* d = w.at<T>(op.d);
  const T* a = w.at<T>(op.a);
  const T* b = w.at<T>(op.b);
  const LaneMask choice = op.c_negated ? ~w.predicate(op.c) : w.predicate(op.c);
  T values[kLanes];
  SIMGPU_INDEPENDENT_LANES
  for (std::uint32_t i = 0; i < kLanes; ++i) values[i] = ((choice >> i) & 1u) != 0 ? a[i] : b[i];
  blend(d, values, mask);
}

// slct: a where c >= 0, else b; a NaN chooses b, and -0 counts as zero.
template <class T, class C, bool kFtz>
struct Slct {
  static T apply(T a, T b, std::uint32_t c) {
    if constexpr (kFtz) c = flush32(c);
    return source_value<C>(c) >= 0 ? a : b;
  }
};

template <class T>
Handler slct_handler(const ptx::Instruction& in) {
  if (in.types[1] == ptx::Type::kS32) return map3<T, T, Slct<T, std::int32_t, false>, T, std::uint32_t>;
  if (in.types[1] != ptx::Type::kF32) return nullptr;
  return in.has(ptx::Modifier::kFtz) ? map3<T, T, Slct<T, float, true>, T, std::uint32_t>
                                     : map3<T, T, Slct<T, float, false>, T, std::uint32_t>;
}

// testp: op.imm bits say which classes count.
enum : std::int64_t { kTestNan = 1, kTestInfinite = 2, kTestNormal = 4, kTestSubnormal = 8, kTestZero = 16 };
template <class T, class F>
void testp(Warp& w, const Op& op, LaneMask mask) {
  const T* a = w.at<T>(op.a);
  LaneMask result = 0;
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    std::int64_t cls = kTestNormal;
    switch (std::fpclassify(std::bit_cast<F>(a[i]))) {
      case FP_NAN: cls = kTestNan; break;
      case FP_INFINITE: cls = kTestInfinite; break;
      case FP_SUBNORMAL: cls = kTestSubnormal; break;
      case FP_ZERO: cls = kTestZero; break;
      default: break;
    }
    if ((cls & op.imm) != 0) result |= 1u << i;
  }
  LaneMask& p = w.predicate(op.d);
  p = (p & ~mask) | (result & mask);
}
