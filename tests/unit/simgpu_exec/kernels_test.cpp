// Kernels that nvcc compiled, against the same computation on the host.
// Sums are compared bit for bit where the order of additions is fixed.
#include <cmath>
#include <random>

#include "harness.hpp"

namespace refrain::simgpu {
namespace {

TestDevice& device() {
  static TestDevice the_device(file_text(KERNELS_PTX));
  return the_device;
}

std::vector<float> random_floats(std::size_t n, float low, float high, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<float> values(n);
  for (float& value : values) value = uniform(random);
  return values;
}

TEST(kernels, reduction_by_shuffles_adds_in_the_tree_order) {
  const int n = 5000;
  const auto x = random_floats(n, -1, 1, 1);
  const DeviceAddress in = device().upload(x);
  const DeviceAddress out = device().upload(std::vector<float>(3));
  device().launch("reduce_shuffle", shape_of(3, 256), in, out, n);
  const auto got = device().download<float>(out, 3);
  for (int block = 0; block < 3; ++block) {
    std::vector<float> lanes(256, 0.0f);
    for (int t = 0; t < 256; ++t) {
      for (int i = block * 256 + t; i < n; i += 3 * 256) lanes[t] += x[i];
    }
    float partial[32] = {};
    for (int warp = 0; warp < 8; ++warp) {
      float v[32];
      std::copy_n(lanes.begin() + warp * 32, 32, v);
      for (int o = 16; o > 0; o >>= 1) {
        float next[32];
        for (int l = 0; l < 32; ++l) next[l] = v[l] + v[l + o < 32 ? l + o : l];
        std::copy_n(next, 32, v);
      }
      partial[warp] = v[0];
    }
    for (int o = 16; o > 0; o >>= 1) {
      float next[32];
      for (int l = 0; l < 32; ++l) next[l] = partial[l] + partial[l ^ o];
      std::copy_n(next, 32, partial);
    }
    EXPECT_EQ(got[block], partial[0]) << block;
  }
}

TEST(kernels, tiled_matrix_product_is_exact) {
  const int m = 37, n = 50, k = 43;
  const auto a = random_floats(m * k, -2, 2, 2);
  const auto b = random_floats(k * n, -2, 2, 3);
  const DeviceAddress da = device().upload(a), db = device().upload(b),
                      dc = device().upload(std::vector<float>(m * n));
  device().launch("matmul_tiled", {{4, 3, 1}, {16, 16, 1}, 0}, da, db, dc, m, n, k);
  const auto got = device().download<float>(dc, m * n);
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int t = 0; t < 48; ++t)
        sum = std::fma(t < k ? a[i * k + t] : 0.0f, t < k ? b[t * n + j] : 0.0f, sum);
      ASSERT_EQ(got[i * n + j], sum) << i << ' ' << j;
    }
  }
}

TEST(kernels, divergent_loops) {
  std::vector<unsigned> x(300);
  for (unsigned i = 0; i < 300; ++i) x[i] = i * 7 + 1;
  const DeviceAddress in = device().upload(x), out = device().upload(std::vector<int>(300));
  device().launch("collatz", shape_of(3, 128), in, out, 300);
  const auto got = device().download<int>(out, 300);
  for (int i = 0; i < 300; ++i) {
    unsigned v = x[i];
    int count = 0;
    while (v != 1) {
      v = v % 2 != 0 ? 3 * v + 1 : v / 2;
      if (++count > 1000) break;
    }
    ASSERT_EQ(got[i], count) << i;
  }
}

TEST(kernels, atomics_of_every_type) {
  const int n = 1000;
  std::vector<int> x(n);
  std::vector<unsigned> expected(18, 0);
  for (int i = 0; i < n; ++i) {
    x[i] = (i * 37) % 211;
    ++expected[x[i] & 15];
    expected[16] = std::max(expected[16], static_cast<unsigned>(x[i]));
  }
  expected[17] = 7;
  const DeviceAddress in = device().upload(x), bins = device().upload(std::vector<unsigned>(18)),
                      sum = device().upload(std::vector<float>(1)),
                      dsum = device().upload(std::vector<double>(1));
  device().launch("histogram", shape_of(8, 128), in, bins, sum, dsum, n);
  EXPECT_EQ(device().download<unsigned>(bins, 18), expected);
  EXPECT_EQ(device().download<float>(sum, 1)[0], 500.0f);
  EXPECT_EQ(device().download<double>(dsum, 1)[0], 250.0);
}

