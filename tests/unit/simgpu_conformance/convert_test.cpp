// cvt between every two types that PTX has, with every word.
#include <gtest/gtest.h>

#include "floats.hpp"

namespace refrain::conformance {
namespace {

std::uint64_t low_bits(std::uint64_t value, unsigned width) {
  return width == 64 ? value : value & ((1ull << width) - 1);
}

// Clamped to the type; a NaN has its own rule (PTX ISA 9.0, cvt).
std::uint64_t to_integer(const Real& x, const std::string& to, const std::string& from, bool is_nan) {
  const unsigned width = bits_of(to);
  if (is_nan) return from == "f64" || width == 64 ? 1ull << (width - 1) : 0;
  Real low, high;
  if (is_signed(to)) {
    mpfr_set_si_2exp(low.get(), -1, width - 1, MPFR_RNDN);
    mpfr_set_ui_2exp(high.get(), 1, width - 1, MPFR_RNDN);
  } else {
    mpfr_set_zero(low.get(), 1);
    mpfr_set_ui_2exp(high.get(), 1, width, MPFR_RNDN);
  }
  mpfr_sub_ui(high.get(), high.get(), 1, MPFR_RNDN);
  const Real& inside = mpfr_cmp(x.get(), low.get()) < 0 ? low : mpfr_cmp(x.get(), high.get()) > 0 ? high : x;
  const std::uint64_t bits = is_signed(to) ? static_cast<std::uint64_t>(mpfr_get_si(inside.get(), MPFR_RNDN))
                                           : mpfr_get_ui(inside.get(), MPFR_RNDN);
  return low_bits(bits, width);
}

bool rounds_to_integer(const Words& w) {
  return w.has("rni") || w.has("rzi") || w.has("rmi") || w.has("rpi");
}

std::uint64_t nan_bits(std::uint64_t bits, const std::string& to, const std::string& from, const Words& w) {
  if (w.has("sat")) return 0;
  if (to == "tf32") return 0x7fffffff;
  if (to != "f64") return format_of(to).nan;
  // Its sign and payload are kept where the result is f64.
  const Format& f = format_of(from);
  const std::uint64_t sign = (bits & f.sign()) != 0 ? 1ull << 63 : 0;
  const std::uint64_t payload = (bits & ((1ull << f.mantissa_bits) - 1)) << (52 - f.mantissa_bits);
  return sign | 0x7ff8000000000000 | payload;
}

// One element.
std::uint64_t converted(std::uint64_t bits, const std::string& to, const std::string& from, const Words& w) {
  if (!is_float(from)) {
    const Real x = integer_value(bits, bits_of(from), is_signed(from));
    if (is_float(to)) return finished(x, format_of(to), w);
    return w.has("sat") ? to_integer(x, to, from, false)
                        : low_bits(static_cast<std::uint64_t>(
                                       is_signed(from) ? mpfr_get_si(x.get(), MPFR_RNDN)
                                                       : static_cast<long>(mpfr_get_ui(x.get(), MPFR_RNDN))),
                                   bits_of(to));
  }
  const Format& f = format_of(from);
  bits &= (f.sign() << 1) - 1;
  const bool is_nan = f.is_nan(bits);
  if (w.has("ftz") && from == "f32" && !is_nan) bits = flushed(bits, f);
  Real x;
  if (!is_nan) x = rounds_to_integer(w) ? integral(value_of(bits, f), round_of(w)) : value_of(bits, f);
  if (!is_float(to)) return to_integer(x, to, from, is_nan);
  if (is_nan) return nan_bits(bits, to, from, w);
  // Flushing is for f32 alone.
  const Words without_ftz("cvt." + std::string(w.has("sat") ? "sat." : "") + (w.has("relu") ? "relu." : "") +
                          (w.has("satfinite") ? "satfinite." : "") +
                          (w.has("rz") || w.has("rzi")   ? "rz"
                           : w.has("rm") || w.has("rmi") ? "rm"
                           : w.has("rp") || w.has("rpi") ? "rp"
                           : w.has("rna")                ? "rna"
                                                         : "rn"));
  const std::uint64_t result = finished(x, format_of(to), to == "f32" ? w : without_ftz);
  return to == "tf32" ? result << 13 : result;
}

std::string element_of(const std::string& type) {
  return is_pair(type) ? type.substr(0, type.size() - 2) : type;
}

Operation make_pack(const Words& w) {
  Operation operation;
  const std::string to = w.type();
  const bool with_c = w.type_count() == 3;
  const unsigned width = bits_of(to);
  operation.destination = "b32";
  operation.sources = {"s32", "s32", "b32"};
  operation.operands = with_c ? "%d, %a0, %a1, %a2" : "%d, %a0, %a1";
  operation.reference = [=](const Inputs& in) {
    const auto part = [&](std::uint64_t x) {
      return to_integer(integer_value(x, 32, true), to, "s32", false);
    };
    const std::uint64_t both = part(in.v[0]) << width | part(in.v[1]);
    return Output{low_bits(with_c ? in.v[2] << 2 * width | both : both, 32), false, false};
  };
  return operation;
}

Operation make(const std::string&, const Words& w) {
  if (w.has("pack")) return make_pack(w);
  Operation operation;
  const std::string to = w.type(0), from = w.type(1);
  operation.destination = bits_of(to) == 8 ? "b16" : to;
  operation.sources = {from};
  operation.operands = "%d, %a0";
  if (is_pair(to) && from == "f32") {
    operation.sources = {from, from};
    operation.operands = "%d, %a0, %a1";
    const unsigned width = bits_of(to) / 2;
    operation.reference = [=](const Inputs& in) {
      const std::string e = element_of(to);
      return Output{converted(in.v[0], e, from, w) << width | converted(in.v[1], e, from, w), false, false};
    };
    return operation;
  }
  operation.reference = [=](const Inputs& in) {
    if (is_pair(to)) {
      const unsigned wide = bits_of(to) / 2, narrow = bits_of(from) / 2;
      const std::string e = element_of(to), s = element_of(from);
      const std::uint64_t high = converted(low_bits(in.v[0] >> narrow, narrow), e, s, w);
      return Output{high << wide | converted(low_bits(in.v[0], narrow), e, s, w), false, false};
    }
    std::uint64_t r = converted(in.v[0], to, from, w);
    // An 8-bit result in a 16-bit register is extended.
    if (to == "s8" && (r & 0x80) != 0) r |= 0xff00;
    return Output{r, false, false};
  };
  return operation;
}

// A register may be wider than an integer type: as source its lower bits count, as destination it is filled.
Operation widened(const std::string& to, const std::string& from, unsigned d_bits, unsigned a_bits,
                  bool clamps) {
  Operation operation;
  operation.text = (clamps ? "cvt.sat." : "cvt.") + to + "." + from;
  operation.destination = "b" + std::to_string(d_bits);
  operation.sources = {"b" + std::to_string(a_bits)};
  operation.operands = "%d, %a0";
  const Words w(operation.text);
  operation.reference = [=](const Inputs& in) {
    const std::uint64_t r = converted(low_bits(in.v[0], bits_of(from)), to, from, w);
    const std::uint64_t extended = static_cast<std::uint64_t>(
        mpfr_get_si(integer_value(r, bits_of(to), is_signed(to)).get(), MPFR_RNDN));
    return Output{low_bits(extended, d_bits), false, false};
  };
  return operation;
}

TEST(conversion, every_form) {
  Real::use_bits(Real::kForDoubles);
  expect_all(operations_of(
                 {"cvt"}, [](const Words&) { return true; }, make),
             256);
  Real::use_bits(Real::kForFloats);
}

TEST(conversion, every_half_and_every_byte) {
  std::vector<Operation> operations;
  for (const std::string text :
       {"cvt.f32.f16", "cvt.f32.bf16", "cvt.rn.f16x2.e4m3x2", "cvt.rn.f16x2.e5m2x2", "cvt.f64.f16"}) {
    operations.push_back(make(text, Words(text)));
    operations.back().text = text;
  }
  expect_all(operations, 30000);
}

TEST(conversion, f32_to_halves_at_their_halfway_points) {
  std::vector<Operation> operations;
  for (const std::string text :
       {"cvt.rn.f16.f32", "cvt.rn.bf16.f32", "cvt.rn.f16x2.f32", "cvt.rn.bf16x2.f32", "cvt.rna.tf32.f32",
        "cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.satfinite.e5m2x2.f32"}) {
    operations.push_back(make(text, Words(text)));
    operations.back().text = text;
  }
  expect_all(operations, 20000);
}

TEST(conversion, registers_wider_than_their_type) {
  std::vector<Operation> operations;
  const std::string types[] = {"u8", "s8", "u16", "s16", "u32", "s32"};
  for (const std::string& to : types) {
    for (const std::string& from : types) {
      for (const unsigned d_bits : {16u, 32u, 64u}) {
        for (const unsigned a_bits : {16u, 32u, 64u}) {
          if (d_bits < bits_of(to) || a_bits < bits_of(from)) continue;
          operations.push_back(widened(to, from, d_bits, a_bits, false));
        }
      }
    }
  }
  expect_all(operations, 64);
}

}  // namespace
}  // namespace refrain::conformance
