// Matrix instructions: the layouts of fragments as PTX documents them, wmma through memory in every shape and
// layout, sums in the order of k, ldmatrix, stmatrix, movmatrix. Elements are small integers, so that sums
// are exact in any order, where the order is not what is tested.
#include <bit>
#include <cmath>
#include <random>

#include "floats.hpp"
#include "tests/unit/simgpu_exec/harness.hpp"

namespace refrain::conformance {
namespace {

using simgpu::shape_of;
using simgpu::TestDevice;
using Matrix = std::vector<std::vector<double>>;

const std::string kHead = ".version 9.0\n.target sm_100a\n.address_size 64\n";

Matrix random_matrix(int rows, int columns, unsigned seed, int limit) {
  std::mt19937 random(seed);
  Matrix m(rows, std::vector<double>(columns));
  for (auto& row : m) {
    for (double& x : row) x = static_cast<int>(random() % (2 * limit + 1)) - limit;
  }
  return m;
}

std::uint64_t encoded(double x, const std::string& type) {
  if (type == "f32" || type == "tf32") return std::bit_cast<std::uint32_t>(static_cast<float>(x));
  if (type == "f64") return std::bit_cast<std::uint64_t>(x);
  if (!is_float(type))
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(x)) &
           (bits_of(type) == 8 ? 0xff : 0xffffffff);
  Real r;
  mpfr_set_d(r.get(), x, MPFR_RNDN);
  return rounded(r, format_of(type), Round::kNearest);
}
struct At {
  int row, column;
};
using Layout = std::function<At(int lane, int i)>;

// PTX ISA 9.0, "Matrix Fragments for mma": one function for each table there.
struct Mma {
  std::string shape;
  int m, n, k;
  std::string d, a, b, c;
  Layout a_at, b_at, c_at;
  int a_count, b_count, c_count;  // elements a lane
};

At sum_16x8(int lane, int i) {
  return {i < 2 ? lane / 4 : lane / 4 + 8, lane % 4 * 2 + (i & 1)};
}
At sum_8x8(int lane, int i) {
  return {lane / 4, lane % 4 * 2 + i};
}

std::vector<Mma> products() {
  const Layout half_a16 = [](int l, int i) {
    return At{i < 2 || (i >= 4 && i < 6) ? l / 4 : l / 4 + 8, l % 4 * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
  };
  const Layout half_b16 = [](int l, int i) { return At{l % 4 * 2 + (i & 1) + (i >= 2 ? 8 : 0), l / 4}; };
  const Layout half_a8 = [](int l, int i) { return At{i < 2 ? l / 4 : l / 4 + 8, l % 4 * 2 + (i & 1)}; };
  const Layout half_b8 = [](int l, int i) { return At{l % 4 * 2 + i, l / 4}; };
  const Layout tf_a4 = [](int l, int i) { return At{i == 0 ? l / 4 : l / 4 + 8, l % 4}; };
  const Layout tf_b4 = [](int l, int) { return At{l % 4, l / 4}; };
  const Layout tf_a8 = [](int l, int i) {
    return At{i == 0 || i == 2 ? l / 4 : l / 4 + 8, i < 2 ? l % 4 : l % 4 + 4};
  };
  const Layout tf_b8 = [](int l, int i) { return At{i == 0 ? l % 4 : l % 4 + 4, l / 4}; };
  const Layout d_a4 = [](int l, int) { return At{l / 4, l % 4}; };
  const Layout d_a16x16 = [](int l, int i) { return At{i % 2 == 0 ? l / 4 : l / 4 + 8, i / 2 * 4 + l % 4}; };
  const Layout d_b16 = [](int l, int i) { return At{l % 4 + 4 * i, l / 4}; };
  const Layout i_a8x16 = [](int l, int i) { return At{l / 4, l % 4 * 4 + i}; };
  const Layout i_b16 = [](int l, int i) { return At{l % 4 * 4 + i, l / 4}; };
  const Layout i_a16x16 = [](int l, int i) { return At{i < 4 ? l / 4 : l / 4 + 8, l % 4 * 4 + (i & 3)}; };
  const Layout i_a16x32 = [](int l, int i) {
    return At{i < 4 || (i >= 8 && i < 12) ? l / 4 : l / 4 + 8, l % 4 * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
  };
  const Layout i_b32 = [](int l, int i) { return At{l % 4 * 4 + (i & 3) + (i >= 4 ? 16 : 0), l / 4}; };
  std::vector<Mma> all;
  for (const std::string t : {"f16", "bf16"}) {
    all.push_back({"m16n8k16", 16, 8, 16, "f32", t, t, "f32", half_a16, half_b16, sum_16x8, 8, 4, 4});
    all.push_back({"m16n8k8", 16, 8, 8, "f32", t, t, "f32", half_a8, half_b8, sum_16x8, 4, 2, 4});
  }
  all.push_back({"m16n8k16", 16, 8, 16, "f16", "f16", "f16", "f16", half_a16, half_b16, sum_16x8, 8, 4, 4});
  all.push_back({"m16n8k8", 16, 8, 8, "f16", "f16", "f16", "f16", half_a8, half_b8, sum_16x8, 4, 2, 4});
  all.push_back({"m16n8k4", 16, 8, 4, "f32", "tf32", "tf32", "f32", tf_a4, tf_b4, sum_16x8, 2, 1, 4});
  all.push_back({"m16n8k8", 16, 8, 8, "f32", "tf32", "tf32", "f32", tf_a8, tf_b8, sum_16x8, 4, 2, 4});
  all.push_back({"m8n8k4", 8, 8, 4, "f64", "f64", "f64", "f64", d_a4, tf_b4, sum_8x8, 1, 1, 2});
  all.push_back({"m16n8k4", 16, 8, 4, "f64", "f64", "f64", "f64", tf_a4, tf_b4, sum_16x8, 2, 1, 4});
  all.push_back({"m16n8k8", 16, 8, 8, "f64", "f64", "f64", "f64", d_a16x16, d_b16, sum_16x8, 4, 2, 4});
  all.push_back({"m16n8k16", 16, 8, 16, "f64", "f64", "f64", "f64", d_a16x16, d_b16, sum_16x8, 8, 4, 4});
  for (const std::string a : {"s8", "u8"}) {
    for (const std::string b : {"s8", "u8"}) {
      all.push_back({"m8n8k16", 8, 8, 16, "s32", a, b, "s32", i_a8x16, i_b16, sum_8x8, 4, 4, 2});
      all.push_back({"m16n8k16", 16, 8, 16, "s32", a, b, "s32", i_a16x16, i_b16, sum_16x8, 8, 4, 4});
      all.push_back({"m16n8k32", 16, 8, 32, "s32", a, b, "s32", i_a16x32, i_b32, sum_16x8, 16, 8, 4});
    }
  }
  return all;
}

int per_register(const std::string& type) {
  return bits_of(type) < 32 ? static_cast<int>(32 / bits_of(type)) : 1;
}
int register_bytes(const std::string& type) {
  return type == "f64" ? 8 : 4;
}

// The registers of each lane, lane after lane.
std::vector<std::uint8_t> fragments(const Matrix& m, const std::string& type, const Layout& at, int count) {
  const int per = per_register(type), bytes = register_bytes(type), registers = count / per;
  std::vector<std::uint8_t> data(static_cast<std::size_t>(32 * registers * bytes));
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < count; ++i) {
      const At place = at(lane, i);
      const std::uint64_t bits = encoded(m[place.row][place.column], type) << (i % per * 32 / per);
      std::uint64_t whole = 0;
      auto* where = &data[static_cast<std::size_t>((lane * registers + i / per) * bytes)];
      std::memcpy(&whole, where, static_cast<std::size_t>(bytes));
      whole |= bits;
      std::memcpy(where, &whole, static_cast<std::size_t>(bytes));
    }
  }
  return data;
}

std::string registers(char prefix, int first, int count) {
  std::string list = "{";
  for (int i = 0; i < count; ++i) list += fmt::format("{}%{}{}", i == 0 ? "" : ", ", prefix, first + i);
  return list + "}";
}

std::string moves(const char* op, const std::string& type, int first, int count, int address) {
  const char prefix = type == "f64" ? 'x' : 'r';
  const int bytes = register_bytes(type);
  std::string text =
      fmt::format("mul.wide.u32 %x99, %r99, {0}; add.u64 %x99, %x99, %x{1};\n", count * bytes, address);
  for (int i = 0; i < count; ++i) {
    const std::string reg = fmt::format("%{}{}", prefix, first + i), at = fmt::format("[%x99+{}]", i * bytes);
    text += fmt::format("{}.global.b{} {}, {};\n", op, bytes * 8, op[0] == 'l' ? reg : at,
                        op[0] == 'l' ? at : reg);
  }
  return text;
}

const std::string kParams =
    ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {\n.reg .b32 %r<100>; "
    ".reg .b64 %x<100>; .reg "
    ".pred %p<3>;\nld.param.u64 %x90, [a]; ld.param.u64 %x91, [b]; ld.param.u64 %x92, [c]; ld.param.u64 "
    "%x93, [d]; mov.u32 %r99, "
    "%tid.x;\n";

Matrix multiplied(const Matrix& a, const Matrix& b, const Matrix& c) {
  Matrix d = c;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b[0].size(); ++j) {
      for (std::size_t k = 0; k < b.size(); ++k) d[i][j] += a[i][k] * b[k][j];
    }
  }
  return d;
}

