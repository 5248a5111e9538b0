// What the operations of mbarrier do to its 64 bits in shared memory: pending arrivals (20 bits), expected
// arrivals (20), bytes that are still to come (23, two's complement), and the phase in the top bit. How they
// get there is in memory.inl.

struct BarrierBits {
  static constexpr std::uint64_t kCount = (1u << 20) - 1;
  static constexpr std::uint64_t kBytes = (1u << 23) - 1;
  static constexpr std::uint64_t kPhase = 1ull << 63;

  std::uint64_t pending, expected, bytes, phase;

  explicit BarrierBits(std::uint64_t bits)
      : pending(bits & kCount),
        expected(bits >> 20 & kCount),
        bytes(bits >> 40 & kBytes),
        phase(bits & kPhase) {}
  std::uint64_t packed() const { return pending | expected << 20 | bytes << 40 | phase; }
  // The phase ends when nobody and nothing is missing.
  std::uint64_t settled() {
    pending &= kCount;
    expected &= kCount;
    bytes &= kBytes;
    if (pending == 0 && bytes == 0) {
      phase ^= kPhase;
      pending = expected;
    }
    return packed();
  }
};

template <BarrierUpdate kWhat>
struct UpdateBarrier {
  static std::uint64_t apply(std::uint64_t old, std::uint64_t b, std::uint64_t, bool) {
    BarrierBits barrier(old);
    switch (kWhat) {
      case BarrierUpdate::kRead: return old;
      case BarrierUpdate::kInvalidate: return 0;
      case BarrierUpdate::kInit:
        barrier = BarrierBits(0);
        barrier.pending = barrier.expected = b & BarrierBits::kCount;
        return barrier.packed();
      case BarrierUpdate::kDrop: barrier.expected -= b; [[fallthrough]];
      case BarrierUpdate::kArrive: barrier.pending -= b; break;
      case BarrierUpdate::kExpect:
        barrier.bytes = (barrier.bytes + b) & BarrierBits::kBytes;
        return barrier.packed();
      case BarrierUpdate::kDropExpecting: barrier.expected -= 1; [[fallthrough]];
      case BarrierUpdate::kArriveExpecting:
        barrier.bytes += b;
        barrier.pending -= 1;
        break;
      case BarrierUpdate::kComplete: barrier.bytes -= b; break;
    }
    return barrier.settled();
  }
};

inline Handler find_barrier_update(BarrierUpdate what) {
  using T = std::uint64_t;
  switch (what) {
    case BarrierUpdate::kInit: return atomic<T, UpdateBarrier<BarrierUpdate::kInit>>;
    case BarrierUpdate::kInvalidate: return atomic<T, UpdateBarrier<BarrierUpdate::kInvalidate>>;
    case BarrierUpdate::kArrive: return atomic<T, UpdateBarrier<BarrierUpdate::kArrive>>;
    case BarrierUpdate::kDrop: return atomic<T, UpdateBarrier<BarrierUpdate::kDrop>>;
    case BarrierUpdate::kExpect: return atomic<T, UpdateBarrier<BarrierUpdate::kExpect>>;
    case BarrierUpdate::kArriveExpecting: return atomic<T, UpdateBarrier<BarrierUpdate::kArriveExpecting>>;
    case BarrierUpdate::kDropExpecting: return atomic<T, UpdateBarrier<BarrierUpdate::kDropExpecting>>;
    case BarrierUpdate::kComplete: return atomic<T, UpdateBarrier<BarrierUpdate::kComplete>>;
    case BarrierUpdate::kRead: return atomic<T, UpdateBarrier<BarrierUpdate::kRead>>;
  }
  return nullptr;
}
