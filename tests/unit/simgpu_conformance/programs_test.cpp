// Programs that nvcc compiled for several architectures, against the host: mathematical functions within the
// errors that the CUDA C++ guide states, everything else exactly.
#include <bit>
#include <cmath>
#include <random>

#include "floats.hpp"
#include "tests/unit/simgpu_exec/harness.hpp"

namespace refrain::conformance {
namespace {

using simgpu::shape_of;
using simgpu::TestDevice;

class Programs : public testing::TestWithParam<const char*> {
 protected:
  Programs() : device_(simgpu::file_text(GetParam())) {}
  TestDevice device_;
};

std::vector<double> inputs(int n, double low, double high, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<double> x(static_cast<std::size_t>(n));
  for (double& value : x) value = uniform(random);
  return x;
}

struct Function {
  const char* name;
  double ulp;
  std::function<long double(long double, long double)> f;
};

template <class T>
double ulps(T got, long double want) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : INFINITY;
  if (got == static_cast<T>(want)) return 0;
  const T size = std::fabs(static_cast<T>(want));
  const long double unit =
      static_cast<long double>(std::nextafter(size, std::numeric_limits<T>::infinity())) - size;
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / unit);
}

template <class T>
void expect_functions(TestDevice& device, const char* kernel, const std::vector<Function>& functions,
                      double range) {
  const int n = 512;
  const auto wide_x = inputs(n, -range, range, 1), wide_y = inputs(n, -range / 3, range / 3, 2);
  const std::vector<T> x(wide_x.begin(), wide_x.end()), y(wide_y.begin(), wide_y.end());
  const auto out = device.upload(std::vector<T>(functions.size() * n));
  device.launch(kernel, shape_of(4, 128), device.upload(x), device.upload(y), out, n);
  const auto got = device.download<T>(out, functions.size() * n);
  for (std::size_t f = 0; f < functions.size(); ++f) {
    double worst = 0;
    int at = 0;
    for (int i = 0; i < n; ++i) {
      const double error =
          ulps(got[f * n + static_cast<std::size_t>(i)],
               functions[f].f(x[static_cast<std::size_t>(i)], y[static_cast<std::size_t>(i)]));
      if (error > worst) worst = error, at = i;
    }
    // Half a unit more for the rounding of what was expected.
    EXPECT_LE(worst, functions[f].ulp + 0.51)
        << functions[f].name << " of " << x[static_cast<std::size_t>(at)] << ", "
        << y[static_cast<std::size_t>(at)];
  }
}

// A product that the kernel itself rounds to float.
float times(long double a, float b) {
  return static_cast<float>(a) * b;
}

TEST_P(Programs, functions_of_f32) {
  using L = long double;
  const std::vector<Function> functions = {
      {"expf", 1, [](L a, L) { return std::exp(a); }},
      {"logf", 1, [](L a, L) { return std::log(std::fabs(a)); }},
      {"powf", 4, [](L a, L b) { return std::pow(std::fabs(a), b); }},
      {"tanhf", 2, [](L a, L) { return std::tanh(a); }},
      {"erff", 2, [](L a, L) { return std::erf(a); }},
      {"sinf", 2, [](L a, L) { return std::sin(a); }},
      {"cosf", 2, [](L a, L) { return std::cos(a); }},
      {"sinf of large", 2, [](L a, L) { return std::sin(static_cast<L>(times(a, 1e6f))); }},
      {"cosf of huge", 2, [](L a, L) { return std::cos(static_cast<L>(times(a, 1e30f))); }},
      {"sqrtf", 0, [](L a, L) { return std::sqrt(std::fabs(a)); }},
      {"rsqrtf", 2, [](L a, L) { return 1 / std::sqrt(std::fabs(a)); }},
      {"cbrtf", 1, [](L a, L) { return std::cbrt(a); }},
      {"atan2f", 3, [](L a, L b) { return std::atan2(a, b); }},
      {"log1pf", 1, [](L a, L) { return std::log1p(std::fabs(a)); }},
      {"expm1f", 1, [](L a, L) { return std::expm1(a); }},
      {"sinhf", 3, [](L a, L) { return std::sinh(a); }},
      {"acosf", 2, [](L a, L) { return std::acos(std::fmod(a, 1.0L)); }},
      {"erfcf", 4, [](L a, L) { return std::erfc(a); }},
      {"lgammaf", 6, [](L a, L) { return std::lgamma(std::fabs(a)); }},
      {"division", 0, [](L a, L b) { return a / b; }},
      {"fmodf", 0, [](L a, L b) { return std::fmod(static_cast<L>(times(a, 1000.0f)), b); }},
      {"log2f", 1, [](L a, L) { return std::log2(std::fabs(a)); }},
      {"exp2f", 2, [](L a, L) { return std::exp2(a); }},
      {"tanf", 4, [](L a, L) { return std::tan(a); }},
      {"hypotf", 3, [](L a, L b) { return std::hypot(a, b); }},
      {"remainderf", 0, [](L a, L b) { return std::remainder(a, b); }},
  };
  expect_functions<float>(device_, "math_f32", functions, 12);
}

