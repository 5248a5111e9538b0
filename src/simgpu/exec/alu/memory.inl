// ld, st, atom and red for all spaces: addresses of a warp are checked together where they lie together, lane
// by lane otherwise. Lanes act in order, so that atomics repeat exactly.

struct Resolved {
  std::byte* base = nullptr;  // lane i is at base + (address[i] - origin), or at each[i] if this is null
  std::uint64_t origin = 0;
  bool contiguous = false;  // every lane active, each right after the one before
  std::byte* each[kLanes];
};

template <class F>
inline void for_lanes(LaneMask mask, F f) {
  for (LaneMask rest = mask; rest != 0; rest &= rest - 1) f(static_cast<std::uint32_t>(__builtin_ctz(rest)));
}

// Lanes that take no part get the address of one that does, so that the checks need no mask.
inline void addresses(const Warp& w, const Op& op, LaneMask mask, std::uint64_t* out) {
  std::uint64_t add = static_cast<std::uint64_t>(op.imm);
  if (op.relative == Relative::kLocalFrame) add += w.frame->local_base;
  if (op.a == kNoSlot) {
    for (std::uint32_t i = 0; i < kLanes; ++i) out[i] = add;
  } else if (op.a_is_64) {
    const std::uint64_t* a = w.at<std::uint64_t>(op.a);
    for (std::uint32_t i = 0; i < kLanes; ++i) out[i] = a[i] + add;
  } else {
    const std::uint32_t* a = w.at<std::uint32_t>(op.a);
    for (std::uint32_t i = 0; i < kLanes; ++i) out[i] = a[i] + add;
  }
  if (mask != kAllLanes) {
    const std::uint64_t any = out[__builtin_ctz(mask)];
    for (std::uint32_t i = 0; i < kLanes; ++i) out[i] = ((mask >> i) & 1u) != 0 ? out[i] : any;
  }
}

inline bool is_contiguous(const std::uint64_t* address, std::uint64_t bytes) {
  std::uint64_t difference = 0;
  for (std::uint32_t i = 0; i < kLanes; ++i) difference |= (address[i] - address[0]) ^ (i * bytes);
  return difference == 0;
}

struct Span {
  std::uint64_t low;
  std::uint64_t high;
};
inline Span span_of(const std::uint64_t* address) {
  Span span{address[0], address[0]};
  for (std::uint32_t i = 1; i < kLanes; ++i) {
    span.low = address[i] < span.low ? address[i] : span.low;
    span.high = address[i] > span.high ? address[i] : span.high;
  }
  return span;
}

inline bool is_device_memory(Memory memory) {
  return memory == Memory::kGlobal || memory == Memory::kGeneric;
}

// Only where the gap between lanes is small is one check for all of them cheaper.
constexpr std::uint64_t kMaxSharedCheckBytes = 1u << 16;

// Nothing in the states is against the access. reads: they must have been written, too.
inline bool permit(const std::uint8_t* states, std::uint64_t bytes, bool reads) {
  const auto wanted = reads ? kWritten : std::uint8_t{0};
  const auto mask = static_cast<std::uint8_t>(reads ? kOutside | kWritten : kOutside);
  std::uint8_t differs = 0;
  for (std::uint64_t i = 0; i < bytes; ++i) differs |= (states[i] ^ wanted) & mask;
  return differs == 0;
}

// The states of what a lane accesses; nullptr where none are kept.
inline std::uint8_t* states_of(const Warp& w, Memory memory, std::uint64_t address) {
  Block& block = *w.block;
  const std::uint64_t window = address & kWindowMask;
  if (memory == Memory::kGlobal || (memory == Memory::kGeneric && window == 0)) {
    return block.states + (address - block.states_begin);
  }
  const bool shared = memory == Memory::kShared || (memory == Memory::kGeneric && window == kSharedWindow);
  return shared && !block.shared_states.empty() ? block.shared_states.data() + (address & ~kWindowMask)
                                                : nullptr;
}