void expect_mma(const Mma& mma, const std::string& words = "") {
  const Matrix a = random_matrix(mma.m, mma.k, 1, 5), b = random_matrix(mma.k, mma.n, 2, 5),
               c = random_matrix(mma.m, mma.n, 3, 20);
  Matrix positive_a = a, positive_b = b;
  if (mma.a[0] == 'u') {
    for (auto& row : positive_a)
      for (double& x : row) x = std::fabs(x) * 50;
  }
  if (mma.b[0] == 'u') {
    for (auto& row : positive_b)
      for (double& x : row) x = std::fabs(x) * 50;
  }
  const int ra = mma.a_count / per_register(mma.a), rb = mma.b_count / per_register(mma.b),
            rc = mma.c_count / per_register(mma.c);
  const char pa = mma.a == "f64" ? 'x' : 'r';
  const std::string text = kHead + kParams + moves("ld", mma.a, 1, ra, 90) + moves("ld", mma.b, 20, rb, 91) +
                           moves("ld", mma.c, 40, rc, 92) +
                           fmt::format("mma.sync.aligned.{}.row.col{}.{}.{}.{}.{} {}, {}, {}, {};\n",
                                       mma.shape, words, mma.d, mma.a, mma.b, mma.c, registers(pa, 60, rc),
                                       registers(pa, 1, ra), registers(pa, 20, rb), registers(pa, 40, rc)) +
                           moves("st", mma.d, 60, rc, 93) + "ret; }\n";
  TestDevice device(text);
  const auto out =
      device.upload(std::vector<std::uint8_t>(static_cast<std::size_t>(32 * rc * register_bytes(mma.d))));
  device.launch("k", shape_of(1, 32), device.upload(fragments(positive_a, mma.a, mma.a_at, mma.a_count)),
                device.upload(fragments(positive_b, mma.b, mma.b_at, mma.b_count)),
                device.upload(fragments(c, mma.c, mma.c_at, mma.c_count)), out);
  const auto got =
      device.download<std::uint8_t>(out, static_cast<std::size_t>(32 * rc * register_bytes(mma.d)));
  const auto want = fragments(multiplied(positive_a, positive_b, c), mma.d, mma.c_at, mma.c_count);
  ASSERT_EQ(got, want) << mma.shape << ' ' << mma.d << ' ' << mma.a << ' ' << mma.b;
}

