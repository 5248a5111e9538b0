// setp, set, selp, slct, testp: every comparison of every type, with and without a predicate to combine.
#include <gtest/gtest.h>

#include <optional>

#include "floats.hpp"

namespace refrain::conformance {
namespace {

// -1, 0, 1, or nothing if one is a NaN.
std::optional<int> order(std::uint64_t a, std::uint64_t b, const std::string& type, bool ftz) {
  if (!is_float(type)) {
    const unsigned width = bits_of(type);
    return mpfr_cmp(integer_value(a, width, is_signed(type)).get(),
                    integer_value(b, width, is_signed(type)).get());
  }
  const Format& f = format_of(type);
  if (f.is_nan(a) || f.is_nan(b)) return std::nullopt;
  if (ftz) {
    a = flushed(a, f);
    b = flushed(b, f);
  }
  return mpfr_cmp(value_of(a, f).get(), value_of(b, f).get());
}

bool holds(const Words& w, std::optional<int> sign) {
  if (w.has("num")) return sign.has_value();
  if (w.has("nan")) return !sign.has_value();
  const bool unordered =
      w.has("equ") || w.has("neu") || w.has("ltu") || w.has("leu") || w.has("gtu") || w.has("geu");
  if (!sign) return unordered;
  if (w.has("eq") || w.has("equ")) return *sign == 0;
  if (w.has("ne") || w.has("neu")) return *sign != 0;
  if (w.has("lt") || w.has("lo") || w.has("ltu")) return *sign < 0;
  if (w.has("le") || w.has("ls") || w.has("leu")) return *sign <= 0;
  if (w.has("gt") || w.has("hi") || w.has("gtu")) return *sign > 0;
  return *sign >= 0;
}

bool combined(const Words& w, bool result, bool c) {
  if (w.has("and")) return result && c;
  if (w.has("or")) return result || c;
  return w.has("xor") ? result != c : result;
}

bool combines(const Words& w) {
  return w.has("and") || w.has("or") || w.has("xor");
}

// The last type is the one that is compared. Half of the operands are alike.
Operation comparison(const Words& w) {
  Operation operation;
  const std::string t = w.type(w.type_count() - 1);
  operation.sources = {t, t, "b32"};
  const std::string move = bits_of(t) == 64 ? "b64" : bits_of(t) == 16 ? "b16" : "b32";
  operation.before = "and.b32 %t0, %a2, 3; setp.eq.u32 %q, %t0, 0; @%q mov." + move + " %a1, %a0;\n";
  operation.before += "setp.ne.u32 %q, 0, 0;\n";
  return operation;
}

std::uint64_t second(const Inputs& in) {
  return (in.v[2] & 3) == 0 ? in.v[0] : in.v[1];
}

Operation make_setp(const std::string&, const Words& w) {
  Operation operation = comparison(w);
  const std::string t = w.type();
  operation.operands = std::string("%p|%q, %a0, %a1") + (combines(w) ? ", %c" : "");
  operation.reference = [=](const Inputs& in) {
    const std::uint64_t a = in.v[0], b = second(in);
    if (is_pair(t)) {
      const std::string half = t.substr(0, t.size() - 2);
      const bool low = holds(w, order(a & 0xffff, b & 0xffff, half, w.has("ftz")));
      const bool high = holds(w, order(a >> 16 & 0xffff, b >> 16 & 0xffff, half, w.has("ftz")));
      return Output{0, combined(w, low, in.c), combined(w, high, in.c)};
    }
    const bool result = holds(w, order(a, b, t, w.has("ftz")));
    return Output{0, combined(w, result, in.c), combined(w, !result, in.c)};
  };
  return operation;
}

std::uint64_t truth(const std::string& type) {
  if (is_float(type))
    return static_cast<std::uint64_t>((1 << (format_of(type).exponent_bits - 1)) - 1)
           << format_of(type).mantissa_bits;
  return bits_of(type) == 16 ? 0xffff : 0xffffffff;
}

Operation make_set(const std::string&, const Words& w) {
  Operation operation = comparison(w);
  const std::string d = w.type(0), t = w.type(1);
  operation.destination = d;
  operation.operands = std::string("%d, %a0, %a1") + (combines(w) ? ", %c" : "");
  operation.reference = [=](const Inputs& in) {
    const std::uint64_t a = in.v[0], b = second(in);
    if (is_pair(t)) {
      const std::string half = t.substr(0, t.size() - 2);
      Output out;
      for (unsigned shift = 0; shift < 32; shift += 16) {
        const bool r = holds(w, order(a >> shift & 0xffff, b >> shift & 0xffff, half, w.has("ftz")));
        if (combined(w, r, in.c)) out.d |= truth(half) << shift;
      }
      return out;
    }
    const bool r = holds(w, order(a, b, t, w.has("ftz")));
    return Output{combined(w, r, in.c) ? truth(d) : 0, false, false};
  };
  return operation;
}

Operation make_select(const std::string&, const Words& w) {
  Operation operation;
  const std::string t = w.type();
  operation.destination = t;
  operation.sources = {t, t};
  if (w.opcode() == "selp") {
    operation.operands = "%d, %a0, %a1, %c";
    operation.reference = [=](const Inputs& in) { return Output{in.c ? in.v[0] : in.v[1], false, false}; };
    return operation;
  }
  const std::string c = w.type(1);
  operation.sources.push_back(c);
  operation.operands = "%d, %a0, %a1, %a2";
  operation.reference = [=](const Inputs& in) {
    const std::optional<int> sign = order(in.v[2], 0, c, w.has("ftz"));
    return Output{sign && *sign >= 0 ? in.v[0] : in.v[1], false, false};
  };
  return operation;
}

Operation make_class(const std::string&, const Words& w) {
  Operation operation;
  const std::string t = w.type();
  operation.sources = {t};
  operation.operands = "%p, %a0";
  operation.reference = [=](const Inputs& in) {
    const Format& f = format_of(t);
    const std::uint64_t size = in.v[0] & ~f.sign();
    const bool nan = f.is_nan(size), infinite = size == f.infinity(), zero = size == 0;
    const bool subnormal = f.is_subnormal(size) && !zero, normal = !nan && !infinite && !f.is_subnormal(size);
    const bool p = w.has("finite")       ? !nan && !infinite
                   : w.has("infinite")   ? infinite
                   : w.has("number")     ? !nan
                   : w.has("notanumber") ? nan
                   : w.has("normal")     ? normal
                                         : subnormal;
    return Output{0, p, false};
  };
  return operation;
}

const auto kAll = [](const Words&) { return true; };

TEST(comparison, setp) {
  expect_all(operations_of({"setp"}, kAll, make_setp), 192);
}
TEST(comparison, set) {
  expect_all(operations_of({"set"}, kAll, make_set), 192);
}
TEST(comparison, selection) {
  expect_all(operations_of({"selp", "slct"}, kAll, make_select), 192);
}
TEST(comparison, classes) {
  expect_all(operations_of({"testp"}, kAll, make_class), 256);
}

}  // namespace
}  // namespace refrain::conformance
