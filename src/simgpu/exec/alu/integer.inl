// Integer arithmetic, logic, shifts and bit fields. All wrapping is done on unsigned types. 16-bit values
// live in 32-bit slots with their upper half zero.

template <class T>
using WideOf = std::conditional_t<sizeof(T) == 2, std::uint32_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint64_t, UnsignedWide>>;
template <class T>
using SignedWideOf = std::conditional_t<sizeof(T) == 2, std::int32_t,
                                        std::conditional_t<sizeof(T) == 4, std::int64_t, SignedWide>>;
// The slot that holds a T.
template <class T>
using SlotOf = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

// T is the operand's C++ type, signed or unsigned, of 16, 32 or 64 bits.
template <class T>
struct Int {
  using U = std::make_unsigned_t<T>;
  using Slot = SlotOf<U>;
  static constexpr unsigned kBits = sizeof(T) * 8;
  using W = std::conditional_t<std::is_signed_v<T>, SignedWideOf<U>, WideOf<U>>;
  static T in(Slot x) { return static_cast<T>(static_cast<U>(x)); }
  static Slot out(U x) { return x; }
  // Products are formed in a type that cannot overflow.
  static W wide(Slot a, Slot b) { return static_cast<W>(in(a)) * static_cast<W>(in(b)); }

  struct Add {
    static Slot apply(Slot a, Slot b) { return out(static_cast<U>(a + b)); }
  };
  struct Sub {
    static Slot apply(Slot a, Slot b) { return out(static_cast<U>(a - b)); }
  };
  struct MulLo {
    static Slot apply(Slot a, Slot b) { return out(static_cast<U>(a * b)); }
  };
  struct MulHi {
    static Slot apply(Slot a, Slot b) { return out(static_cast<U>(wide(a, b) >> kBits)); }
  };
  struct MadLo {
    static Slot apply(Slot a, Slot b, Slot c) { return out(static_cast<U>(a * b + c)); }
  };
  struct MadHi {
    static Slot apply(Slot a, Slot b, Slot c) { return out(static_cast<U>(MulHi::apply(a, b) + c)); }
  };
  struct Div {
    static Slot apply(Slot a, Slot b) {
      if (in(b) == 0) return out(static_cast<U>(~U{0}));
      if constexpr (std::is_signed_v<T>) {
        if (in(b) == -1) return out(static_cast<U>(0 - static_cast<Slot>(a)));
      }
      return out(static_cast<U>(in(a) / in(b)));
    }
  };
  struct Rem {
    static Slot apply(Slot a, Slot b) {
      if (in(b) == 0) return out(static_cast<U>(a));
      if constexpr (std::is_signed_v<T>) {
        if (in(b) == -1) return 0;
      }
      return out(static_cast<U>(in(a) % in(b)));
    }
  };
  struct Min {
    static Slot apply(Slot a, Slot b) {
      return in(a) < in(b) ? out(static_cast<U>(a)) : out(static_cast<U>(b));
    }
  };
  struct Max {
    static Slot apply(Slot a, Slot b) {
      return in(a) > in(b) ? out(static_cast<U>(a)) : out(static_cast<U>(b));
    }
  };
  struct Abs {
    static Slot apply(Slot a) { return in(a) < 0 ? out(static_cast<U>(0 - a)) : out(static_cast<U>(a)); }
  };
  struct Neg {
    static Slot apply(Slot a) { return out(static_cast<U>(0 - a)); }
  };
  struct Sad {
    static Slot apply(Slot a, Slot b, Slot c) {
      return out(static_cast<U>(c + (in(a) < in(b) ? b - a : a - b)));
    }
  };
  struct And {
    static Slot apply(Slot a, Slot b) { return a & b; }
  };
  struct Or {
    static Slot apply(Slot a, Slot b) { return a | b; }
  };
  struct Xor {
    static Slot apply(Slot a, Slot b) { return a ^ b; }
  };
  struct Not {
    static Slot apply(Slot a) { return out(static_cast<U>(~a)); }
  };
  struct Cnot {
    static Slot apply(Slot a) { return a == 0 ? 1 : 0; }
  };
  // Shift amounts are 32-bit and clamp at the width.
  struct Shl {
    static Slot apply(Slot a, std::uint32_t n) {
      return n >= kBits ? 0 : out(static_cast<U>(a << (n & (kBits - 1))));
    }
  };
  struct Shr {
    static Slot apply(Slot a, std::uint32_t n) {
      if constexpr (std::is_signed_v<T>) {
        return out(static_cast<U>(in(a) >> (n >= kBits ? kBits - 1 : n)));
      } else {
        return n >= kBits ? 0 : out(static_cast<U>(in(a) >> (n & (kBits - 1))));
      }
    }
  };
  struct Popc {
    static std::uint32_t apply(Slot a) {
      return static_cast<std::uint32_t>(std::popcount(static_cast<U>(a)));
    }
  };
  struct Clz {
    static std::uint32_t apply(Slot a) {
      return static_cast<std::uint32_t>(std::countl_zero(static_cast<U>(a)));
    }
  };
  struct Bfind {
    static std::uint32_t apply(Slot a) {
      const U bits = in(a) < 0 ? static_cast<U>(~a) : static_cast<U>(a);
      return bits == 0 ? ~0u : kBits - 1 - static_cast<std::uint32_t>(std::countl_zero(bits));
    }
  };
  struct Brev {
    static Slot apply(Slot a) {
      Slot result = 0;
      for (unsigned i = 0; i < kBits; ++i) result |= ((a >> i) & 1u) << (kBits - 1 - i);
      return result;
    }
  };
  struct Bfe {
    static Slot apply(Slot a, std::uint32_t position, std::uint32_t length) {
      const unsigned pos = position & 0xff;
      const unsigned len = length & 0xff;
      if (len == 0) return 0;
      const unsigned last = std::min(pos + len - 1, kBits - 1);
      const bool fill = std::is_signed_v<T> && ((a >> last) & 1u) != 0;
      Slot bits = pos >= kBits ? 0 : static_cast<Slot>(a >> pos);
      const Slot keep = len >= kBits ? ~Slot{0} : (Slot{1} << len) - 1;
      // Bits past the source's top are the sign.
      const unsigned have = pos >= kBits ? 0 : kBits - pos;
      if (fill && have < kBits) bits |= ~Slot{0} << have;
      return fill ? out(static_cast<U>(bits | ~keep)) : out(static_cast<U>(bits & keep));
    }
  };
  struct Bfi {
    static Slot apply(Slot a, Slot b, std::uint32_t position, std::uint32_t length) {
      const unsigned pos = position & 0xff;
      const unsigned len = length & 0xff;
      if (len == 0 || pos >= kBits) return b;
      const Slot field = (len >= kBits ? ~Slot{0} : (Slot{1} << len) - 1) << pos;
      return (b & ~field) | ((a << pos) & field);
    }
  };
  // wide multiply: the slot of the result is twice as wide.
  using WideSlot = SlotOf<WideOf<U>>;
  struct MulWide {
    static WideSlot apply(Slot a, Slot b) { return static_cast<WideSlot>(wide(a, b)); }
  };
  struct MadWide {
    static WideSlot apply(Slot a, Slot b, WideSlot c) { return static_cast<WideSlot>(wide(a, b)) + c; }
  };
};

