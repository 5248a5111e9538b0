// exp2, log2, tanh, sine and cosine in double, far closer than a float's ulp: rounded to a float they are
// within what PTX allows. Plain additions, products and quotients alone, so that every host and library gives
// the same bits.

// 2^x of a float: x is n + f with f in [-1/2, 1/2], and 2^f a polynomial whose error is far below a float's
// ulp. A NaN stays one.
inline float exp2_of(float x) {
  float limited = x > 160.0f ? 160.0f : x;
  limited = limited < -160.0f ? -160.0f : limited;
  limited = x != x ? 0.0f : limited;
  const float n = (limited + 0x1.8p23f) - 0x1.8p23f;
  const double f = static_cast<double>(limited - n) * 0.693147180559945309417;
  double p = 1.0 / 362880;
  p = p * f + 1.0 / 40320;
  p = p * f + 1.0 / 5040;
  p = p * f + 1.0 / 720;
  p = p * f + 1.0 / 120;
  p = p * f + 1.0 / 24;
  p = p * f + 1.0 / 6;
  p = p * f + 0.5;
  p = p * f + 1.0;
  p = p * f + 1.0;
  // Two factors, so that each exponent is in range.
  const auto power = static_cast<std::int32_t>(n);
  const std::int32_t half = power >> 1, rest = power - half;
  const float scaled = static_cast<float>(p) * std::bit_cast<float>((half + 127) << 23) *
                       std::bit_cast<float>((rest + 127) << 23);
  return x != x ? x : scaled;
}

// log2(x) of a finite x > 0: x is 2^k * m with m in [sqrt(1/2), sqrt(2)), and log(m) = 2 atanh((m-1)/(m+1)).
inline double log2_of(double x) {
  constexpr std::int64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  const auto bits = std::bit_cast<std::int64_t>(x);
  const std::int64_t k = (bits - kSqrtHalf) >> 52;
  const double m = std::bit_cast<double>(bits - k * (std::int64_t{1} << 52));
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double p = 1.0 / 21;
  p = p * z + 1.0 / 19;
  p = p * z + 1.0 / 17;
  p = p * z + 1.0 / 15;
  p = p * z + 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  p = p * z + 1.0;
  return static_cast<double>(k) + 2.0 * s * p * 1.44269504088896340736;
}

// tanh(x) = t / (t + 2) with t = e^2x - 1, which is exact in size where x is small.
inline double tanh_of(double x) {
  const double limited = x > 20.0 ? 20.0 : x < -20.0 ? -20.0 : x;
  const double y = 2.0 * limited;
  const double n = (y * 1.44269504088896340736 + 0x1.8p52) - 0x1.8p52;
  const double f = (y - n * 0x1.62e42fee00000p-1) - n * 0x1.a39ef35793c76p-33;
  double p = 1.0 / 6227020800;
  p = p * f + 1.0 / 479001600;
  p = p * f + 1.0 / 39916800;
  p = p * f + 1.0 / 3628800;
  p = p * f + 1.0 / 362880;
  p = p * f + 1.0 / 40320;
  p = p * f + 1.0 / 5040;
  p = p * f + 1.0 / 720;
  p = p * f + 1.0 / 120;
  p = p * f + 1.0 / 24;
  p = p * f + 1.0 / 6;
  p = p * f + 0.5;
  p = p * f + 1.0;
  const double scale =
      std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<std::int64_t>(n) + 1023) << 52);
  const double t = scale * (p * f) + (scale - 1.0);
  return t / (t + 2.0);
}

struct Quadrant {
  double rest;  // in [-pi/4, pi/4]
  std::uint32_t number;
};