TEST_P(Programs, functions_of_f64) {
  using L = long double;
  const std::vector<Function> functions = {
      {"exp", 1, [](L a, L) { return std::exp(a); }},
      {"log", 1, [](L a, L) { return std::log(std::fabs(a)); }},
      {"pow", 2, [](L a, L b) { return std::pow(std::fabs(a), b); }},
      {"tanh", 2, [](L a, L) { return std::tanh(a); }},
      {"erf", 2, [](L a, L) { return std::erf(a); }},
      {"sin of large", 2, [](L a, L) { return std::sin(static_cast<L>(static_cast<double>(a) * 1e10)); }},
      {"cos", 2, [](L a, L) { return std::cos(a); }},
      {"root and quotient", 0,
       [](L a, L b) { return static_cast<L>(std::sqrt(std::fabs(static_cast<double>(a)))) / b; }},
      {"rsqrt", 2, [](L a, L) { return 1 / std::sqrt(std::fabs(a)); }},
      {"cbrt", 1, [](L a, L) { return std::cbrt(a); }},
      {"atan2", 2, [](L a, L b) { return std::atan2(a, b); }},
      {"fmod", 0, [](L a, L b) { return std::fmod(static_cast<L>(static_cast<double>(a) * 1000), b); }},
      {"lgamma", 4,
       [](L a, L) { return std::lgamma(static_cast<L>(std::fabs(static_cast<double>(a)) + 0.5)); }},
  };
  expect_functions<double>(device_, "math_f64", functions, 20);
}

// To the nearest half and back.
float as(const Format& f, double x) {
  Real r;
  mpfr_set_d(r.get(), x, MPFR_RNDN);
  return static_cast<float>(as_double(value_of(rounded(r, f, Round::kNearest), f)));
}

TEST_P(Programs, half_precision) {
  const int n = 256;
  const auto wide = inputs(n, -8, 8, 3);
  const std::vector<float> x(wide.begin(), wide.end());
  const auto out = device_.upload(std::vector<float>(14 * n));
  device_.launch("halves", shape_of(2, 128), device_.upload(x), out, n);
  const auto got = device_.download<float>(out, 14 * n);
  for (int i = 0; i < n; ++i) {
    const auto value = [&](int row) { return got[static_cast<std::size_t>(row * n + i)]; };
    const float left = x[static_cast<std::size_t>(i)], right = x[static_cast<std::size_t>(n - 1 - i)];
    const double a = as(kHalf, left), b = as(kHalf, right), c = as(kBrain, left), d = as(kBrain, right);
    EXPECT_EQ(value(0), as(kHalf, a + b));
    EXPECT_EQ(value(1), as(kHalf, a * b));
    EXPECT_EQ(value(2), as(kHalf, a * b + a));
    EXPECT_NEAR(value(3) / std::exp(a), 1, 2e-3);
    EXPECT_EQ(value(4), as(kHalf, a / b));
    EXPECT_EQ(value(5), as(kBrain, c + d));
    EXPECT_EQ(value(6), as(kBrain, c * d));
    EXPECT_EQ(value(7), as(kBrain, c * d + c));
    EXPECT_EQ(value(8), static_cast<float>(std::max(c, d)));
    EXPECT_EQ(value(9), as(kHalf, a * b + a));
    EXPECT_EQ(value(10), as(kHalf, a * b + a));
    EXPECT_EQ(value(11), as(kBrain, c + c));
    EXPECT_EQ(value(12), a < b ? 1.0f : 0.0f);
    EXPECT_EQ(value(13), static_cast<float>(std::trunc(a) + i));
  }
}