TEST(mma, fragments_lie_as_documented) {
  for (const Mma& mma : products()) {
    expect_mma(mma);
    if (mma.d == "s32") expect_mma(mma, ".satfinite");
    if (mma.d == "f64") expect_mma(mma, ".rz");
  }
}

struct Wmma {
  std::string shape;
  int m, n, k;
  std::string d, a, c;
  int ra, rb, rc, rd;
};

std::vector<std::uint8_t> in_memory(const Matrix& m, const std::string& type, bool by_rows, int stride) {
  const auto bytes = static_cast<std::size_t>(type == "tf32" ? 4 : bits_of(type) / 8);
  const std::size_t outer = by_rows ? m.size() : m[0].size();
  std::vector<std::uint8_t> data(outer * static_cast<std::size_t>(stride) * bytes);
  for (std::size_t i = 0; i < m.size(); ++i) {
    for (std::size_t j = 0; j < m[0].size(); ++j) {
      const std::uint64_t bits = encoded(m[i][j], type);
      const std::size_t at = (by_rows ? i : j) * static_cast<std::size_t>(stride) + (by_rows ? j : i);
      std::memcpy(&data[at * bytes], &bits, bytes);
    }
  }
  return data;
}

void expect_wmma(const Wmma& w, bool a_rows, bool b_rows, bool c_rows, const std::string& space) {
  const bool unsigned_factors = w.a == "u8";
  Matrix a = random_matrix(w.m, w.k, 4, 4), b = random_matrix(w.k, w.n, 5, 4);
  const Matrix c = random_matrix(w.m, w.n, 6, 30);
  if (unsigned_factors) {
    for (Matrix* matrix : {&a, &b}) {
      for (auto& row : *matrix)
        for (double& x : row) x = std::fabs(x);
    }
  }
  const auto name = [](bool rows) { return rows ? "row" : "col"; };
  const int lda = (a_rows ? w.k : w.m) + 8, ldb = (b_rows ? w.n : w.k) + 16, ldc = (c_rows ? w.n : w.m) + 4;
  const std::string types = w.a == "f16" ? w.d + "." + w.c : w.d + "." + w.a + "." + w.a + "." + w.c;
  const char p = w.a == "f64" ? 'x' : 'r';
  const std::string text =
      kHead + kParams +
      fmt::format("wmma.load.a.sync.aligned.{}.{}{}.{} {}, [%x90], {};\n", name(a_rows), w.shape, space, w.a,
                  registers(p, 1, w.ra), lda) +
      fmt::format("wmma.load.b.sync.aligned.{}.{}{}.{} {}, [%x91], {};\n", name(b_rows), w.shape, space, w.a,
                  registers(p, 20, w.rb), ldb) +
      fmt::format("wmma.load.c.sync.aligned.{}.{}{}.{} {}, [%x92], {};\n", name(c_rows), w.shape, space, w.c,
                  registers(p, 40, w.rc), ldc) +
      fmt::format("wmma.mma.sync.aligned.{}.{}.{}.{} {}, {}, {}, {};\n", name(a_rows), name(b_rows), w.shape,
                  types, registers(p, 60, w.rd), registers(p, 1, w.ra), registers(p, 20, w.rb),
                  registers(p, 40, w.rc)) +
      fmt::format("wmma.store.d.sync.aligned.{}.{}{}.{} [%x93], {}, {};\nret; }}\n", name(c_rows), w.shape,
                  space, w.d, registers(p, 60, w.rd), ldc);
  TestDevice device(text);
  const Matrix d = multiplied(a, b, c);
  const auto want = in_memory(d, w.d, c_rows, ldc);
  const auto out = device.upload(std::vector<std::uint8_t>(want.size(), 0));
  device.launch("k", shape_of(1, 32), device.upload(in_memory(a, w.a, a_rows, lda)),
                device.upload(in_memory(b, w.a, b_rows, ldb)), device.upload(in_memory(c, w.c, c_rows, ldc)),
                out);
  ASSERT_EQ(device.download<std::uint8_t>(out, want.size()), want) << text;
}

