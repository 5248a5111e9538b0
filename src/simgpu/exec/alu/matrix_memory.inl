// Between memory and the fragments of a warp: ldmatrix, stmatrix, wmma.load, wmma.store; and cp.async with a
// size. Where addresses lead is resolved in memory.inl.

template <class F>
inline void for_resolved(Warp& w, const Op& op, const std::uint64_t* address, std::uint64_t bytes,
                         LaneMask mask, Access access, F f) {
  if (mask == 0) return;
  Resolved r;
  resolve(w, op, address, bytes, mask, access, r);
  if (is_device_memory(op.memory)) {
    (access == Access::kRead ? w.block->counts->global_read_bytes : w.block->counts->global_written_bytes) +=
        moved_bytes(mask, bytes);
  }
  for_lanes(mask, [&](std::uint32_t lane) {
    f(lane, r.base != nullptr ? r.base + (address[lane] - r.origin) : r.each[lane]);
  });
}

// Addresses that were changed lane by lane: those of others are made one that is taken.
inline void spread_first(std::uint64_t* address, LaneMask mask) {
  if (mask == 0) return;
  const std::uint64_t any = address[__builtin_ctz(mask)];
  for (std::uint32_t i = 0; i < kLanes; ++i) address[i] = ((mask >> i) & 1u) != 0 ? address[i] : any;
}

constexpr std::uint32_t kSmallRows = 8;       // of a matrix of ldmatrix
constexpr std::uint32_t kSmallRowBytes = 16;  // eight elements of 16 bits
using SmallRows = std::uint16_t[kLanes][kSmallRows];

// The lanes whose addresses count: eight for each matrix. Op::list: the member mask, then the registers.
inline LaneMask row_lanes(const Op& op) {
  return op.width >= 4 ? kAllLanes : (1u << (kSmallRows * op.width)) - 1;
}

template <bool kTransposed>
inline std::uint16_t& small_element(SmallRows& rows, std::uint32_t matrix, std::uint32_t row,
                                    std::uint32_t column) {
  return kTransposed ? rows[matrix * kSmallRows + column][row] : rows[matrix * kSmallRows + row][column];
}

template <bool kTransposed>
void load_small(Warp& w, const Op& op, LaneMask mask) {
  alignas(64) std::uint64_t address[kLanes];
  const LaneMask givers = mask & row_lanes(op);
  SmallRows rows = {};
  if (givers != 0) {
    addresses(w, op, givers, address);
    for_resolved(w, op, address, kSmallRowBytes, givers, Access::kRead,
                 [&](std::uint32_t lane, const std::byte* p) { std::memcpy(rows[lane], p, kSmallRowBytes); });
  }
  const std::uint32_t* list = w.frame->code->lists.data() + op.list + 1;
  for (std::uint32_t matrix = 0; matrix < op.width; ++matrix) {
    if (list[matrix] == kNoSlot) continue;
    std::uint32_t* d = w.at<std::uint32_t>(list[matrix]);
    for_lanes(mask, [&](std::uint32_t lane) {
      const std::uint32_t row = lane / 4, column = lane % 4 * 2;
      d[lane] = small_element<kTransposed>(rows, matrix, row, column) |
                static_cast<std::uint32_t>(small_element<kTransposed>(rows, matrix, row, column + 1)) << 16;
    });
  }
}

template <bool kTransposed>
void store_small(Warp& w, const Op& op, LaneMask mask) {
  const std::uint32_t* list = w.frame->code->lists.data() + op.list + 1;
  SmallRows rows = {};
  for (std::uint32_t matrix = 0; matrix < op.width; ++matrix) {
    const std::uint32_t* from = w.at<std::uint32_t>(list[matrix]);
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      const std::uint32_t row = lane / 4, column = lane % 4 * 2;
      small_element<kTransposed>(rows, matrix, row, column) = static_cast<std::uint16_t>(from[lane]);
      small_element<kTransposed>(rows, matrix, row, column + 1) =
          static_cast<std::uint16_t>(from[lane] >> 16);
    }
  }
  alignas(64) std::uint64_t address[kLanes];
  const LaneMask givers = mask & row_lanes(op);
  if (givers == 0) return;
  addresses(w, op, givers, address);
  for_resolved(w, op, address, kSmallRowBytes, givers, Access::kReadWrite,
               [&](std::uint32_t lane, std::byte* p) { std::memcpy(p, rows[lane], kSmallRowBytes); });
}

// The addresses of element i of each lane's fragment; Op::b is the distance of rows or columns, in elements.
inline void fragment_addresses(const Warp& w, const Op& op, const MatrixInMemory& matrix, std::uint32_t i,
                               const std::uint64_t* base, std::uint64_t* address) {
  const std::uint32_t* stride = w.at<std::uint32_t>(op.b);
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t at = i * kLanes + lane;
    const std::uint32_t row = at / matrix.columns, column = at % matrix.columns;
    const std::uint64_t outer = matrix.by_rows ? row : column, inner = matrix.by_rows ? column : row;
    address[lane] = base[lane] + (outer * stride[lane] + inner) * matrix.element_bytes;
  }
}