TEST_P(Programs, atomic_functions_of_every_type) {
  const auto ints = device_.upload(std::vector<int>{0, 0, 0, 0, -1, 0, 0, 0, 0, 1, 0});
  const auto wide = device_.upload(std::vector<long long>{0, 0, 0});
  const auto f = device_.upload(std::vector<float>{0});
  const auto d = device_.upload(std::vector<double>{0});
  const auto h = device_.upload(std::vector<std::uint16_t>{0, 0}),
             h2 = device_.upload(std::vector<std::uint32_t>{0}),
             b = device_.upload(std::vector<std::uint16_t>{0, 0});
  device_.launch("atomics", shape_of(1, 64), ints, wide, f, d, h, h2, b);
  int inc = 0, dec = 0, all_xor = 0;
  for (int t = 0; t < 64; ++t) {
    inc = inc >= 10 ? 0 : inc + 1;
    dec = dec == 0 || dec > 7 ? 7 : dec - 1;
    all_xor ^= t;
  }
  EXPECT_EQ(device_.download<int>(ints, 11),
            (std::vector<int>{2016, -2016, -63, 63, ~0xff, 0xffff, all_xor, inc, dec, 5, 42}));
  EXPECT_EQ(device_.download<long long>(wide, 3), (std::vector<long long>{2016LL << 33, 63LL << 40, -63}));
  EXPECT_EQ(device_.download<float>(f, 1)[0], 32.0f);
  EXPECT_EQ(device_.download<double>(d, 1)[0], 16.0);
  EXPECT_EQ(device_.download<std::uint16_t>(h, 1)[0], 0x5400);        // 64
  EXPECT_EQ(device_.download<std::uint32_t>(h2, 1)[0], 0x58005400u);  // 128, 64
  EXPECT_EQ(device_.download<std::uint16_t>(b, 1)[0], 0x4280);        // 64
}

TEST_P(Programs, cooperative_groups) {
  std::vector<int> x(64);
  for (int i = 0; i < 64; ++i) x[static_cast<std::size_t>(i)] = (i * 13) % 29;
  const auto out = device_.upload(std::vector<int>(640));
  device_.launch("groups", shape_of(1, 64), device_.upload(x), out);
  const auto got = device_.download<int>(out, 640);
  for (int t = 0; t < 64; ++t) {
    const int warp = t / 32 * 32, eight = t / 8 * 8;
    int sum = 0, most = 0, odd = 0, rank = 0;
    unsigned ballot = 0, same = 0;
    bool any = false;
    for (int i = 0; i < 32; ++i) {
      const int v = x[static_cast<std::size_t>(warp + i)];
      sum += v;
      if (i < 8) most = std::max(most, x[static_cast<std::size_t>(eight + i)]);
      if ((v & 1) != 0) odd += 1, rank += warp + i < t ? 1 : 0;
      if (v > 10) ballot |= 1u << i;
      if ((v & 3) == (x[static_cast<std::size_t>(t)] & 3)) same |= 1u << i;
      any |= v == 7;
    }
    const int* o = &got[static_cast<std::size_t>(t * 10)];
    EXPECT_EQ(o[0], sum);
    EXPECT_EQ(o[1], most);
    EXPECT_EQ(o[2], x[static_cast<std::size_t>(t % 8 == 7 ? t : t + 1)]);
    EXPECT_EQ(o[3], x[static_cast<std::size_t>(t ^ 3)]);
    EXPECT_EQ(o[4], (x[static_cast<std::size_t>(t)] & 1) != 0 ? odd * 101 + rank : 0);
    EXPECT_EQ(static_cast<unsigned>(o[5]), ballot);
    EXPECT_EQ(o[6], (any ? 2 : 0) + 1);
    EXPECT_EQ(static_cast<unsigned>(o[7]), same);
    EXPECT_EQ(o[8], t / 8);
    EXPECT_EQ(o[9], sum);
  }
}

