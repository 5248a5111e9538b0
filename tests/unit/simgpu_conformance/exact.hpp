// Floating-point formats and arithmetic with one rounding, by MPFR: what the device is compared with. It
// shares nothing with the device, and says nothing of PTX.
#pragma once

#include <mpfr.h>

#include <cstdint>

namespace refrain::conformance {

struct Format {
  int exponent_bits;
  int mantissa_bits;
  std::uint64_t nan;  // the canonical one
  bool has_infinity = true;

  int bits() const { return 1 + exponent_bits + mantissa_bits; }
  std::uint64_t sign() const { return 1ull << (bits() - 1); }
  std::uint64_t infinity() const { return ((1ull << exponent_bits) - 1) << mantissa_bits; }
  std::uint64_t largest() const { return has_infinity ? infinity() - 1 : infinity() + 6; }
  bool is_nan(std::uint64_t x) const;
  bool is_subnormal(std::uint64_t x) const { return (x & infinity()) == 0; }  // or zero
};
inline constexpr Format kHalf{5, 10, 0x7fff};
inline constexpr Format kBrain{8, 7, 0x7fff};
inline constexpr Format kSingle{8, 23, 0x7fffffff};
inline constexpr Format kDouble{11, 52, 0xfff8000000000000};
inline constexpr Format kTensor{8, 10, 0x3ffff};
inline constexpr Format kE4m3{4, 3, 0x7f, false};
inline constexpr Format kE5m2{5, 2, 0x7f};

enum class Round { kNearest, kZero, kDown, kUp, kAway };

// A real number.
class Real {
 public:
  // Enough for sums of products of floats, and of doubles. Which is needed is said before a family of
  // operations.
  static constexpr mpfr_prec_t kForFloats = 700;
  static constexpr mpfr_prec_t kForDoubles = 4400;
  static void use_bits(mpfr_prec_t bits) { bits_ = bits; }

  Real() : Real(bits_) {}
  explicit Real(mpfr_prec_t bits) { mpfr_init2(value_, bits); }
  Real(const Real& other) {
    mpfr_init2(value_, mpfr_get_prec(other.value_));
    mpfr_set(value_, other.value_, MPFR_RNDN);
  }
  Real& operator=(const Real& other) {
    if (this == &other) return *this;
    mpfr_set_prec(value_, mpfr_get_prec(other.value_));
    mpfr_set(value_, other.value_, MPFR_RNDN);
    return *this;
  }
  ~Real() { mpfr_clear(value_); }
  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }

 private:
  static inline mpfr_prec_t bits_ = kForFloats;
  mpfr_t value_;
};

// The number that bits of a format stand for; exact. Not for NaNs.
Real value_of(std::uint64_t bits, const Format& format);
Real integer_value(std::uint64_t bits, unsigned width, bool is_signed);

// The nearest number of the format in a direction; overflow as IEEE 754 has it, or to the largest number.
std::uint64_t rounded(const Real& x, const Format& format, Round round, bool finite = false);

// The integer next to x in a direction.
Real integral(const Real& x, Round round);

// Exact; the direction decides the sign of a zero.
Real sum(const Real& a, const Real& b, Round round);
Real product(const Real& a, const Real& b);
// A quotient or root is not finite in binary: as many bits as decide any rounding.
Real quotient(const Real& a, const Real& b);
Real root(const Real& a);

double as_double(const Real& x);

}  // namespace refrain::conformance