// Four signed or unsigned bytes of each, multiplied and added.
template <class A, class B>
struct Dp4a {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    std::uint32_t sum = c;
    for (unsigned i = 0; i < 32; i += 8) {
      sum += static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<A>(a >> i)) *
                                        static_cast<std::int32_t>(static_cast<B>(b >> i)));
    }
    return sum;
  }
};

struct Prmt {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t control) {
    const std::uint64_t source = (static_cast<std::uint64_t>(b) << 32) | a;
    std::uint32_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned selector = (control >> (4 * i)) & 0xf;
      std::uint32_t byte = static_cast<std::uint32_t>(source >> (8 * (selector & 7))) & 0xff;
      if ((selector & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
      result |= byte << (8 * i);
    }
    return result;
  }
};

template <bool kLeft, bool kWrap>
struct Funnel {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    const std::uint64_t value = (static_cast<std::uint64_t>(b) << 32) | a;
    const unsigned n = kWrap ? c & 31 : std::min(c, 32u);
    return kLeft ? static_cast<std::uint32_t>((value << n) >> 32) : static_cast<std::uint32_t>(value >> n);
  }
};

// lop3: op.imm is the truth table.
inline void lop3(Warp& w, const Op& op, LaneMask mask) {
  std::uint32_t* d = w.at<std::uint32_t>(op.d);
  const std::uint32_t* a = w.at<std::uint32_t>(op.a);
  const std::uint32_t* b = w.at<std::uint32_t>(op.b);
  const std::uint32_t* c = w.at<std::uint32_t>(op.c);
  std::uint32_t values[kLanes] = {};
  for (unsigned row = 0; row < 8; ++row) {
    if (((op.imm >> row) & 1) == 0) continue;
    // A row of the table: which operands are taken as they are.
    const std::uint32_t not_a = (row & 4) != 0 ? 0 : ~0u, not_b = (row & 2) != 0 ? 0 : ~0u;
    const std::uint32_t not_c = (row & 1) != 0 ? 0 : ~0u;
    for (std::uint32_t i = 0; i < kLanes; ++i) values[i] |= (a[i] ^ not_a) & (b[i] ^ not_b) & (c[i] ^ not_c);
  }
  blend(d, values, mask);
}