TEST_P(Programs, tensor_cores_by_the_wmma_interface) {
  const int lda = 72, ldb = 80, ldc = 24;
  std::vector<std::uint16_t> a(16 * lda), b(16 * ldb);
  std::vector<float> fa(a.size()), fb(b.size());
  const auto fill = [](std::vector<std::uint16_t>& halves, std::vector<float>& floats, unsigned seed) {
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < halves.size(); ++i) {
      floats[i] = static_cast<float>(static_cast<int>(random() % 17) - 8);
      Real r;
      mpfr_set_d(r.get(), floats[i], MPFR_RNDN);
      halves[i] = static_cast<std::uint16_t>(rounded(r, kHalf, Round::kNearest));
    }
  };
  fill(a, fa, 1);
  fill(b, fb, 2);
  const auto c = device_.upload(std::vector<float>(16 * ldc));
  device_.launch("tensor_product", shape_of(1, 32), device_.upload(a), device_.upload(b), c, lda, ldb, ldc);
  const auto got = device_.download<float>(c, 16 * ldc);
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      float sum = 1;
      for (int k = 0; k < 64; ++k)
        sum += fa[static_cast<std::size_t>(i * lda + k)] * fb[static_cast<std::size_t>(j * ldb + k)];
      ASSERT_EQ(got[static_cast<std::size_t>(i * ldc + j)], 2 * sum) << i << ' ' << j;
    }
  }
}

TEST_P(Programs, asynchronous_copies) {
  std::vector<float> x(128 * 4);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const auto to = device_.upload(std::vector<float>(64 * 4));
  device_.launch("copies", shape_of(1, 64), device_.upload(x), to);
  const auto got = device_.download<float>(to, 64 * 4);
  for (std::size_t t = 0; t < 64; ++t) {
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(got[t * 4 + i], x[(63 - t) * 4 + i] + x[(127 - t) * 4 + i]);
    }
  }
}

TEST_P(Programs, integer_intrinsics) {
  std::mt19937 random(5);
  std::vector<int> a(64), b(64);
  for (int& v : a) v = static_cast<int>(random());
  for (int& v : b) v = static_cast<int>(random());
  const auto out = device_.upload(std::vector<int>(512));
  device_.launch("bytes", shape_of(1, 64), device_.upload(a), device_.upload(b), out);
  const auto got = device_.download<int>(out, 512);
  __extension__ typedef __int128 Wide;
  for (unsigned t = 0; t < 64; ++t) {
    const auto x = static_cast<std::uint32_t>(a[t]), y = static_cast<std::uint32_t>(b[t]);
    int dot = static_cast<int>(t), unsigned_dot = 5;
    for (unsigned i = 0; i < 32; i += 8) {
      dot += static_cast<std::int8_t>(x >> i) * static_cast<std::int8_t>(y >> i);
      unsigned_dot += static_cast<std::uint8_t>(x >> i) * static_cast<std::uint8_t>(y >> i);
    }
    const int* o = &got[t * 8];
    EXPECT_EQ(o[0], dot);
    EXPECT_EQ(o[1], unsigned_dot);
    EXPECT_EQ(static_cast<std::uint32_t>(o[2]),
              (x & 0xff) | (y & 0xff) << 8 | (x >> 8 & 0xff) << 16 | (y >> 8 & 0xff) << 24);
    const std::uint64_t both = static_cast<std::uint64_t>(y) << 32 | x;
    EXPECT_EQ(static_cast<std::uint32_t>(o[3]), static_cast<std::uint32_t>(both << (t % 32) >> 32));
    EXPECT_EQ(o[4], static_cast<int>((static_cast<std::int64_t>(a[t]) * b[t]) >> 32));
    EXPECT_EQ(static_cast<std::uint32_t>(o[5]), ((x + y) & 0xffff) | ((x >> 16) + (y >> 16)) << 16);
    std::uint32_t reversed = 0;
    for (unsigned i = 0; i < 32; ++i) reversed |= (x >> i & 1) << (31 - i);
    EXPECT_EQ(static_cast<std::uint32_t>(o[6]),
              reversed ^ static_cast<std::uint32_t>(std::popcount(y)) ^
                  static_cast<std::uint32_t>(std::countl_zero(x)) ^
                  static_cast<std::uint32_t>(y == 0 ? 0 : std::countr_zero(y) + 1));
    const std::int64_t wide = static_cast<std::int64_t>(a[t]) * b[t] / (static_cast<int>(t) + 1) % 1000003;
    const auto high = static_cast<std::int64_t>((static_cast<Wide>(wide * 1000000007LL) * wide) >> 64);
    EXPECT_EQ(o[7], static_cast<int>(high ^ wide));
  }
}

INSTANTIATE_TEST_SUITE_P(
    architectures, Programs, testing::Values(PROGRAMS_75, PROGRAMS_80, PROGRAMS_90), [](const auto& info) {
      return "compute_" + std::to_string(info.index == 0 ? 75 : info.index == 1 ? 80 : 90);
    });

}  // namespace
}  // namespace refrain::conformance