// The remainder of a large float by pi/2: its mantissa times the bits of 2/pi that matter, in integers.
inline Quadrant reduce_large(double x) {
  // 2/pi = 0.A2F9836E 4E44...: enough bits for every float.
  constexpr std::uint64_t kTwoOverPi[] = {0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
                                          0xfe5163abdebbc561};
  const auto bits = std::bit_cast<std::uint64_t>(x);
  // x = mantissa * 2^exponent with 24 bits of mantissa: the others of a float are zero.
  const std::uint64_t mantissa = ((bits & 0x000fffffffffffff) | 0x0010000000000000) >> 29;
  const std::int32_t exponent = static_cast<std::int32_t>((bits >> 52) & 0x7ff) - 1075 + 29;
  // 128 bits of 2/pi that begin at 2^(2-exponent): those above give multiples of 4, which fall away.
  const std::int32_t first = exponent - 2;
  UnsignedWide fraction = 0;
  if (first >= 0) {
    const auto word = [&](std::int32_t i) -> std::uint64_t {
      const std::int32_t at = first / 64 + i;
      const auto shift = static_cast<std::uint32_t>(first % 64);
      const std::uint64_t high = at < 4 ? kTwoOverPi[at] : 0, low = at + 1 < 4 ? kTwoOverPi[at + 1] : 0;
      return shift == 0 ? high : (high << shift) | (low >> (64 - shift));
    };
    fraction = (static_cast<UnsignedWide>(word(0)) << 64) | word(1);
  } else {
    fraction = ((static_cast<UnsignedWide>(kTwoOverPi[0]) << 64) | kTwoOverPi[1]) >> -first;
  }
  const UnsignedWide product = fraction * mantissa;  // of quarter turns, times 2^126, modulo 4
  const auto number = static_cast<std::uint32_t>(product >> 126);
  // The part below one as a signed fraction in [-1/2, 1/2).
  const auto top = static_cast<std::int64_t>(static_cast<std::uint64_t>((product << 2) >> 64));
  Quadrant q{static_cast<double>(top) * 0x1p-64 * 1.57079632679489661923, number + (top < 0 ? 1u : 0u)};
  if ((bits >> 63) != 0) {
    q.rest = -q.rest;
    q.number = 0u - q.number;
  }
  return q;
}

// Cody and Waite: pi/2 in parts of 33 bits, so that the products are exact.
inline Quadrant reduce(double x) {
  const double magnitude = x < 0 ? -x : x;
  if (magnitude > 0x1p19) return reduce_large(x);
  const double n = (x * 0.63661977236758134308 + 0x1.8p52) - 0x1.8p52;
  const double rest = ((x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a6p-34) - n * 0x1.3198a2e037073p-69;
  return {rest, static_cast<std::uint32_t>(static_cast<std::int32_t>(n))};
}

inline double sine_near_zero(double r) {
  const double z = r * r;
  double p = 1.0 / 355687428096000;
  p = p * z - 1.0 / 1307674368000;
  p = p * z + 1.0 / 6227020800;
  p = p * z - 1.0 / 39916800;
  p = p * z + 1.0 / 362880;
  p = p * z - 1.0 / 5040;
  p = p * z + 1.0 / 120;
  p = p * z - 1.0 / 6;
  return r + r * z * p;
}

inline double cosine_near_zero(double r) {
  const double z = r * r;
  double p = 1.0 / 20922789888000;
  p = p * z - 1.0 / 87178291200;
  p = p * z + 1.0 / 479001600;
  p = p * z - 1.0 / 3628800;
  p = p * z + 1.0 / 40320;
  p = p * z - 1.0 / 720;
  p = p * z + 1.0 / 24;
  p = p * z - 0.5;
  return 1.0 + z * p;
}

// quarter: 0 for the sine, 1 for the cosine.
inline double circular(double x, std::uint32_t quarter) {
  if (!(x - x == 0)) return std::numeric_limits<double>::quiet_NaN();
  const Quadrant q = reduce(x);
  const std::uint32_t at = q.number + quarter;
  // Of a zero the sine keeps the sign.
  const double value = (at & 1) != 0 ? cosine_near_zero(q.rest) : (x == 0 ? x : sine_near_zero(q.rest));
  return (at & 2) != 0 ? -value : value;
}
