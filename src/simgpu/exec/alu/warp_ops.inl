// Exchange between the lanes of a warp, moves, and what reads the state of a warp. The scheduler has already
// waited for the lanes of the member mask, whose slot is the first of the operation's list.

enum class Shuffle { kUp, kDown, kButterfly, kIndex };

inline const std::uint32_t* member_masks(const Warp& w, const Op& op) {
  return w.at<std::uint32_t>(w.frame->code->lists[op.list]);
}

template <Shuffle kHow>
void shuffle(Warp& w, const Op& op, LaneMask mask) {
  const std::uint32_t* a = w.at<std::uint32_t>(op.a);
  const std::uint32_t* b = w.at<std::uint32_t>(op.b);
  const std::uint32_t* c = w.at<std::uint32_t>(op.c);
  std::uint32_t values[kLanes];
  LaneMask in_range = 0;
  for_lanes(mask, [&](std::uint32_t lane) {
    const std::uint32_t segment = (c[lane] >> 8) & 31;
    const std::uint32_t clamp = c[lane] & 31;
    const std::uint32_t last = (lane & segment) | (clamp & ~segment & 31);
    const std::uint32_t by = b[lane] & 31;
    std::uint32_t from = 0;
    bool valid = false;
    if constexpr (kHow == Shuffle::kUp) {
      from = lane - by;
      valid = static_cast<std::int32_t>(from) >= static_cast<std::int32_t>(last);
    } else {
      if constexpr (kHow == Shuffle::kDown) from = lane + by;
      if constexpr (kHow == Shuffle::kButterfly) from = lane ^ by;
      if constexpr (kHow == Shuffle::kIndex) from = (lane & segment) | (by & ~segment & 31);
      valid = from <= last;
    }
    values[lane] = a[valid ? from & 31 : lane];
    if (valid) in_range |= 1u << lane;
  });
  std::uint32_t* d = op.d == kNoSlot ? nullptr : w.at<std::uint32_t>(op.d);
  if (d != nullptr) for_lanes(mask, [&](std::uint32_t lane) { d[lane] = values[lane]; });
  if (op.e != kNoSlot) {
    LaneMask& p = w.predicate(op.e);
    p = (p & ~mask) | (in_range & mask);
  }
}

enum class Vote { kAll, kAny, kUniform, kBallot };

template <Vote kHow>
void vote(Warp& w, const Op& op, LaneMask mask) {
  const LaneMask truth = op.c_negated ? ~w.predicate(op.a) : w.predicate(op.a);
  const std::uint32_t* members = member_masks(w, op);
  LaneMask result = 0;
  for_lanes(mask, [&](std::uint32_t lane) {
    const LaneMask who = members[lane] & mask;
    if constexpr (kHow == Vote::kBallot) {
      w.at<std::uint32_t>(op.d)[lane] = truth & who;
    } else {
      const bool all = (truth & who) == who;
      const bool any = (truth & who) != 0;
      const bool value = kHow == Vote::kAll ? all : kHow == Vote::kAny ? any : all || !any;
      if (value) result |= 1u << lane;
    }
  });
  if constexpr (kHow != Vote::kBallot) {
    LaneMask& p = w.predicate(op.d);
    p = (p & ~mask) | (result & mask);
  }
}

template <class T, bool kAll>
void match(Warp& w, const Op& op, LaneMask mask) {
  const T* a = w.at<T>(op.a);
  const std::uint32_t* members = member_masks(w, op);
  std::uint32_t same[kLanes];
  LaneMask all = 0;
  for_lanes(mask, [&](std::uint32_t lane) {
    const LaneMask who = members[lane] & mask;
    same[lane] = 0;
    for_lanes(who, [&](std::uint32_t other) {
      if (a[other] == a[lane]) same[lane] |= 1u << other;
    });
    if (same[lane] == who) {
      all |= 1u << lane;
    } else if (kAll) {
      same[lane] = 0;
    }
  });
  std::uint32_t* d = w.at<std::uint32_t>(op.d);
  for_lanes(mask, [&](std::uint32_t lane) { d[lane] = same[lane]; });
  if (op.e != kNoSlot) {
    LaneMask& p = w.predicate(op.e);
    p = (p & ~mask) | (all & mask);
  }
}