// Logic on predicates: whole masks at once.
template <class F>
void predicate_logic(Warp& w, const Op& op, LaneMask mask) {
  LaneMask& d = w.predicate(op.d);
  const LaneMask result = F::apply(w.predicate(op.a), op.b == kNoSlot ? 0 : w.predicate(op.b));
  d = (d & ~mask) | (result & mask);
}
struct PredicateNot {
  static LaneMask apply(LaneMask a, LaneMask) { return ~a; }
};

// mul.wide and mad.wide have no 64-bit form.
template <class T>
Handler wide_handler(ptx::Opcode opcode) {
  using I = Int<T>;
  if constexpr (sizeof(T) == 8) {
    return nullptr;
  } else {
    if (opcode == ptx::Opcode::kMul) return map2<typename I::WideSlot, typename I::Slot, typename I::MulWide>;
    return map3<typename I::WideSlot, typename I::Slot, typename I::MadWide, typename I::Slot,
                typename I::WideSlot>;
  }
}

template <class T>
Handler integer_handler(const ptx::Instruction& in) {
  using I = Int<T>;
  using S = typename I::Slot;
  using ptx::Modifier;
  switch (in.opcode) {
    case ptx::Opcode::kAdd: return map2<S, S, typename I::Add>;
    case ptx::Opcode::kSub: return map2<S, S, typename I::Sub>;
    case ptx::Opcode::kMul:
      if (in.has(Modifier::kWide)) return wide_handler<T>(in.opcode);
      return in.has(Modifier::kHi) ? map2<S, S, typename I::MulHi> : map2<S, S, typename I::MulLo>;
    case ptx::Opcode::kMad:
      if (in.has(Modifier::kWide)) return wide_handler<T>(in.opcode);
      return in.has(Modifier::kHi) ? map3<S, S, typename I::MadHi> : map3<S, S, typename I::MadLo>;
    case ptx::Opcode::kDiv: return map2_slow<S, S, typename I::Div>;
    case ptx::Opcode::kRem: return map2_slow<S, S, typename I::Rem>;
    case ptx::Opcode::kMin: return map2<S, S, typename I::Min>;
    case ptx::Opcode::kMax: return map2<S, S, typename I::Max>;
    case ptx::Opcode::kAbs: return map1<S, S, typename I::Abs>;
    case ptx::Opcode::kNeg: return map1<S, S, typename I::Neg>;
    case ptx::Opcode::kSad: return map3<S, S, typename I::Sad>;
    case ptx::Opcode::kAnd: return map2<S, S, typename I::And>;
    case ptx::Opcode::kOr: return map2<S, S, typename I::Or>;
    case ptx::Opcode::kXor: return map2<S, S, typename I::Xor>;
    case ptx::Opcode::kNot: return map1<S, S, typename I::Not>;
    case ptx::Opcode::kCnot: return map1<S, S, typename I::Cnot>;
    case ptx::Opcode::kShl: return map2<S, S, typename I::Shl, std::uint32_t>;
    case ptx::Opcode::kShr: return map2<S, S, typename I::Shr, std::uint32_t>;
    case ptx::Opcode::kPopc: return map1<std::uint32_t, S, typename I::Popc>;
    case ptx::Opcode::kClz: return map1<std::uint32_t, S, typename I::Clz>;
    case ptx::Opcode::kBfind: return map1<std::uint32_t, S, typename I::Bfind>;
    case ptx::Opcode::kBrev: return map1<S, S, typename I::Brev>;
    case ptx::Opcode::kBfe: return map3<S, S, typename I::Bfe, std::uint32_t, std::uint32_t>;
    case ptx::Opcode::kBfi: return map4<S, typename I::Bfi>;
    default: return nullptr;
  }
}

inline Handler predicate_handler(const ptx::Instruction& in) {
  switch (in.opcode) {
    case ptx::Opcode::kAnd: return predicate_logic<Int<std::uint32_t>::And>;
    case ptx::Opcode::kOr: return predicate_logic<Int<std::uint32_t>::Or>;
    case ptx::Opcode::kXor: return predicate_logic<Int<std::uint32_t>::Xor>;
    case ptx::Opcode::kNot: return predicate_logic<PredicateNot>;
    default: return nullptr;
  }
}
