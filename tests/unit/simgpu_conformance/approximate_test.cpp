// The approximate functions: within the errors that PTX documents, exact where it says so, and the same bits
// wherever the device runs.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <cmath>

#include "floats.hpp"

namespace refrain::conformance {
namespace {

struct Bound {
  double relative;
  double absolute;
};

// PTX ISA 9.0, the descriptions of each instruction.
Bound bound_of(const std::string& op, const std::string& type, double x) {
  const double ulp2 = 0x1p-22;  // two units of the last place of f32, at most
  if (op == "rcp") return type == "f64" ? Bound{0x1p-20, 0} : Bound{0x1p-23, 0};
  if (op == "sqrt") return {0x1p-23, 0};
  if (op == "rsqrt") return type == "f64" ? Bound{0x1p-20, 0} : Bound{0x1.12p-23, 0};
  if (op == "sin" || op == "cos") return {0, 0x1.6ap-21};
  if (op == "lg2") return x >= 0.5 && x <= 2 ? Bound{0, 0x1p-22} : Bound{0x1.5p-23, 0};
  if (op == "ex2") {
    if (type.starts_with("f16")) return {0x1.12p-10, 0x1p-25};
    if (type.starts_with("bf16")) return {0x1p-7, 0};
    return {ulp2, 0};
  }
  if (op == "tanh") {
    if (type.starts_with("f16")) return {0, 0x1.02p-11};
    if (type.starts_with("bf16")) return {0, 0x1p-8};
    return {0x1p-11, 0};
  }
  return {ulp2, 0};  // div
}

Real function(const std::string& op, const std::vector<Real>& x) {
  Real r(300), one(300);
  mpfr_set_ui(one.get(), 1, MPFR_RNDN);
  if (op == "rcp") mpfr_div(r.get(), one.get(), x[0].get(), MPFR_RNDN);
  if (op == "div") mpfr_div(r.get(), x[0].get(), x[1].get(), MPFR_RNDN);
  if (op == "sqrt") mpfr_sqrt(r.get(), x[0].get(), MPFR_RNDN);
  if (op == "sin") mpfr_sin(r.get(), x[0].get(), MPFR_RNDN);
  if (op == "cos") mpfr_cos(r.get(), x[0].get(), MPFR_RNDN);
  if (op == "lg2") mpfr_log2(r.get(), x[0].get(), MPFR_RNDN);
  if (op == "ex2") mpfr_exp2(r.get(), x[0].get(), MPFR_RNDN);
  if (op == "tanh") mpfr_tanh(r.get(), x[0].get(), MPFR_RNDN);
  if (op == "rsqrt") {
    mpfr_rec_sqrt(r.get(), x[0].get(), MPFR_RNDN);
    // Of -0 it is -infinity.
    if (mpfr_zero_p(x[0].get()) != 0 && mpfr_signbit(x[0].get()) != 0) mpfr_set_inf(r.get(), -1);
  }
  if (op == "lg2" && mpfr_zero_p(x[0].get()) != 0) mpfr_set_inf(r.get(), -1);
  return r;
}

std::string wrong_with(std::uint64_t got, const Real& want, const Bound& bound, const Format& f, bool ftz) {
  const auto text = [&] { return fmt::format("{:.17g} expected", as_double(want)); };
  if (mpfr_nan_p(want.get()) != 0) return got == f.nan ? "" : "a NaN expected";
  if (f.is_nan(got)) return text();
  const std::uint64_t nearest = rounded(want, f, Round::kNearest);
  if ((nearest & ~f.sign()) == f.infinity() || mpfr_zero_p(want.get()) != 0) {
    return got == nearest || (ftz && got == flushed(nearest, f)) ? "" : text();
  }
  if (mpfr_inf_p(value_of(got, f).get()) != 0) return text();
  const bool tiny = f.is_subnormal(nearest);
  if (ftz && tiny) return got == (nearest & f.sign()) || got == nearest + 1 ? "" : text();
  Real error(300), size(300);
  mpfr_sub(error.get(), value_of(got, f).get(), want.get(), MPFR_RNDN);
  mpfr_div(size.get(), error.get(), want.get(), MPFR_RNDN);
  const double smallest = std::ldexp(1.0, 2 - (1 << (f.exponent_bits - 1)) - f.mantissa_bits);
  const bool close = std::fabs(as_double(error)) <= bound.absolute + (tiny ? smallest : 0) ||
                     std::fabs(as_double(size)) <= bound.relative;
  return close ? "" : text() + fmt::format(", off by {:.3g}", as_double(size));
}

Operation make(const std::string&, const Words& w) {
  const std::string op = w.opcode(), t = w.type();
  Operation operation = elementwise(t, op == "div" ? 2 : 1, {});
  const Format& f = format_of(t);
  operation.reference = nullptr;
  const std::size_t count = operation.sources.size();
  operation.check = [=](const Inputs& in, const Output& got) -> std::string {
    const unsigned width = is_pair(t) ? bits_of(t) / 2 : bits_of(t);
    const std::uint64_t keep = width == 64 ? ~0ull : (1ull << width) - 1;
    for (unsigned shift = 0; shift < bits_of(t); shift += width) {
      std::vector<Real> x;
      bool has_nan = false;
      for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t bits = in.v[i] >> shift & keep;
        if (w.has("ftz")) bits = f.is_nan(bits) ? bits : flushed(bits, f);
        has_nan |= f.is_nan(bits);
        // The approximate f64 functions look at the upper word only.
        if (t == "f64" && w.has("ftz") && !f.is_nan(bits)) bits &= 0xffffffff00000000;
        x.push_back(value_of(bits, f));
      }
      const std::uint64_t element = got.d >> shift & keep;
      if (has_nan) {
        if (t == "f64" ? !f.is_nan(element) : element != f.nan) return "a NaN expected";
        continue;
      }
      const double divisor = op == "div" ? std::fabs(as_double(x[1])) : 0;
      if (op == "div" && w.has("approx") && divisor > 0x1p126 && std::isfinite(divisor)) {
        // The reciprocal of such a divisor is zero.
        const bool infinite = mpfr_inf_p(x[0].get()) != 0;
        if (infinite ? element != f.nan : (element & ~f.sign()) != 0)
          return infinite ? "a NaN expected" : "0 expected";
        continue;
      }
      const std::string wrong =
          wrong_with(element, function(op, x), bound_of(op, t, as_double(x[0])), f, w.has("ftz"));
      if (!wrong.empty()) return wrong;
    }
    return "";
  };
  return operation;
}

TEST(approximate, within_the_documented_errors) {
  Real::use_bits(Real::kForDoubles);
  const auto wanted = [](const Words& w) { return w.has("approx") || w.has("full"); };
  expect_all(operations_of({"rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh", "div"}, wanted, make),
             1500);
  Real::use_bits(Real::kForFloats);
}

// What they give is not defined to the bit, but must not depend on the host: results over a sweep, as one
// number. A change of the polynomials changes it; then say so here.
TEST(approximate, results_are_the_same_on_every_host) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::string text :
       {"ex2.approx.f32", "lg2.approx.f32", "sin.approx.f32", "cos.approx.f32", "tanh.approx.f32",
        "rsqrt.approx.f32", "ex2.approx.f16", "tanh.approx.bf16"}) {
    const Words w(text);
    Operation operation = elementwise(w.type(), 1, {});
    operation.text = text;
    operation.reference = nullptr;
    operation.check = [&](const Inputs&, const Output& got) {
      hash = (hash ^ got.d) * 0x100000001b3;
      return std::string();
    };
    expect_all({operation}, 20000);
  }
  EXPECT_EQ(hash, 0x7b7ca3f68fbb65a6ull);
}

}  // namespace
}  // namespace refrain::conformance
