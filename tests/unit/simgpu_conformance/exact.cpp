// See exact.hpp.
#include "exact.hpp"

namespace refrain::conformance {

bool Format::is_nan(std::uint64_t x) const {
  const std::uint64_t size = x & (sign() - 1);
  return has_infinity ? size > infinity() : size == nan;
}

Real value_of(std::uint64_t bits, const Format& format) {
  Real x;
  const bool negative = (bits & format.sign()) != 0;
  const std::uint64_t size = bits & (format.sign() - 1);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  if (format.has_infinity && size == format.infinity()) {
    mpfr_set_inf(x.get(), negative ? -1 : 1);
    return x;
  }
  const std::uint64_t fraction = size & ((1ull << format.mantissa_bits) - 1);
  const int exponent = static_cast<int>(size >> format.mantissa_bits);
  const std::uint64_t mantissa = exponent == 0 ? fraction : fraction + (1ull << format.mantissa_bits);
  const int power = (exponent == 0 ? 1 : exponent) - bias - format.mantissa_bits;
  mpfr_set_ui_2exp(x.get(), mantissa, power, MPFR_RNDN);
  if (negative) mpfr_neg(x.get(), x.get(), MPFR_RNDN);
  return x;
}

Real integer_value(std::uint64_t bits, unsigned width, bool is_signed) {
  Real x;
  if (is_signed) {
    mpfr_set_si(x.get(), static_cast<std::int64_t>(bits << (64 - width)) >> (64 - width), MPFR_RNDN);
  } else {
    mpfr_set_ui(x.get(), bits << (64 - width) >> (64 - width), MPFR_RNDN);
  }
  return x;
}

namespace {

// The integers around x * 2^-unit decide: which of the two, and their bits are the format's.
std::uint64_t rounded_finite(const Real& size, bool negative, const Format& format, Round round,
                             bool finite) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const long lowest = 1 - bias - format.mantissa_bits;
  const long top = mpfr_get_exp(size.get()) - 1;  // exponent of the leading bit
  const long unit = top - format.mantissa_bits > lowest ? top - format.mantissa_bits : lowest;
  Real scaled, below;
  mpfr_div_2si(scaled.get(), size.get(), unit, MPFR_RNDN);
  mpfr_floor(below.get(), scaled.get());
  Real rest;
  mpfr_sub(rest.get(), scaled.get(), below.get(), MPFR_RNDN);
  const int to_half = mpfr_cmp_d(rest.get(), 0.5);
  const bool exact = mpfr_zero_p(rest.get()) != 0;
  std::uint64_t units = mpfr_get_ui(below.get(), MPFR_RNDZ);
  bool up = false;
  switch (round) {
    case Round::kNearest: up = to_half > 0 || (to_half == 0 && units % 2 == 1); break;
    case Round::kAway: up = to_half >= 0; break;
    case Round::kZero: break;
    case Round::kDown: up = !exact && negative; break;
    case Round::kUp: up = !exact && !negative; break;
  }
  if (up) ++units;
  // units * 2^unit: a subnormal or normal number, or one that was carried into the next exponent.
  const std::uint64_t bits = units + (static_cast<std::uint64_t>(unit - lowest) << format.mantissa_bits);
  if (bits <= format.largest()) return bits;
  const bool inward =
      round == Round::kZero || (round == Round::kDown && !negative) || (round == Round::kUp && negative);
  return inward || finite || !format.has_infinity ? format.largest() : format.infinity();
}

}  // namespace

std::uint64_t rounded(const Real& x, const Format& format, Round round, bool finite) {
  const bool negative = mpfr_signbit(x.get()) != 0;
  const std::uint64_t sign = negative ? format.sign() : 0;
  if (mpfr_nan_p(x.get()) != 0) return format.nan;
  if (mpfr_inf_p(x.get()) != 0) {
    return sign | (finite || !format.has_infinity ? format.largest() : format.infinity());
  }
  if (mpfr_zero_p(x.get()) != 0) return sign;
  Real size(x);
  mpfr_abs(size.get(), size.get(), MPFR_RNDN);
  return sign | rounded_finite(size, negative, format, round, finite);
}

Real integral(const Real& x, Round round) {
  Real r(x);
  switch (round) {
    case Round::kNearest: mpfr_rint(r.get(), x.get(), MPFR_RNDN); break;
    case Round::kZero: mpfr_rint(r.get(), x.get(), MPFR_RNDZ); break;
    case Round::kDown: mpfr_rint(r.get(), x.get(), MPFR_RNDD); break;
    case Round::kUp: mpfr_rint(r.get(), x.get(), MPFR_RNDU); break;
    case Round::kAway: mpfr_round(r.get(), x.get()); break;
  }
  return r;
}

Real sum(const Real& a, const Real& b, Round round) {
  Real r;
  mpfr_add(r.get(), a.get(), b.get(), round == Round::kDown ? MPFR_RNDD : MPFR_RNDN);
  return r;
}
Real product(const Real& a, const Real& b) {
  Real r;
  mpfr_mul(r.get(), a.get(), b.get(), MPFR_RNDN);
  return r;
}
Real quotient(const Real& a, const Real& b) {
  Real r(400);
  mpfr_div(r.get(), a.get(), b.get(), MPFR_RNDN);
  return r;
}
Real root(const Real& a) {
  Real r(400);
  mpfr_sqrt(r.get(), a.get(), MPFR_RNDN);
  return r;
}

double as_double(const Real& x) {
  return mpfr_get_d(x.get(), MPFR_RNDN);
}

}  // namespace refrain::conformance