struct Job {
  std::uint64_t in, out;
  int n;
  float coefficients[4];
};

TEST(kernels, calls_recursion_structs_and_local_memory) {
  const int n = 70;
  const auto x = random_floats(n, -2, 2, 4);
  Job job{device().upload(x), device().upload(std::vector<float>(n)), n, {1, 2, 3, 4}};
  const DeviceAddress fibs = device().upload(std::vector<int>(n));
  device().launch("with_calls", shape_of(2, 64), job, fibs);
  const auto got = device().download<float>(job.out, n);
  const auto numbers = device().download<int>(fibs, n);
  const int fib[] = {0, 1, 1, 2, 3, 5, 8, 13, 21};
  for (int i = 0; i < n; ++i) {
    float r = 0;
    for (int j = 3; j >= 0; --j) r = std::fma(r, x[i], job.coefficients[(j + i) & 3]);
    EXPECT_EQ(got[i], r) << i;
    EXPECT_EQ(numbers[i], fib[i % 9]) << i;
  }
}

template <class T>
void expect_close(T got, T expected, T tolerance, int i, const char* what) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(got)) << what << ' ' << i;
  } else if (std::isinf(expected)) {
    EXPECT_EQ(got, expected) << what << ' ' << i;
  } else {
    EXPECT_NEAR(got, expected, tolerance * std::max<T>(std::abs(expected), 1)) << what << ' ' << i;
  }
}

TEST(kernels, double_precision_functions) {
  std::vector<double> x;
  for (int i = -40; i < 40; ++i) x.push_back(i * 0.37 + 0.01);
  const int n = static_cast<int>(x.size());
  const DeviceAddress in = device().upload(x), out = device().upload(std::vector<double>(4 * n));
  device().launch("double_math", shape_of(1, 128), in, out, n);
  const auto got = device().download<double>(out, 4 * n);
  for (int i = 0; i < n; ++i) {
    const double v = x[i];
    EXPECT_NEAR(got[4 * i] / std::exp(v), 1.0, 1e-15) << i;
    expect_close(got[4 * i + 1], std::log(std::fabs(v) + 1), 4e-16, i, "log");
    expect_close(got[4 * i + 2], std::sqrt(std::fabs(v)) / (v * v + 1), 4e-16, i, "sqrt");
    expect_close(got[4 * i + 3], std::pow(std::fabs(v) + 0.5, 1.5) + std::tanh(v), 2e-15, i, "pow");
  }
}

TEST(kernels, single_precision_functions) {
  std::vector<float> x;
  for (int i = -60; i < 60; ++i) x.push_back(static_cast<float>(i) * 0.173f + 0.011f);
  x.push_back(1e6f);
  const int n = static_cast<int>(x.size());
  const DeviceAddress in = device().upload(x), out = device().upload(std::vector<float>(8 * n));
  device().launch("float_math", shape_of(1, 128), in, out, n);
  const auto got = device().download<float>(out, 8 * n);
  for (int i = 0; i < n; ++i) {
    const double v = x[i];
    const double wide = static_cast<double>(x[i] * 1000.0f);
    const double expected[] = {std::exp(v),
                               std::log(std::fabs(v) + 1),
                               std::sin(v),
                               std::cos(wide),
                               std::tanh(v),
                               std::pow(std::fabs(v), 1.7),
                               1 / std::sqrt(std::fabs(v) + 1),
                               std::erf(v)};
    for (int f = 0; f < 8; ++f) {
      expect_close(got[8 * i + f], static_cast<float>(expected[f]), f == 5 ? 1e-6f : 4e-7f, i * 10 + f,
                   "float_math");
    }
  }
}

TEST(kernels, half_precision_rounds_once) {
  const auto x = random_floats(64, -3, 3, 9);
  const DeviceAddress in = device().upload(x), out = device().upload(std::vector<float>(3 * 64));
  device().launch("half_math", shape_of(1, 64), in, out, 64);
  const auto got = device().download<float>(out, 3 * 64);
  const auto to_half = [](double v) {  // for values in this range only
    const int exponent = std::ilogb(v);
    const double unit = std::ldexp(1.0, std::max(exponent, -14) - 10);
    return std::nearbyint(v / unit) * unit;
  };
  for (int i = 0; i < 64; ++i) {
    const double h = to_half(x[i]);
    EXPECT_EQ(got[3 * i], to_half(h * h)) << i;
    EXPECT_EQ(got[3 * i + 1], to_half(h * h + h)) << i;
    EXPECT_EQ(got[3 * i + 2], to_half(4 * h * h + 2 * h)) << i;
  }
}

