// Arithmetic of every floating-point type with one rounding in every direction, flushing, saturation; minimum
// and maximum; signs; the sums and products that mix a half with f32.
#include <gtest/gtest.h>

#include "floats.hpp"

namespace refrain::conformance {
namespace {

Real computed(const std::string& op, const std::vector<Real>& x, Round round) {
  const auto negative = [](Real r) {
    mpfr_neg(r.get(), r.get(), MPFR_RNDN);
    return r;
  };
  Real one;
  mpfr_set_ui(one.get(), 1, MPFR_RNDN);
  if (op == "add") return sum(x[0], x[1], round);
  if (op == "sub") return sum(x[0], negative(x[1]), round);
  if (op == "mul") return product(x[0], x[1]);
  if (op == "fma" || op == "mad") return sum(product(x[0], x[1]), x[2], round);
  if (op == "div") return quotient(x[0], x[1]);
  if (op == "rcp") return quotient(one, x[0]);
  return root(x[0]);
}

std::size_t operand_count(const std::string& op) {
  if (op == "fma" || op == "mad") return 3;
  return op == "rcp" || op == "sqrt" ? 1 : 2;
}

Operation make_arithmetic(const std::string&, const Words& w) {
  const std::string op = w.opcode(), t = w.type();
  const Format& f = format_of(t);
  return elementwise(t, operand_count(op), [=](std::vector<std::uint64_t> x) {
    std::vector<Real> values;
    bool has_nan = false;
    for (std::uint64_t& bits : x) {
      if (w.has("ftz")) bits = f.is_nan(bits) ? bits : flushed(bits, f);
      has_nan |= f.is_nan(bits);
      values.push_back(value_of(bits, f));
    }
    if (has_nan) return nan_result(x, f, w);
    return finished(computed(op, values, round_of(w)), f, w);
  });
}

// d (f32) = a (half) + b; d = a * b (halves) + c.
Operation make_mixed(const std::string&, const Words& w) {
  const std::string op = w.opcode(), half = w.type(1);
  Operation operation;
  operation.destination = "f32";
  operation.sources =
      op == "fma" ? std::vector<std::string>{half, half, "f32"} : std::vector<std::string>{half, "f32"};
  operation.operands = op == "fma" ? "%d, %a0, %a1, %a2" : "%d, %a0, %a1";
  const auto sources = operation.sources;
  operation.reference = [=](const Inputs& in) {
    std::vector<Real> values;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const Format& f = format_of(sources[i]);
      if (f.is_nan(in.v[i])) return Output{nan_result({}, kSingle, w), false, false};
      values.push_back(value_of(in.v[i], f));
    }
    return Output{finished(computed(op, values, round_of(w)), kSingle, w), false, false};
  };
  return operation;
}

std::uint64_t extreme(const std::vector<std::uint64_t>& operands, const Format& f, const Words& w) {
  const bool maximum = w.opcode() == "max";
  const bool sizes = w.has("abs");
  std::uint64_t best = f.nan;
  for (std::uint64_t bits : operands) {
    if (sizes) bits &= ~f.sign();
    if (w.has("ftz") && !f.is_nan(bits)) bits = flushed(bits, f);
    if (f.is_nan(bits)) {
      if (w.has("NaN")) return f.nan;
      continue;
    }
    if (f.is_nan(best)) {
      best = bits;
      continue;
    }
    const int order = mpfr_cmp(value_of(bits, f).get(), value_of(best, f).get());
    const bool replaces = order == 0 ? ((bits & f.sign()) == 0) == maximum : (order > 0) == maximum;
    if (replaces) best = bits;
  }
  if (f.is_nan(best)) return f.nan;
  if (w.has("xorsign")) best |= (operands[0] ^ operands[1]) & f.sign();
  return best;
}

Operation make_extreme(const std::string&, const Words& w) {
  const std::string t = w.type();
  // .abs without .xorsign has three operands.
  const std::size_t count = w.has("abs") && !w.has("xorsign") ? 3 : 2;
  return elementwise(t, count,
                     [=](const std::vector<std::uint64_t>& x) { return extreme(x, format_of(t), w); });
}

Operation make_sign(const std::string&, const Words& w) {
  const std::string t = w.type(), op = w.opcode();
  const Format& f = format_of(t);
  return elementwise(t, op == "copysign" ? 2 : 1, [=](std::vector<std::uint64_t> x) {
    if (op == "copysign") return (x[1] & ~f.sign()) | (x[0] & f.sign());
    if (w.has("ftz") && !f.is_nan(x[0])) x[0] = flushed(x[0], f);
    return op == "abs" ? x[0] & ~f.sign() : x[0] ^ f.sign();
  });
}

bool rounds_once(const Words& w) {
  return w.type_count() == 1 && is_float(w.type()) && !w.has("approx") && !w.has("full") && w.type() != "f64";
}
bool rounds_once_in_double(const Words& w) {
  return w.type_count() == 1 && w.type() == "f64" && !w.has("approx");
}

TEST(floats, arithmetic_rounds_once) {
  Real::use_bits(Real::kForFloats);
  expect_all(
      operations_of({"add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt"}, rounds_once, make_arithmetic),
      384);
}

TEST(floats, arithmetic_in_double_rounds_once) {
  Real::use_bits(Real::kForDoubles);
  expect_all(operations_of({"add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt"}, rounds_once_in_double,
                           make_arithmetic),
             256);
  Real::use_bits(Real::kForFloats);
}

TEST(floats, sums_that_begin_with_a_half) {
  expect_all(operations_of(
                 {"add", "sub", "fma"}, [](const Words& w) { return w.type_count() == 2; }, make_mixed),
             384);
}

TEST(floats, minimum_and_maximum) {
  const auto floats_only = [](const Words& w) { return is_float(w.type()); };
  expect_all(operations_of({"min", "max"}, floats_only, make_extreme), 384);
  // Of three operands, by the same words.
  std::vector<Operation> of_three;
  for (const char* text :
       {"min.f32", "max.f32", "min.ftz.f32", "max.NaN.f32", "max.ftz.NaN.f32", "min.NaN.f32"}) {
    const Words w(text);
    of_three.push_back(
        elementwise("f32", 3, [=](const std::vector<std::uint64_t>& x) { return extreme(x, kSingle, w); }));
    of_three.back().text = text;
  }
  expect_all(of_three, 384);
}

TEST(floats, signs) {
  expect_all(operations_of(
      {"abs", "neg", "copysign"}, [](const Words& w) { return is_float(w.type()); }, make_sign));
}

// Halves are common and their loops are vectorised: many more operands.
TEST(floats, many_halves) {
  Real::use_bits(Real::kForFloats);
  for (const std::string t : {"f16", "bf16"}) {
    std::vector<Operation> operations;
    for (const std::string op : {"fma.rn", "add", "mul"}) {
      const Words w(op + "." + t);
      Operation operation = make_arithmetic("", w);
      operation.text = op + "." + t;
      operations.push_back(operation);
    }
    expect_all(operations, 20000);
  }
}

}  // namespace
}  // namespace refrain::conformance
