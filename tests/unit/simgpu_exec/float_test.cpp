// Floating-point operations over edge operands: single rounding in every mode, flushing, clamping, NaNs,
// conversions. References use the host's IEEE arithmetic under fesetround, or exact reasoning in double.
#include <bit>
#include <cfenv>
#include <cmath>
#include <random>

#include "operation.hpp"

namespace refrain::simgpu {
namespace {

constexpr std::uint64_t kNan32 = 0x7fffffff;

float f32(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}
std::uint64_t bits32(float x) {
  return std::isnan(x) ? kNan32 : std::bit_cast<std::uint32_t>(x);
}
double f64(std::uint64_t bits) {
  return std::bit_cast<double>(bits);
}
std::uint64_t bits64(double x) {
  return std::bit_cast<std::uint64_t>(x);
}

const Bits kEdges = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000,
                     0x80800000, 0x3f800000, 0xbf800000, 0x3f800001, 0x34000000, 0x33ffffff,
                     0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345,
                     0x4b7fffff, 0x3eaaaaab, 0x40490fdb, 0xc2f6e979};

Bits with_random(Bits values, int count, unsigned seed) {
  std::mt19937 random(seed);
  for (int i = 0; i < count; ++i) values.push_back(random());
  return values;
}

struct Mode {
  const char* name;
  int host;
};
const Mode kModes[] = {{"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};

// The compiler may not move arithmetic over fesetround.
template <class F>
auto rounded(int mode, F f) {
  std::fesetround(mode);
  auto result = f();
  std::fesetround(FE_TONEAREST);
  return result;
}
template <class T>
T opaque(T x) {
  volatile T hidden = x;
  return hidden;
}

TEST(f32, arithmetic_rounds_once_in_every_mode) {
  const Operands two = all_of(kEdges, 2);
  const Widths w{32, 32, 32, 32};
  for (const Mode& mode : kModes) {
    const std::string m = mode.name;
    expect_operation("add." + m + ".f32 %d, %a, %b;", w, two, [&](auto a, auto b, auto) {
      return bits32(rounded(mode.host, [&] { return opaque(opaque(f32(a)) + opaque(f32(b))); }));
    });
    expect_operation("sub." + m + ".f32 %d, %a, %b;", w, two, [&](auto a, auto b, auto) {
      return bits32(rounded(mode.host, [&] { return opaque(opaque(f32(a)) - opaque(f32(b))); }));
    });
    expect_operation("mul." + m + ".f32 %d, %a, %b;", w, two, [&](auto a, auto b, auto) {
      return bits32(rounded(mode.host, [&] { return opaque(opaque(f32(a)) * opaque(f32(b))); }));
    });
    expect_operation("div." + m + ".f32 %d, %a, %b;", w, two, [&](auto a, auto b, auto) {
      return bits32(rounded(mode.host, [&] { return opaque(opaque(f32(a)) / opaque(f32(b))); }));
    });
    const Operands one = all_of(with_random(kEdges, 200, 5), 1);
    expect_operation("sqrt." + m + ".f32 %d, %a;", w, one, [&](auto a, auto, auto) {
      return bits32(rounded(mode.host, [&] { return std::sqrt(opaque(f32(a))); }));
    });
    expect_operation("rcp." + m + ".f32 %d, %a;", w, one, [&](auto a, auto, auto) {
      return bits32(rounded(mode.host, [&] { return opaque(opaque(1.0f) / opaque(f32(a))); }));
    });
    Bits few = {0,          0x80000000, 1,          0x00800000, 0x3f800000, 0xbf800000,
                0x3f800001, 0x7f7fffff, 0x7f800000, 0x7fc00000, 0x4b7fffff};
    expect_operation("fma." + m + ".f32 %d, %a, %b, %c;", w, all_of(few, 3), [&](auto a, auto b, auto c) {
      return bits32(
          rounded(mode.host, [&] { return std::fma(opaque(f32(a)), opaque(f32(b)), opaque(f32(c))); }));
    });
  }
}

TEST(f32, random_fma_is_exact) {
  Operands in;
  in.a = with_random({}, 3000, 1);
  in.b = with_random({}, 3000, 2);
  in.c = with_random({}, 3000, 3);
  expect_operation("fma.rn.f32 %d, %a, %b, %c;", {32, 32, 32, 32}, in,
                   [](auto a, auto b, auto c) { return bits32(std::fma(f32(a), f32(b), f32(c))); });
}

std::uint64_t flushed(std::uint64_t bits) {
  return (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits;
}

TEST(f32, flushing_and_clamping) {
  const Operands two = all_of(kEdges, 2);
  const Widths w{32, 32, 32, 32};
  expect_operation("add.ftz.f32 %d, %a, %b;", w, two,
                   [](auto a, auto b, auto) { return flushed(bits32(f32(flushed(a)) + f32(flushed(b)))); });
  expect_operation("mul.ftz.f32 %d, %a, %b;", w, two,
                   [](auto a, auto b, auto) { return flushed(bits32(f32(flushed(a)) * f32(flushed(b)))); });
  const auto clamp = [](float x) {
    return std::isnan(x) || x <= 0 ? 0ull : x > 1 ? 0x3f800000ull : bits32(x);
  };
  expect_operation("add.sat.f32 %d, %a, %b;", w, two,
                   [&](auto a, auto b, auto) { return clamp(f32(a) + f32(b)); });
  expect_operation("cvt.sat.f32.f32 %d, %a;", w, all_of(kEdges, 1),
                   [&](auto a, auto, auto) { return clamp(f32(a)); });
  expect_operation("neg.f32 %d, %a;", w, all_of(kEdges, 1),
                   [](auto a, auto, auto) { return a ^ 0x80000000; });
  expect_operation("abs.ftz.f32 %d, %a;", w, all_of(kEdges, 1),
                   [](auto a, auto, auto) { return flushed(a) & 0x7fffffff; });
  expect_operation("copysign.f32 %d, %a, %b;", w, two,
                   [](auto a, auto b, auto) { return (b & 0x7fffffff) | (a & 0x80000000); });
}

TEST(f32, minimum_maximum_and_comparisons) {
  const Operands two = all_of(kEdges, 2);
  const Widths w{32, 32, 32, 32};
  const auto extreme = [](std::uint64_t a, std::uint64_t b, bool max) {
    if (std::isnan(f32(a)) && std::isnan(f32(b))) return kNan32;
    if (std::isnan(f32(a))) return b;
    if (std::isnan(f32(b))) return a;
    if (f32(a) == f32(b)) return max ? a & b : a | b;
    return (f32(a) < f32(b)) != max ? a : b;
  };
  expect_operation("min.f32 %d, %a, %b;", w, two, [&](auto a, auto b, auto) { return extreme(a, b, false); });
  expect_operation("max.f32 %d, %a, %b;", w, two, [&](auto a, auto b, auto) { return extreme(a, b, true); });
  struct Case {
    const char* name;
    bool unordered;
    bool (*test)(float, float);
  };
  const Case cases[] = {{"lt", false, [](float x, float y) { return x < y; }},
                        {"le", false, [](float x, float y) { return x <= y; }},
                        {"gt", false, [](float x, float y) { return x > y; }},
                        {"ge", false, [](float x, float y) { return x >= y; }},
                        {"eq", false, [](float x, float y) { return x == y; }},
                        {"ne", false, [](float x, float y) { return x != y; }}};
  for (const Case& c : cases) {
    for (const bool unordered : {false, true}) {
      expect_operation(
          fmt::format("setp.{}{}.f32 %p, %a, %b; selp.b32 %d, 1, 0, %p;", c.name, unordered ? "u" : ""), w,
          two, [&](auto a, auto b, auto) -> std::uint64_t {
            if (std::isnan(f32(a)) || std::isnan(f32(b))) return unordered ? 1 : 0;
            return c.test(f32(a), f32(b)) ? 1 : 0;
          });
    }
  }
  expect_operation(
      "setp.nan.f32 %p, %a, %b; selp.b32 %d, 1, 0, %p;", w, two,
      [](auto a, auto b, auto) -> std::uint64_t { return std::isnan(f32(a)) || std::isnan(f32(b)); });
  expect_operation(
      "testp.subnormal.f32 %p, %a; selp.b32 %d, 1, 0, %p;", w, all_of(kEdges, 1),
      [](auto a, auto, auto) -> std::uint64_t { return std::fpclassify(f32(a)) == FP_SUBNORMAL; });
}

TEST(f32, approximations_are_close_and_exact_at_the_ends) {
  const Operands one = all_of(with_random(kEdges, 500, 17), 1);
  const auto check = [&](const std::string& op, double (*reference)(double)) {
    const Bits got = run_operation(op + " %d, %a;", {32, 32}, one.a, one.b, one.c);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const float x = f32(op.find("ftz") != std::string::npos ? flushed(one.a[i]) : one.a[i]);
      const auto expected = static_cast<float>(reference(x));
      if (std::isnan(expected) || std::isinf(expected) || expected == 0) {
        EXPECT_EQ(got[i], std::isnan(expected) ? kNan32 : bits32(expected)) << op << ' ' << x;
      } else if (std::fpclassify(expected) == FP_NORMAL) {
        EXPECT_LE(std::fabs(f32(got[i]) / expected - 1), 3e-7f) << op << ' ' << x;
      }
    }
  };
  check("ex2.approx.ftz.f32", [](double x) { return std::exp2(x); });
  check("lg2.approx.ftz.f32", [](double x) { return std::log2(x); });
  check("rcp.approx.ftz.f32", [](double x) { return 1 / x; });
  check("sqrt.approx.ftz.f32", [](double x) { return std::sqrt(x); });
  check("rsqrt.approx.ftz.f32", [](double x) { return 1 / std::sqrt(x); });
  check("tanh.approx.f32", [](double x) { return std::tanh(x); });
}

TEST(f64, arithmetic_rounds_once_in_every_mode) {
  const Bits edges = {0,
                      0x8000000000000000,
                      1,
                      0x3ff0000000000000,
                      0xbff0000000000001,
                      0x7fefffffffffffff,
                      0x7ff0000000000000,
                      0xfff0000000000000,
                      0x0010000000000000,
                      0x400921fb54442d18,
                      0x3cb0000000000000};
  const Operands two = all_of(edges, 2);
  const Widths w{64, 64, 64, 64};
  const auto canonical = [](double x) { return std::isnan(x) ? 0xfff8000000000000 : bits64(x); };
  for (const Mode& mode : kModes) {
    const std::string m = mode.name;
    expect_operation("add." + m + ".f64 %d, %a, %b;", w, two, [&](auto a, auto b, auto) {
      return canonical(rounded(mode.host, [&] { return opaque(opaque(f64(a)) + opaque(f64(b))); }));
    });
    expect_operation("mul." + m + ".f64 %d, %a, %b;", w, two, [&](auto a, auto b, auto) {
      return canonical(rounded(mode.host, [&] { return opaque(opaque(f64(a)) * opaque(f64(b))); }));
    });
    expect_operation("div." + m + ".f64 %d, %a, %b;", w, two, [&](auto a, auto b, auto) {
      return canonical(rounded(mode.host, [&] { return opaque(opaque(f64(a)) / opaque(f64(b))); }));
    });
    expect_operation(
        "fma." + m + ".f64 %d, %a, %b, %c;", w,
        all_of({0, 1, 0x3ff0000000000000, 0xbff0000000000001, 0x7fefffffffffffff, 0x3cb0000000000000}, 3),
        [&](auto a, auto b, auto c) {
          return canonical(
              rounded(mode.host, [&] { return std::fma(opaque(f64(a)), opaque(f64(b)), opaque(f64(c))); }));
        });
  }
}

TEST(conversion, floats_to_integers_round_and_clamp) {
  const Operands one = all_of(with_random(kEdges, 300, 23), 1);
  const auto to = [](double x, double low, double high) {
    return std::isnan(x) ? 0.0 : std::min(std::max(x, low), high);
  };
  expect_operation("cvt.rzi.s32.f32 %d, %a;", {32, 32}, one, [&](auto a, auto, auto) {
    return static_cast<std::uint64_t>(
        static_cast<std::int64_t>(to(std::trunc(f32(a)), -2147483648.0, 2147483647.0)));
  });
  expect_operation("cvt.rni.s32.f32 %d, %a;", {32, 32}, one, [&](auto a, auto, auto) {
    return static_cast<std::uint64_t>(
        static_cast<std::int64_t>(to(std::nearbyint(f32(a)), -2147483648.0, 2147483647.0)));
  });
  expect_operation("cvt.rmi.s32.f32 %d, %a;", {32, 32}, one, [&](auto a, auto, auto) {
    return static_cast<std::uint64_t>(
        static_cast<std::int64_t>(to(std::floor(f32(a)), -2147483648.0, 2147483647.0)));
  });
  expect_operation("cvt.rzi.u32.f32 %d, %a;", {32, 32}, one, [&](auto a, auto, auto) {
    return static_cast<std::uint64_t>(to(std::trunc(f32(a)), 0, 4294967295.0));
  });
  expect_operation("cvt.rpi.f32.f32 %d, %a;", {32, 32}, one,
                   [&](auto a, auto, auto) { return bits32(std::ceil(f32(a))); });
  expect_operation("cvt.rzi.s64.f32 %d, %a;", {64, 32}, one, [&](auto a, auto, auto) -> std::uint64_t {
    const float x = f32(a);
    if (std::isnan(x)) return 0x8000000000000000;
    if (x >= 0x1p63f) return 0x7fffffffffffffff;
    if (x < -0x1p63f) return 0x8000000000000000;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
  });
}

TEST(conversion, integers_to_floats_in_every_mode) {
  const Operands one =
      all_of(with_random({0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x1000001, 0x1000003}, 100, 29), 1);
  for (const Mode& mode : kModes) {
    const std::string m = mode.name;
    expect_operation("cvt." + m + ".f32.s32 %d, %a;", {32, 32}, one, [&](auto a, auto, auto) {
      return bits32(rounded(
          mode.host, [&] { return opaque(static_cast<float>(opaque(static_cast<std::int32_t>(a)))); }));
    });
    expect_operation("cvt." + m + ".f32.u32 %d, %a;", {32, 32}, one, [&](auto a, auto, auto) {
      return bits32(rounded(
          mode.host, [&] { return opaque(static_cast<float>(opaque(static_cast<std::int64_t>(a)))); }));
    });
  }
  const Operands wide = all_of({0, 1, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff,
                                0x20000000000001, 0x8000008000000001},
                               1);
  expect_operation("cvt.rn.f32.u64 %d, %a;", {32, 64}, wide,
                   [](auto a, auto, auto) { return bits32(static_cast<float>(a)); });
  expect_operation("cvt.rn.f64.s64 %d, %a;", {64, 64}, wide, [](auto a, auto, auto) {
    return bits64(static_cast<double>(static_cast<std::int64_t>(a)));
  });
}

TEST(conversion, doubles_and_halves) {
  const Operands one = all_of(with_random(kEdges, 500, 31), 1);
  expect_operation("cvt.f64.f32 %d, %a;", {64, 32}, one, [](auto a, auto, auto) {
    if (!std::isnan(f32(a))) return bits64(static_cast<double>(f32(a)));
    return (a >> 31) << 63 | 0x7ff8000000000000 | (a & 0x7fffff) << 29;  // quiet, its payload kept
  });
  for (const Mode& mode : kModes) {
    expect_operation(
        fmt::format("cvt.{}.f32.f64 %d, %a;", mode.name), {32, 64},
        all_of({0x3ff0000010000000, 0x3ff0000030000000, 0xbff0000010000001, 0x47f0000000000000,
                0x36a0000000000000, 0x3690000000000000, 1},
               1),
        [&](auto a, auto, auto) {
          return bits32(rounded(mode.host, [&] { return opaque(static_cast<float>(opaque(f64(a)))); }));
        });
  }
  // Every half goes to f32 and back unchanged.
  Operands halves;
  for (std::uint64_t h = 0; h < 65536; h += 7) halves.a.push_back(h);
  halves.b = halves.c = Bits(halves.a.size(), 0);
  expect_operation(
      "cvt.f32.f16 %c, %a; cvt.rn.f16.f32 %d, %c;", {16, 16, 32, 32}, halves,
      [](auto a, auto, auto) { return (a & 0x7c00) == 0x7c00 && (a & 0x3ff) != 0 ? 0x7fff : a; });
  // Halfway cases round to even; beyond the largest half is infinity.
  expect_operation("cvt.rn.f16.f32 %d, %a;", {16, 32},
                   {{bits32(1 + 0x1p-11f), bits32(1 + 0x3p-11f), bits32(65519.0f), bits32(65520.0f),
                     bits32(0x1p-25f), bits32(0x1.8p-25f)},
                    Bits(6, 0),
                    Bits(6, 0)},
                   [](auto a, auto, auto) -> std::uint64_t {
                     const float x = f32(a);
                     if (x == 1 + 0x1p-11f) return 0x3c00;
                     if (x == 1 + 0x3p-11f) return 0x3c02;
                     if (x == 65519.0f) return 0x7bff;
                     if (x == 65520.0f) return 0x7c00;
                     return x == 0x1p-25f ? 0 : 1;
                   });
}

TEST(f16, fused_multiply_add_rounds_once) {
  // (1 + 2^-10)^2 + 2^-24: the sum in float would already have lost what decides.
  const Operands in{{0x3c01, 0x3c00, 0x7bff}, {0x3c01, 0x3c01, 0x7bff}, {0x0001, 0x8001, 0xfc00}};
  expect_operation("fma.rn.f16 %d, %a, %b, %c;", {16, 16, 16, 16}, in,
                   [](auto a, auto, auto) -> std::uint64_t {
                     return a == 0x3c01 ? 0x3c02 : a == 0x3c00 ? 0x3c01 : 0xfc00;
                   });
  expect_operation("add.f16x2 %d, %a, %b;", {32, 32, 32, 32}, {{0x3c004000}, {0x3c003c00}, {0}},
                   [](auto, auto, auto) { return 0x40004200; });
}

}  // namespace
}  // namespace refrain::simgpu