template <class T>
void load_fragment(Warp& w, const Op& op, LaneMask mask) {
  using Slot = SlotOf<T>;
  constexpr std::uint32_t kPerRegister = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
  const MatrixInMemory matrix = MatrixInMemory::unpacked(op.target);
  alignas(64) std::uint64_t base[kLanes], address[kLanes];
  addresses(w, op, mask, base);
  const std::uint32_t count = matrix.rows * matrix.columns / kLanes;
  const std::uint32_t own = count / kPerRegister;  // registers without repetition
  const std::uint32_t* list = w.frame->code->lists.data() + op.list;
  // Nothing is written before all is read: registers of the fragment may hold the address.
  Slot values[16][kLanes] = {};
  for (std::uint32_t i = 0; i < count; ++i) {
    fragment_addresses(w, op, matrix, i, base, address);
    spread_first(address, mask);
    const std::uint32_t shift = i % kPerRegister * static_cast<std::uint32_t>(sizeof(T)) * 8;
    for_resolved(w, op, address, sizeof(T), mask, Access::kRead, [&](std::uint32_t lane, const std::byte* p) {
      values[i / kPerRegister][lane] |=
          static_cast<Slot>(static_cast<Slot>(peek<T>(p)) << (shift % (sizeof(Slot) * 8)));
    });
  }
  for (std::uint32_t reg = 0; reg < matrix.registers; ++reg) {
    if (list[reg] != kNoSlot) blend(w.at<Slot>(list[reg]), values[reg % own], mask);
  }
}

template <class T>
void store_fragment(Warp& w, const Op& op, LaneMask mask) {
  using Slot = SlotOf<T>;
  constexpr std::uint32_t kPerRegister = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
  const MatrixInMemory matrix = MatrixInMemory::unpacked(op.target);
  alignas(64) std::uint64_t base[kLanes], address[kLanes];
  addresses(w, op, mask, base);
  const std::uint32_t count = matrix.rows * matrix.columns / kLanes;
  const std::uint32_t* list = w.frame->code->lists.data() + op.list;
  for (std::uint32_t i = 0; i < count; ++i) {
    fragment_addresses(w, op, matrix, i, base, address);
    spread_first(address, mask);
    const std::uint32_t shift = i % kPerRegister * static_cast<std::uint32_t>(sizeof(T)) * 8;
    const Slot* from = w.at<Slot>(list[i / kPerRegister]);
    for_resolved(w, op, address, sizeof(T), mask, Access::kReadWrite, [&](std::uint32_t lane, std::byte* p) {
      const T value = static_cast<T>(from[lane] >> (shift % (sizeof(Slot) * 8)));
      std::memcpy(p, &value, sizeof value);
    });
  }
}

inline Handler find_fragment_mover(bool is_load, std::uint32_t element_bytes) {
  switch (element_bytes) {
    case 1: return is_load ? load_fragment<std::uint8_t> : store_fragment<std::uint8_t>;
    case 2: return is_load ? load_fragment<std::uint16_t> : store_fragment<std::uint16_t>;
    case 4: return is_load ? load_fragment<std::uint32_t> : store_fragment<std::uint32_t>;
    default: return is_load ? load_fragment<std::uint64_t> : store_fragment<std::uint64_t>;
  }
}

// The first half of cp.async with a size: up to Op::target bytes into Op::list's registers of 32 bits, zeros
// where the size in Op::b (or the predicate Op::c that ignores the source) ends.
inline void load_part(Warp& w, const Op& op, LaneMask mask) {
  alignas(64) std::uint64_t address[kLanes], at[kLanes];
  addresses(w, op, mask, address);
  const std::uint32_t whole = op.target;
  std::uint8_t bytes[kLanes][16] = {};
  std::uint32_t sizes[kLanes];
  const LaneMask ignored = op.c == kNoSlot ? 0 : op.c_negated ? ~w.predicate(op.c) : w.predicate(op.c);
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    sizes[i] = op.b == kNoSlot ? whole : std::min(w.at<std::uint32_t>(op.b)[i], whole);
    if (((ignored >> i) & 1u) != 0 || ((mask >> i) & 1u) == 0) sizes[i] = 0;
  }
  LaneMask full = 0;
  for (std::uint32_t i = 0; i < kLanes; ++i) full |= sizes[i] == whole ? 1u << i : 0;
  std::memcpy(at, address, sizeof at);
  spread_first(at, full);
  for_resolved(w, op, at, whole, full, Access::kRead,
               [&](std::uint32_t lane, const std::byte* p) { std::memcpy(bytes[lane], p, whole); });
  for (std::uint32_t byte = 0; byte < whole; ++byte) {
    LaneMask some = 0;
    for (std::uint32_t i = 0; i < kLanes; ++i) {
      at[i] = address[i] + byte;
      if (sizes[i] != whole && byte < sizes[i]) some |= 1u << i;
    }
    spread_first(at, some);
    for_resolved(w, op, at, 1, some, Access::kRead,
                 [&](std::uint32_t lane, const std::byte* p) { std::memcpy(bytes[lane] + byte, p, 1); });
  }
  const std::uint32_t* list = w.frame->code->lists.data() + op.list;
  for (std::uint32_t reg = 0; reg * 4 < whole; ++reg) {
    std::uint32_t* d = w.at<std::uint32_t>(list[reg]);
    for_lanes(mask,
              [&](std::uint32_t lane) { std::memcpy(&d[lane], bytes[lane] + std::size_t{reg} * 4, 4); });
  }
}