template <Use kUse>
inline void track_lane(const Warp& w, const Op& op, std::uint32_t lane, std::uint64_t address,
                       std::uint64_t bytes) {
  std::uint8_t* states = states_of(w, op.memory, address);
  if (states == nullptr) return;
  if (!permit(states, bytes, kUse != Use::kWrite && w.block->check_reads)) {
    if (permit(states, bytes, false)) {
      note_uninitialised(w, lane, op.memory, address, bytes);
      std::memset(states, kWritten, bytes);  // told once
    } else {
      note_out_of_bounds(w, lane, op.memory, address, bytes, kUse != Use::kRead);
      return;
    }
  }
  if (kUse == Use::kWrite) std::memset(states, kWritten, bytes);
}

template <class Word>
constexpr Word kEachByte = static_cast<Word>(~Word{0}) / 0xff;

// The same as permit for what all lanes access, and marking it as written: by words of the access' own size.
template <class Word>
inline bool permit_lanes(const std::uint8_t* states, const std::uint64_t* offset, bool reads) {
  const Word wanted = reads ? static_cast<Word>(kEachByte<Word> * kWritten) : Word{0};
  const auto mask = static_cast<Word>(kEachByte<Word> * (reads ? kOutside | kWritten : kOutside));
  Word differs = 0;
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    Word word;
    std::memcpy(&word, states + offset[i], sizeof word);
    differs |= static_cast<Word>((word ^ wanted) & mask);
  }
  return differs == 0;
}
template <class Word>
inline void mark_lanes(std::uint8_t* states, const std::uint64_t* offset) {
  constexpr Word kMark = static_cast<Word>(kEachByte<Word> * kWritten);
  for (std::uint32_t i = 0; i < kLanes; ++i) std::memcpy(states + offset[i], &kMark, sizeof kMark);
}

template <Use kUse, class Word>
inline bool track_words(std::uint8_t* states, const std::uint64_t* offset, bool reads) {
  if (!permit_lanes<Word>(states, offset, reads)) return false;
  if (kUse == Use::kWrite) mark_lanes<Word>(states, offset);
  return true;
}

// True if nothing is against the accesses, lane by lane, and they are done with. Lanes that take no part have
// the address of one that does.
template <Use kUse>
inline bool track_together(const Warp& w, const Op& op, const std::uint64_t* address, std::uint64_t bytes,
                           const Resolved& r) {
  const bool shared = op.memory == Memory::kShared;
  if (r.base == nullptr) return false;
  const std::uint64_t origin = shared ? 0 : w.block->states_begin;
  std::uint8_t* states = shared ? w.block->shared_states.data() : w.block->states;
  if (shared && w.block->shared_states.empty()) return true;
  const bool reads = kUse != Use::kWrite && w.block->check_reads;
  if (r.contiguous) {
    states += address[0] - origin;
    if (!permit(states, bytes * kLanes, reads)) return false;
    if (kUse == Use::kWrite) std::memset(states, kWritten, bytes * kLanes);
    return true;
  }
  std::uint64_t offset[kLanes];
  for (std::uint32_t i = 0; i < kLanes; ++i) offset[i] = address[i] - origin;
  switch (bytes) {
    case 1: return track_words<kUse, std::uint8_t>(states, offset, reads);
    case 2: return track_words<kUse, std::uint16_t>(states, offset, reads);
    case 4: return track_words<kUse, std::uint32_t>(states, offset, reads);
    case 8: return track_words<kUse, std::uint64_t>(states, offset, reads);
    case 16: return track_words<kUse, UnsignedWide>(states, offset, reads);
    default: return false;
  }
}

// Notes what the lanes access, and checks and updates the states of the bytes; their pages have been
// resolved. An update finds its bytes written: it changes no state, which other threads may be looking at.
template <Use kUse>
inline void track(const Warp& w, const Op& op, const std::uint64_t* address, std::uint64_t bytes,
                  LaneMask mask, const Resolved& r) {
  if (w.block->accesses != nullptr && is_device_memory(op.memory)) [[unlikely]] {
    record_access(*w.block->accesses, kUse, address, bytes, mask);
  }
  if (w.block->states == nullptr) return;
  if (op.memory == Memory::kLaunchParam || op.memory == Memory::kLocal || op.memory == Memory::kFrameParam)
    return;
  if (track_together<kUse>(w, op, address, bytes, r)) return;
  for_lanes(mask, [&](std::uint32_t i) { track_lane<kUse>(w, op, i, address[i], bytes); });
}