TEST(wmma, products_through_memory) {
  std::vector<Wmma> all;
  const struct {
    const char* name;
    int m, n, k;
  } shapes[] = {{"m16n16k16", 16, 16, 16}, {"m32n8k16", 32, 8, 16}, {"m8n32k16", 8, 32, 16}};
  for (const auto& s : shapes) {
    for (const std::string d : {"f16", "f32"}) {
      for (const std::string c : {"f16", "f32"}) {
        all.push_back({s.name, s.m, s.n, s.k, d, "f16", c, 8, 8, c == "f16" ? 4 : 8, d == "f16" ? 4 : 8});
      }
    }
    const int ra = s.m / 4, rb = s.n / 4;  // of bf16
    all.push_back({s.name, s.m, s.n, s.k, "f32", "bf16", "f32", ra, rb, 8, 8});
    all.push_back({s.name, s.m, s.n, s.k, "s32", "s8", "s32", ra / 2, rb / 2, 8, 8});
    all.push_back({s.name, s.m, s.n, s.k, "s32", "u8", "s32", ra / 2, rb / 2, 8, 8});
  }
  all.push_back({"m16n16k8", 16, 16, 8, "f32", "tf32", "f32", 4, 4, 8, 8});
  all.push_back({"m8n8k4", 8, 8, 4, "f64", "f64", "f64", 1, 1, 2, 2});
  for (const Wmma& w : all) {
    for (int layouts = 0; layouts < 8; ++layouts) {
      expect_wmma(w, (layouts & 1) != 0, (layouts & 2) != 0, (layouts & 4) != 0,
                  layouts % 3 == 0 ? "" : ".global");
    }
  }
}