TEST(kernels, votes_matches_and_counting_barriers) {
  std::vector<int> x(64);
  for (int i = 0; i < 64; ++i) x[i] = (i * 5) % 11;
  const DeviceAddress in = device().upload(x), out = device().upload(std::vector<unsigned>(4 * 64));
  device().launch("votes", shape_of(1, 64), in, out);
  const auto got = device().download<unsigned>(out, 4 * 64);
  unsigned over = 0;
  for (const int v : x) over += v > 5 ? 1 : 0;
  for (int i = 0; i < 64; ++i) {
    unsigned even = 0, same = 0;
    bool seven = false;
    for (int l = 0; l < 32; ++l) {
      const int v = x[(i & 32) + l];
      even |= v % 2 == 0 ? 1u << l : 0;
      same |= (v & 3) == (x[i] & 3) ? 1u << l : 0;
      seven |= v == 7;
    }
    EXPECT_EQ(got[4 * i], even) << i;
    EXPECT_EQ(got[4 * i + 1], i % 2 != 0 ? 0xaaaaaaaau : 0u) << i;
    EXPECT_EQ(got[4 * i + 2], same) << i;
    EXPECT_EQ(got[4 * i + 3], over + (seven ? 100 : 0) + 1000) << i;
  }
}

TEST(kernels, dynamic_shared_memory) {
  std::vector<int> x(96);
  for (int i = 0; i < 96; ++i) x[i] = i;
  const DeviceAddress in = device().upload(x);
  device().launch("dynamic_shared", shape_of(1, 96, 96 * 4), in, 96);
  std::reverse(x.begin(), x.end());
  EXPECT_EQ(device().download<int>(in, 96), x);
}

TEST(kernels, module_variables_have_contents_and_keep_them) {
  const DeviceAddress out = device().upload(std::vector<float>(8));
  device().launch("variables", shape_of(1, 8), out);
  device().launch("variables", shape_of(1, 8), out);
  EXPECT_EQ(device().download<float>(out, 8), (std::vector<float>{1, 2, 4, 8, 1, 2, 4, 8}));
  const GlobalVariable* counter = device().module().find_global("counter");
  ASSERT_NE(counter, nullptr);
  EXPECT_EQ(device().download<int>(counter->address, 1)[0], 9);
}

TEST(kernels, printf_writes_what_c_would) {
  testing::internal::CaptureStdout();
  device().launch("print", shape_of(1, 32), 7);
  std::fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "thread 0 of  3.50 text 123456789abc%\nthread 1 of  3.50 text 123456789abc%\n");
}

TEST(kernels, lanes_of_a_warp_may_wait_for_each_other) {
  const DeviceAddress lock = device().upload(std::vector<int>(1)),
                      total = device().upload(std::vector<int>(1));
  device().launch("spin_lock", shape_of(2, 64), lock, total);
  EXPECT_EQ(device().download<int>(total, 1)[0], 128);
}

TEST(kernels, a_barrier_is_one_wherever_it_is_reached) {
  TestDevice lenient(file_text(KERNELS_PTX), {.check_barriers = false});
  const DeviceAddress x = lenient.upload(std::vector<int>(64));
  lenient.launch("split_barrier", shape_of(1, 64), x);
  const auto got = lenient.download<int>(x, 64);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(got[i], i % 2 != 0 ? 2 : 11) << i;
}

TEST(kernels, the_same_launch_gives_the_same_bits_and_counts) {
  const auto x = random_floats(4096, -1, 1, 11);
  std::vector<std::vector<float>> results;
  std::vector<std::uint64_t> instructions;
  for (int run = 0; run < 2; ++run) {
    const DeviceAddress in = device().upload(x);
    device().counts = {};
    device().launch("fma_heavy", shape_of(16, 256), in, 10);
    results.push_back(device().download<float>(in, 4096));
    instructions.push_back(device().counts.thread_instructions);
    EXPECT_EQ(device().counts.global_read_bytes, 4096u * 4);
    EXPECT_EQ(device().counts.global_written_bytes, 4096u * 4);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(instructions[0], instructions[1]);
  EXPECT_GT(instructions[0], 4096u * 10 * 32);
}

}  // namespace
}  // namespace refrain::simgpu