template <class F>
void reduce(Warp& w, const Op& op, LaneMask mask) {
  const std::uint32_t* a = w.at<std::uint32_t>(op.a);
  const std::uint32_t* members = member_masks(w, op);
  std::uint32_t values[kLanes];
  // .abs: the sign is left out.
  const std::uint32_t keep = (op.target & Options::kAbs) != 0 ? 0x7fffffff : 0xffffffff;
  for_lanes(mask, [&](std::uint32_t lane) {
    const LaneMask who = (members[lane] & mask) | 1u << lane;
    const auto first = static_cast<std::uint32_t>(__builtin_ctz(who));
    std::uint32_t sum = a[first] & keep;
    for_lanes(who & (who - 1), [&](std::uint32_t other) { sum = F::apply(sum, a[other] & keep); });
    values[lane] = sum;
  });
  std::uint32_t* d = w.at<std::uint32_t>(op.d);
  for_lanes(mask, [&](std::uint32_t lane) { d[lane] = values[lane]; });
}

// The lane that a group chooses: its first one.
inline void elect(Warp& w, const Op& op, LaneMask mask) {
  const std::uint32_t* members = member_masks(w, op);
  LaneMask leaders = 0;
  for_lanes(mask, [&](std::uint32_t lane) {
    const auto leader = static_cast<std::uint32_t>(__builtin_ctz((members[lane] & mask) | 1u << lane));
    if (leader == lane) leaders |= 1u << lane;
    if (op.d != kNoSlot) w.at<std::uint32_t>(op.d)[lane] = leader;
  });
  if (op.e != kNoSlot) {
    LaneMask& p = w.predicate(op.e);
    p = (p & ~mask) | (leaders & mask);
  }
}

// redux of f32: Op::target has the options.
template <bool kMax>
struct Extreme32 {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    return F32<false, false>::Extreme<kMax, false>::apply(a, b);
  }
};
template <bool kMax>
struct ExtremeNan32 {
  static std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    return F32<false, false>::Extreme<kMax, true>::apply(a, b);
  }
};

inline void active_mask(Warp& w, const Op& op, LaneMask mask) {
  std::uint32_t* d = w.at<std::uint32_t>(op.d);
  for_lanes(mask, [&](std::uint32_t lane) { d[lane] = mask; });
}

template <class T>
struct Same {
  static T apply(T a) { return a; }
};

inline void move_predicate(Warp& w, const Op& op, LaneMask mask) {
  LaneMask& d = w.predicate(op.d);
  const LaneMask a = op.c_negated ? ~w.predicate(op.a) : w.predicate(op.a);
  d = (d & ~mask) | (a & mask);
}

inline std::uint64_t read_slot(const Warp& w, std::uint32_t slot, std::uint32_t lane, bool is_64) {
  return is_64 ? w.at<std::uint64_t>(slot)[lane] : w.at<std::uint32_t>(slot)[lane];
}

// imm: bits of an element; a_is_64: the packed register has 64 bits.
inline void pack(Warp& w, const Op& op, LaneMask mask) {
  const std::uint32_t* list = w.frame->code->lists.data() + op.list;
  const auto bits = static_cast<unsigned>(op.imm);
  const std::uint64_t keep = (1ull << bits) - 1;
  for_lanes(mask, [&](std::uint32_t lane) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < op.width; ++i)
      value |= (w.at<std::uint32_t>(list[i])[lane] & keep) << (i * bits);
    if (op.a_is_64) {
      w.at<std::uint64_t>(op.d)[lane] = value;
    } else {
      w.at<std::uint32_t>(op.d)[lane] = static_cast<std::uint32_t>(value);
    }
  });
}

inline void unpack(Warp& w, const Op& op, LaneMask mask) {
  const std::uint32_t* list = w.frame->code->lists.data() + op.list;
  const auto bits = static_cast<unsigned>(op.imm);
  const std::uint64_t keep = (1ull << bits) - 1;
  for_lanes(mask, [&](std::uint32_t lane) {
    // Read before anything is written: the source may be among the destinations.
    const std::uint64_t value = read_slot(w, op.a, lane, op.a_is_64);
    for (unsigned i = 0; i < op.width; ++i) {
      if (list[i] != kNoSlot)
        w.at<std::uint32_t>(list[i])[lane] = static_cast<std::uint32_t>((value >> (i * bits)) & keep);
    }
  });
}

