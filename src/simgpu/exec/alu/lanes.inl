// Loops over the 32 lanes of a warp, with and without a mask. Included by the variants inside their own
// namespace, so that code for one instruction set is never linked into another.

// The iterations of the loop that follows do not depend on each other. clang, which the fuzzers are built
// with, has no such hint without a promise to vectorise.
#ifdef __clang__
#define SIMGPU_INDEPENDENT_LANES
#else
#define SIMGPU_INDEPENDENT_LANES _Pragma("GCC ivdep")
#endif

__extension__ typedef unsigned __int128 UnsignedWide;
__extension__ typedef __int128 SignedWide;

template <class T>
inline void blend(T* d, const T* values, LaneMask mask) {
  SIMGPU_INDEPENDENT_LANES
  for (std::uint32_t i = 0; i < kLanes; ++i) d[i] = ((mask >> i) & 1u) != 0 ? values[i] : d[i];
}

// F::apply on each lane; D and S are the unsigned types of the slots.
template <class D, class S, class F>
void map1(Warp& w, const Op& op, LaneMask mask) {
  D* d = w.at<D>(op.d);
  const S* a = w.at<S>(op.a);
  if (mask == kAllLanes) {
    SIMGPU_INDEPENDENT_LANES
    for (std::uint32_t i = 0; i < kLanes; ++i) d[i] = F::apply(a[i]);
  } else {
    D values[kLanes];
    for (std::uint32_t i = 0; i < kLanes; ++i) values[i] = F::apply(a[i]);
    blend(d, values, mask);
  }
}

template <class D, class S, class F, class S2 = S>
void map2(Warp& w, const Op& op, LaneMask mask) {
  D* d = w.at<D>(op.d);
  const S* a = w.at<S>(op.a);
  const S2* b = w.at<S2>(op.b);
  if (mask == kAllLanes) {
    SIMGPU_INDEPENDENT_LANES
    for (std::uint32_t i = 0; i < kLanes; ++i) d[i] = F::apply(a[i], b[i]);
  } else {
    D values[kLanes];
    for (std::uint32_t i = 0; i < kLanes; ++i) values[i] = F::apply(a[i], b[i]);
    blend(d, values, mask);
  }
}

template <class D, class S, class F, class S2 = S, class S3 = S>
void map3(Warp& w, const Op& op, LaneMask mask) {
  D* d = w.at<D>(op.d);
  const S* a = w.at<S>(op.a);
  const S2* b = w.at<S2>(op.b);
  const S3* c = w.at<S3>(op.c);
  if (mask == kAllLanes) {
    SIMGPU_INDEPENDENT_LANES
    for (std::uint32_t i = 0; i < kLanes; ++i) d[i] = F::apply(a[i], b[i], c[i]);
  } else {
    D values[kLanes];
    for (std::uint32_t i = 0; i < kLanes; ++i) values[i] = F::apply(a[i], b[i], c[i]);
    blend(d, values, mask);
  }
}

template <class T, class F>
void map4(Warp& w, const Op& op, LaneMask mask) {
  T* d = w.at<T>(op.d);
  const T* a = w.at<T>(op.a);
  const T* b = w.at<T>(op.b);
  const std::uint32_t* c = w.at<std::uint32_t>(op.c);
  const std::uint32_t* e = w.at<std::uint32_t>(op.e);
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    if (((mask >> i) & 1u) != 0) d[i] = F::apply(a[i], b[i], c[i], e[i]);
  }
}

// For functions that are dear: only the lanes that count.
template <class D, class S, class F>
void map1_slow(Warp& w, const Op& op, LaneMask mask) {
  D* d = w.at<D>(op.d);
  const S* a = w.at<S>(op.a);
  for (LaneMask rest = mask; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<std::uint32_t>(__builtin_ctz(rest));
    d[i] = F::apply(a[i]);
  }
}

template <class D, class S, class F>
void map2_slow(Warp& w, const Op& op, LaneMask mask) {
  D* d = w.at<D>(op.d);
  const S* a = w.at<S>(op.a);
  const S* b = w.at<S>(op.b);
  for (LaneMask rest = mask; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<std::uint32_t>(__builtin_ctz(rest));
    d[i] = F::apply(a[i], b[i]);
  }
}

// Runs H with the host's rounding mode set as the options say.
template <Handler H>
void rounded(Warp& w, const Op& op, LaneMask mask) {
  // MXCSR's bits for a Rounding.
  constexpr unsigned kModes[] = {0x0000, 0x6000, 0x2000, 0x4000};
  const unsigned before = _mm_getcsr();
  _mm_setcsr((before & ~0x6000u) | kModes[op.imm & 3]);
  // The lanes are loaded after the first barrier and stored before the second: arithmetic cannot leave.
  asm volatile("" ::: "memory");
  H(w, op, mask);
  asm volatile("" ::: "memory");
  _mm_setcsr(before);
}

template <Handler H>
Handler with_rounding(const ptx::Instruction& in) {
  const Rounding rounding = options_of(in).rounding();
  return rounding == Rounding::kNearest ? H : rounded<H>;
}