inline void resolve_each_global(const Warp& w, const Op& op, const std::uint64_t* address,
                                std::uint64_t bytes, LaneMask mask, Access access, Resolved& r) {
  r.base = nullptr;
  for_lanes(mask, [&](std::uint32_t i) {
    r.each[i] = w.block->memory->translate_pages(address[i], bytes, access, w.block->accessor);
    if (r.each[i] == nullptr) raise_access(w, i, op.memory, address[i], bytes, access == Access::kReadWrite);
  });
}

inline void resolve_global(const Warp& w, const Op& op, const std::uint64_t* address, std::uint64_t bytes,
                           LaneMask mask, Access access, Resolved& r) {
  r.contiguous = mask == kAllLanes && is_contiguous(address, bytes);
  const Span span = r.contiguous ? Span{address[0], address[kLanes - 1]} : span_of(address);
  if (span.high - span.low < kMaxSharedCheckBytes) {
    r.origin = span.low;
    r.base =
        w.block->memory->translate_pages(span.low, span.high - span.low + bytes, access, w.block->accessor);
    if (r.base != nullptr) return;
  }
  r.contiguous = false;
  resolve_each_global(w, op, address, bytes, mask, access, r);
}

inline void resolve_generic(const Warp& w, const Op& op, const std::uint64_t* address, std::uint64_t bytes,
                            LaneMask mask, Access access, Resolved& r) {
  std::uint64_t windows = 0;
  for (std::uint32_t i = 0; i < kLanes; ++i) windows |= address[i] & kWindowMask;
  if (windows == 0) return resolve_global(w, op, address, bytes, mask, access, r);
  for_lanes(mask, [&](std::uint32_t i) {
    r.each[i] = generic_pointer(w, i, address[i], bytes, access);
    if (r.each[i] == nullptr) raise_access(w, i, op.memory, address[i], bytes, access == Access::kReadWrite);
  });
}

// Memory that every thread of the block, or of the launch, sees at the same offsets.
inline void resolve_offset(const Warp& w, const Op& op, const std::uint64_t* address, std::uint64_t bytes,
                           LaneMask mask, Access access, std::span<const std::byte> memory, Resolved& r) {
  const std::uint64_t limit = memory.size() < bytes ? 0 : memory.size() - bytes;
  bool outside = memory.size() < bytes;
  for (std::uint32_t i = 0; i < kLanes; ++i) outside |= address[i] > limit;
  if (outside) {
    for_lanes(mask, [&](std::uint32_t i) {
      if (memory.size() < bytes || address[i] > limit) {
        raise_access(w, i, op.memory, address[i], bytes, access == Access::kReadWrite);
      }
    });
  }
  r.base = const_cast<std::byte*>(memory.data());
  r.origin = 0;
  r.contiguous = mask == kAllLanes && is_contiguous(address, bytes);
}

inline void resolve_private(const Warp& w, const Op& op, const std::uint64_t* address, std::uint64_t bytes,
                            LaneMask mask, Access access, std::byte* memory, std::uint64_t stride,
                            Resolved& r) {
  for_lanes(mask, [&](std::uint32_t i) {
    if (address[i] > stride || stride - address[i] < bytes) {
      raise_access(w, i, op.memory, address[i], bytes, access == Access::kReadWrite);
    }
    r.each[i] = memory + i * stride + address[i];
  });
}

inline void resolve(Warp& w, const Op& op, const std::uint64_t* address, std::uint64_t bytes, LaneMask mask,
                    Access access, Resolved& r) {
  std::uint64_t low_bits = 0;
  for (std::uint32_t i = 0; i < kLanes; ++i) low_bits |= address[i];
  if ((low_bits & (bytes - 1)) != 0) {
    for_lanes(mask, [&](std::uint32_t i) {
      if ((address[i] & (bytes - 1)) != 0) {
        raise_misaligned(w, i, address[i], bytes);
      }
    });
  }
  switch (op.memory) {
    case Memory::kGlobal: return resolve_global(w, op, address, bytes, mask, access, r);
    case Memory::kGeneric: return resolve_generic(w, op, address, bytes, mask, access, r);
    case Memory::kShared: return resolve_offset(w, op, address, bytes, mask, access, w.block->shared, r);
    case Memory::kLaunchParam: return resolve_offset(w, op, address, bytes, mask, access, w.block->params, r);
    case Memory::kLocal:
      return resolve_private(w, op, address, bytes, mask, access, w.local.data(), w.local_stride, r);
    case Memory::kFrameParam:
      return resolve_private(w, op, address, bytes, mask, access, w.frame->params.data(),
                             w.frame->code->param_bytes, r);
  }
}