inline void local_address(Warp& w, const Op& op, LaneMask mask) {
  const std::uint64_t value = static_cast<std::uint64_t>(op.imm) + w.frame->local_base;
  for_lanes(mask, [&](std::uint32_t lane) {
    if (op.a_is_64) {
      w.at<std::uint64_t>(op.d)[lane] = value;
    } else {
      w.at<std::uint32_t>(op.d)[lane] = static_cast<std::uint32_t>(value);
    }
  });
}

inline void clock(Warp& w, const Op& op, LaneMask mask) {
  const auto special = static_cast<ptx::SpecialRegister>(op.imm);
  for_lanes(mask, [&](std::uint32_t lane) {
    const std::uint64_t value = special_value(w, special, lane);
    if (op.a_is_64) {
      w.at<std::uint64_t>(op.d)[lane] = value;
    } else {
      w.at<std::uint32_t>(op.d)[lane] = static_cast<std::uint32_t>(value);
    }
  });
}

// imm: the window to be in; 0 is global, which is everything else.
inline void isspacep(Warp& w, const Op& op, LaneMask mask) {
  LaneMask result = 0;
  for_lanes(mask, [&](std::uint32_t lane) {
    const std::uint64_t window = w.at<std::uint64_t>(op.a)[lane] & kWindowMask;
    if (window == static_cast<std::uint64_t>(op.imm)) result |= 1u << lane;
  });
  LaneMask& p = w.predicate(op.d);
  p = (p & ~mask) | (result & mask);
}

inline void nothing(Warp&, const Op&, LaneMask) {}

inline Handler find_redux(const ptx::Instruction& in) {
  using ptx::Modifier;
  const bool is_signed = in.type() == ptx::Type::kS32;
  if (in.type() == ptx::Type::kF32) {
    if (in.has(Modifier::kNan))
      return in.has(Modifier::kMin) ? reduce<ExtremeNan32<false>> : reduce<ExtremeNan32<true>>;
    return in.has(Modifier::kMin) ? reduce<Extreme32<false>> : reduce<Extreme32<true>>;
  }
  if (in.has(Modifier::kAdd)) return reduce<Int<std::uint32_t>::Add>;
  if (in.has(Modifier::kMin))
    return is_signed ? reduce<Int<std::int32_t>::Min> : reduce<Int<std::uint32_t>::Min>;
  if (in.has(Modifier::kMax))
    return is_signed ? reduce<Int<std::int32_t>::Max> : reduce<Int<std::uint32_t>::Max>;
  if (in.has(Modifier::kAnd)) return reduce<Int<std::uint32_t>::And>;
  if (in.has(Modifier::kOr)) return reduce<Int<std::uint32_t>::Or>;
  if (in.has(Modifier::kXor)) return reduce<Int<std::uint32_t>::Xor>;
  return nullptr;
}

inline Handler find_warp(const ptx::Instruction& in) {
  using ptx::Modifier;
  switch (in.opcode) {
    case ptx::Opcode::kShfl:
      if (in.has(Modifier::kUp)) return shuffle<Shuffle::kUp>;
      if (in.has(Modifier::kDown)) return shuffle<Shuffle::kDown>;
      if (in.has(Modifier::kBfly)) return shuffle<Shuffle::kButterfly>;
      return in.has(Modifier::kIdx) ? shuffle<Shuffle::kIndex> : nullptr;
    case ptx::Opcode::kVote:
      if (in.has(Modifier::kBallot)) return vote<Vote::kBallot>;
      if (in.has(Modifier::kAll)) return vote<Vote::kAll>;
      if (in.has(Modifier::kAny)) return vote<Vote::kAny>;
      return in.has(Modifier::kUni) ? vote<Vote::kUniform> : nullptr;
    case ptx::Opcode::kMatch:
      if (ptx::bits_of(in.type()) == 64) {
        return in.has(Modifier::kAll) ? match<std::uint64_t, true> : match<std::uint64_t, false>;
      }
      return in.has(Modifier::kAll) ? match<std::uint32_t, true> : match<std::uint32_t, false>;
    case ptx::Opcode::kActivemask: return active_mask;
    case ptx::Opcode::kRedux: return find_redux(in);
    case ptx::Opcode::kElect: return elect;
    default: return nullptr;
  }
}