TEST(mma, sums_are_made_in_f32_in_the_order_of_k_and_halves_round_once) {
  // d = c + a0*b0 + a1*b1 ...: 2^24 + 1 is lost, and lost again; the other way round it would not be.
  Matrix a(16, std::vector<double>(8, 0)), b(8, std::vector<double>(8, 0)), c(16, std::vector<double>(8, 0));
  a[0][0] = 4096, a[0][1] = 1, a[0][2] = 1, a[0][3] = -4096;
  for (int k = 0; k < 8; ++k) b[k][0] = k == 0 || k == 3 ? 4096 : 1;
  const auto layout_a = [](int l, int i) { return At{i < 2 ? l / 4 : l / 4 + 8, l % 4 * 2 + (i & 1)}; };
  const auto layout_b = [](int l, int i) { return At{l % 4 * 2 + i, l / 4}; };
  const std::string text = kHead + kParams + moves("ld", "f16", 1, 2, 90) + moves("ld", "f16", 20, 1, 91) +
                           moves("ld", "f32", 40, 4, 92) +
                           "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r60, %r61, %r62, %r63}, {%r1, "
                           "%r2}, {%r20}, {%r40, %r41, "
                           "%r42, %r43};\n" +
                           moves("st", "f32", 60, 4, 93) + "ret; }\n";
  TestDevice device(text);
  const auto out = device.upload(std::vector<float>(128, 0));
  device.launch("k", shape_of(1, 32), device.upload(fragments(a, "f16", layout_a, 4)),
                device.upload(fragments(b, "f16", layout_b, 2)),
                device.upload(fragments(c, "f32", sum_16x8, 4)), out);
  EXPECT_EQ(device.download<float>(out, 1)[0], 0.0f);
}