inline std::uint64_t moved_bytes(LaneMask mask, std::uint64_t bytes) {
  return static_cast<std::uint64_t>(std::popcount(mask)) * bytes;
}

// Widens a loaded T to its register; a signed one in a 16-bit register keeps its upper half zero.
template <class Slot, class T>
inline Slot widen(T value, std::uint32_t register_bits) {
  if constexpr (std::is_signed_v<T>) {
    const auto wide = static_cast<Slot>(static_cast<std::make_signed_t<Slot>>(value));
    return register_bits == 16 ? wide & 0xffff : wide;
  }
  return value;
}

template <class T>
inline T peek(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

template <class T, class Slot>
void load(Warp& w, const Op& op, LaneMask mask) {
  alignas(64) std::uint64_t address[kLanes];
  addresses(w, op, mask, address);
  const std::uint64_t bytes = sizeof(T) * op.width;
  Resolved r;
  resolve(w, op, address, bytes, mask, Access::kRead, r);
  track<Use::kRead>(w, op, address, bytes, mask, r);
  if (is_device_memory(op.memory)) w.block->counts->global_read_bytes += moved_bytes(mask, bytes);
  const std::uint32_t* list = w.frame->code->lists.data() + op.list;
  if (op.width == 1 && r.contiguous) {
    const std::byte* p = r.base + (address[0] - r.origin);
    Slot* d = w.at<Slot>(list[0]);
    for (std::uint32_t i = 0; i < kLanes; ++i)
      d[i] = widen<Slot>(peek<T>(p + i * sizeof(T)), op.register_bits);
    return;
  }
  if (r.base != nullptr && mask == kAllLanes && op.width == 1) {
    Slot* d = w.at<Slot>(list[0]);
    for (std::uint32_t i = 0; i < kLanes; ++i) {
      d[i] = widen<Slot>(peek<T>(r.base + (address[i] - r.origin)), op.register_bits);
    }
    return;
  }
  if (r.base != nullptr) {
    // Every lane has the address of an active one.
    for (std::uint32_t i = 0; i < kLanes; ++i) r.each[i] = r.base + (address[i] - r.origin);
  }
  for (std::uint32_t element = 0; element < op.width; ++element) {
    if (list[element] == kNoSlot) continue;
    Slot* d = w.at<Slot>(list[element]);
    for_lanes(mask, [&](std::uint32_t i) {
      d[i] = widen<Slot>(peek<T>(r.each[i] + element * sizeof(T)), op.register_bits);
    });
  }
}

template <class T, class Slot>
void store(Warp& w, const Op& op, LaneMask mask) {
  alignas(64) std::uint64_t address[kLanes];
  addresses(w, op, mask, address);
  const std::uint64_t bytes = sizeof(T) * op.width;
  Resolved r;
  resolve(w, op, address, bytes, mask, Access::kReadWrite, r);
  track<Use::kWrite>(w, op, address, bytes, mask, r);
  if (is_device_memory(op.memory)) w.block->counts->global_written_bytes += moved_bytes(mask, bytes);
  const std::uint32_t* list = w.frame->code->lists.data() + op.list;
  const auto poke = [](std::byte* p, Slot value) {
    const T narrow = static_cast<T>(value);
    std::memcpy(p, &narrow, sizeof narrow);
  };
  if (op.width == 1 && r.contiguous) {
    std::byte* p = r.base + (address[0] - r.origin);
    const Slot* s = w.at<Slot>(list[0]);
    for (std::uint32_t i = 0; i < kLanes; ++i) poke(p + i * sizeof(T), s[i]);
    return;
  }
  if (r.base != nullptr) {
    for_lanes(mask, [&](std::uint32_t i) { r.each[i] = r.base + (address[i] - r.origin); });
  }
  // Lane by lane: where lanes collide, the last one wins with all its elements.
  for_lanes(mask, [&](std::uint32_t i) {
    for (std::uint32_t element = 0; element < op.width; ++element) {
      poke(r.each[i] + element * sizeof(T), w.at<Slot>(list[element])[i]);
    }
  });
}

template <bool kLoad, class T>
Handler mover(bool wide) {
  if constexpr (kLoad) return wide ? load<T, std::uint64_t> : load<T, std::uint32_t>;
  return wide ? store<T, std::uint64_t> : store<T, std::uint32_t>;
}

template <bool kLoad>
Handler find_mover(ptx::Type type, bool wide) {
  const std::uint32_t bits = ptx::bits_of(type);
  const bool is_signed = ptx::kind_of(type) == ptx::TypeKind::kSigned;
  switch (bits) {
    case 8: return is_signed ? mover<kLoad, std::int8_t>(wide) : mover<kLoad, std::uint8_t>(wide);
    case 16: return is_signed ? mover<kLoad, std::int16_t>(wide) : mover<kLoad, std::uint16_t>(wide);
    case 32: return is_signed ? mover<kLoad, std::int32_t>(wide) : mover<kLoad, std::uint32_t>(wide);
    case 64: return wide ? mover<kLoad, std::uint64_t>(true) : nullptr;
    default: return nullptr;
  }
}

// A lane's T in a register: 16 bits lie in a slot of 32, 128 in two of 64.
template <class T>
inline T lane_value(const Warp& w, std::uint32_t slot, std::uint32_t lane) {
  if constexpr (sizeof(T) == 16) {
    return (static_cast<T>(w.at<std::uint64_t>(slot + kLanes * 8)[lane]) << 64) |
           w.at<std::uint64_t>(slot)[lane];
  } else {
    return static_cast<T>(w.at<SlotOf<T>>(slot)[lane]);
  }
}
template <class T>
inline void set_lane_value(const Warp& w, std::uint32_t slot, std::uint32_t lane, T value) {
  if constexpr (sizeof(T) == 16) {
    w.at<std::uint64_t>(slot)[lane] = static_cast<std::uint64_t>(value);
    w.at<std::uint64_t>(slot + kLanes * 8)[lane] = static_cast<std::uint64_t>(value >> 64);
  } else {
    w.at<SlotOf<T>>(slot)[lane] = value;
  }
}

// concurrent: other threads may do the same. p is aligned: that has been checked. What needs an order
// (exchanges, all of 128 bits) never runs concurrently.
template <class T, class F>
inline T update(std::byte* p, T b, T c, bool flush, bool concurrent) {
  if constexpr (sizeof(T) <= 8) {
    if (concurrent) {
      auto* at = reinterpret_cast<T*>(p);
      T old = __atomic_load_n(at, __ATOMIC_RELAXED);
      while (!__atomic_compare_exchange_n(at, &old, F::apply(old, b, c, flush), true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED)) {
      }
      return old;
    }
  }
  const T old = peek<T>(p);
  const T fresh = F::apply(old, b, c, flush);
  std::memcpy(p, &fresh, sizeof fresh);
  return old;
}

template <class F>
constexpr Use kUpdateBy = Use::kUpdate;

template <class T, class F>
void atomic(Warp& w, const Op& op, LaneMask mask) {
  alignas(64) std::uint64_t address[kLanes];
  addresses(w, op, mask, address);
  Resolved r;
  resolve(w, op, address, sizeof(T), mask, Access::kReadWrite, r);
  track<kUpdateBy<F>>(w, op, address, sizeof(T), mask, r);
  if (is_device_memory(op.memory)) {
    w.block->counts->global_read_bytes += moved_bytes(mask, sizeof(T));
    w.block->counts->global_written_bytes += moved_bytes(mask, sizeof(T));
  }
  const std::uint32_t c = op.c == kNoSlot ? op.b : op.c;
  for_lanes(mask, [&](std::uint32_t i) {
    std::byte* p = r.base != nullptr ? r.base + (address[i] - r.origin) : r.each[i];
    // Subnormals are flushed by additions in global memory only.
    const bool flush =
        op.memory == Memory::kGlobal || (op.memory == Memory::kGeneric && (address[i] & kWindowMask) == 0);
    const T old =
        update<T, F>(p, lane_value<T>(w, op.b, i), lane_value<T>(w, c, i), flush, w.block->concurrent);
    if (op.d != kNoSlot) set_lane_value<T>(w, op.d, i, old);
  });
}