TEST(small_matrices, are_loaded_stored_and_transposed) {
  for (const int count : {1, 2, 4}) {
    for (const bool transposed : {false, true}) {
      const std::string words = fmt::format("m8n8.x{}{}.shared.b16", count, transposed ? ".trans" : "");
      // Rows lie 48 bytes apart in shared memory.
      std::string text = kHead + ".shared .align 16 .b8 sm[4096];\n" + kParams +
                         "mov.u32 %r1, sm; mad.lo.u32 %r1, %r99, 48, %r1; mul.wide.u32 %x1, %r99, 16; "
                         "add.u64 %x1, %x1, %x90;\n"
                         "ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%x1]; st.shared.v4.b32 [%r1+16], {%r2, "
                         "%r3, %r4, %r5}; bar.sync 0;\n";
      text += fmt::format("ldmatrix.sync.aligned.{} {}, [%r1+16];\n", words, registers('r', 10, count));
      text += moves("st", "f16", 10, count, 91);
      text += fmt::format("stmatrix.sync.aligned.{} [%r1+16], {};\nbar.sync 0;\n", words,
                          registers('r', 10, count));
      text +=
          "ld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [%r1+16]; mul.wide.u32 %x1, %r99, 16; add.u64 %x1, %x1, "
          "%x92; "
          "st.global.v4.b32 [%x1], {%r2, %r3, %r4, %r5};\nmovmatrix.sync.aligned.m8n8.trans.b16 %r20, "
          "%r10;\n" +
          moves("st", "f16", 20, 1, 93) + "ret; }\n";
      TestDevice device(text);
      std::vector<std::uint16_t> rows(32 * 8);
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::uint16_t>(i * 3 + 1);
      const auto regs = device.upload(std::vector<std::uint16_t>(static_cast<std::size_t>(32 * count * 2)));
      const auto back = device.upload(std::vector<std::uint16_t>(rows.size())),
                 turned = device.upload(std::vector<std::uint16_t>(64));
      device.launch("k", shape_of(1, 32), device.upload(rows), regs, back, turned);
      const auto got = device.download<std::uint16_t>(regs, static_cast<std::size_t>(32 * count * 2));
      const auto flipped = device.download<std::uint16_t>(turned, 64);
      for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < count * 2; ++i) {
          const int row = lane / 4, column = lane % 4 * 2 + i % 2, matrix = i / 2;
          const int r = transposed ? column : row, c = transposed ? row : column;
          EXPECT_EQ(got[lane * count * 2 + i], rows[(matrix * 8 + r) * 8 + c]) << words << " lane " << lane;
        }
        for (int i = 0; i < 2; ++i) {
          const int row = lane / 4, column = lane % 4 * 2 + i;
          const int r = transposed ? row : column, c = transposed ? column : row;
          EXPECT_EQ(flipped[lane * 2 + i], rows[r * 8 + c]);
        }
      }
      EXPECT_EQ(device.download<std::uint16_t>(back, rows.size()), rows) << words;
    }
  }
}

TEST(small_matrices, by_the_name_of_a_variable) {
  // Each lane's address is the same row, displaced: all rows of the matrix are alike.
  TestDevice device(kHead + ".shared .align 16 .b8 sm[64];\n" + kParams +
                    "ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%x90]; st.shared.v4.b32 [sm+32], {%r2, %r3, "
                    "%r4, %r5}; bar.sync 0;\n"
                    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [sm+32];\n" +
                    moves("st", "f16", 10, 1, 93) + "ret; }\n");
  const std::vector<std::uint16_t> row{1, 2, 3, 4, 5, 6, 7, 8};
  const auto from = device.upload(row), to = device.upload(std::vector<std::uint16_t>(64));
  device.launch("k", shape_of(1, 32), from, from, from, to);
  const auto got = device.download<std::uint16_t>(to, 64);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(got[i], row[i % 8]);
}

}  // namespace
}  // namespace refrain::conformance
