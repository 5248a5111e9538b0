// Loads and stores of every type and width, moves of parts, atomic operations of every type, asynchronous
// copies.
#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "floats.hpp"
#include "tests/unit/simgpu_exec/harness.hpp"

namespace refrain::conformance {
namespace {

using simgpu::shape_of;
using simgpu::TestDevice;

const std::string kHead = ".version 9.0\n.target sm_100a\n.address_size 64\n";

std::string kernel(const std::string& body, const std::string& declarations = "") {
  return kHead + declarations +
         ".visible .entry k(.param .u64 from, .param .u64 to) {\n.reg .pred %p<9>; .reg .b16 %h<20>; .reg "
         ".b32 %r<40>; "
         ".reg .b64 %x<40>; .reg .b128 %q<4>; .reg .f32 %f<9>;\n"
         "ld.param.u64 %x1, [from]; ld.param.u64 %x2, [to]; mov.u32 %r39, %tid.x;\n" +
         body + "\nret; }\n";
}

std::vector<std::uint8_t> pattern(std::size_t bytes) {
  std::vector<std::uint8_t> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>(i * 37 + 129);
  return data;
}

// Copies through registers of a width, a vector at a time, one lane: what comes out is what was there,
// extended.
void expect_copy(const std::string& type, unsigned width, unsigned register_bits, unsigned vector) {
  const char prefix = register_bits == 16 ? 'h' : register_bits == 32 ? 'r' : 'x';
  std::string list;
  for (unsigned i = 0; i < vector; ++i) list += fmt::format("{}%{}{}", i == 0 ? "" : ", ", prefix, i + 3);
  if (vector > 1) list = "{" + list + "}";
  const std::string words = vector > 1 ? fmt::format(".v{}", vector) : "";
  std::string body = fmt::format("ld.global{}.{} {}, [%x1];\nst.global{}.{} [%x2], {};\n", words, type, list,
                                 words, type, list);
  for (unsigned i = 0; i < vector; ++i) {
    body += fmt::format("st.global.b{} [%x2+{}], %{}{};\n", register_bits, 64 + i * 8, prefix, i + 3);
  }
  TestDevice device(kernel(body));
  const auto data = pattern(64);
  const auto to = device.upload(std::vector<std::uint8_t>(128, 0));
  device.launch("k", shape_of(1, 1), device.upload(data), to);
  const auto got = device.download<std::uint8_t>(to, 128);
  const unsigned bytes = width / 8;
  for (unsigned i = 0; i < bytes * vector; ++i)
    ASSERT_EQ(got[i], data[i]) << type << " v" << vector << " byte " << i;
  for (unsigned i = 0; i < vector; ++i) {
    const bool negative = is_signed(type) && (data[(i + 1) * bytes - 1] & 0x80) != 0;
    for (unsigned byte = 0; byte < register_bits / 8; ++byte) {
      const std::uint8_t want = byte < bytes ? data[i * bytes + byte] : negative ? 0xff : 0;
      ASSERT_EQ(got[64 + i * 8 + byte], want)
          << type << " v" << vector << " into " << register_bits << " bits, element " << i;
    }
  }
}

TEST(memory, loads_and_stores_of_every_type_and_vector) {
  for (const std::string type :
       {"b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"}) {
    const unsigned width = bits_of(type);
    for (const unsigned vector : {1u, 2u, 4u, 8u}) {
      if (width * vector > 256) continue;
      for (const unsigned register_bits : {16u, 32u, 64u}) {
        if (register_bits < width || (is_float(type) && register_bits != width)) continue;
        expect_copy(type, width, register_bits, vector);
      }
    }
  }
}

TEST(memory, values_of_128_bits) {
  TestDevice device(
      kernel("ld.global.b128 %q1, [%x1]; mov.b128 {%x5, %x6}, %q1; mov.b128 %q2, {%x6, %x5};\n"
             "st.global.b128 [%x2], %q2; mov.b128 %q3, %q1; st.global.b128 [%x2+16], %q3;\n"
             "atom.global.exch.b128 %q3, [%x1], %q2; st.global.b128 [%x2+32], %q3;\n"
             "atom.global.cas.b128 %q3, [%x1], %q2, %q1; st.global.b128 [%x2+48], %q3;"));
  const auto data = pattern(16);
  const auto from = device.upload(data), to = device.upload(std::vector<std::uint8_t>(64, 0));
  device.launch("k", shape_of(1, 1), from, to);
  const auto got = device.download<std::uint8_t>(to, 64);
  const auto now = device.download<std::uint8_t>(from, 16);
  for (std::size_t i = 0; i < 16; ++i) {
    const std::uint8_t swapped = data[(i + 8) % 16];
    EXPECT_EQ(got[i], swapped);
    EXPECT_EQ(got[16 + i], data[i]);
    EXPECT_EQ(got[32 + i], data[i]);
    EXPECT_EQ(got[48 + i], swapped);
    EXPECT_EQ(now[i], data[i]);
  }
}

TEST(memory, packing_and_unpacking) {
  TestDevice device(kernel(
      "ld.global.b64 %x5, [%x1]; mov.b64 {%r1, %r2}, %x5; mov.b32 {%h1, %h2}, %r1; mov.b32 %r3, {%h2, %h1};\n"
      "mov.b64 %x6, {%r3, %r2}; mov.b64 {%h3, %h4, %h5, %h6}, %x5; mov.b64 %x7, {%h6, %h5, %h4, %h3};\n"
      "mov.b64 {_, %r4}, %x5; st.global.b64 [%x2], %x6; st.global.b64 [%x2+8], %x7; st.global.b32 [%x2+16], "
      "%r4;"));
  const auto to = device.upload(std::vector<std::uint16_t>(12, 0));
  device.launch("k", shape_of(1, 1), device.upload(std::vector<std::uint16_t>{1, 2, 3, 4}), to);
  EXPECT_EQ(device.download<std::uint16_t>(to, 10),
            (std::vector<std::uint16_t>{2, 1, 3, 4, 4, 3, 2, 1, 3, 4}));
}

TEST(memory, spaces_of_generic_addresses) {
  TestDevice device(kernel(
      ".local .align 8 .b8 lo[16]; mov.u64 %x3, sm; cvta.shared.u64 %x4, %x3; mov.u64 %x5, lo; "
      "cvta.local.u64 %x6, %x5; mov.u32 %r1, 0;\n"
      "isspacep.shared %p1, %x4; selp.u32 %r2, 1, 0, %p1; or.b32 %r1, %r1, %r2;\n"
      "isspacep.shared::cluster %p1, %x4; selp.u32 %r2, 2, 0, %p1; or.b32 %r1, %r1, %r2;\n"
      "isspacep.local %p1, %x6; selp.u32 %r2, 4, 0, %p1; or.b32 %r1, %r1, %r2;\n"
      "isspacep.global %p1, %x2; selp.u32 %r2, 8, 0, %p1; or.b32 %r1, %r1, %r2;\n"
      "isspacep.global %p1, %x4; selp.u32 %r2, 16, 0, %p1; or.b32 %r1, %r1, %r2;\n"
      "isspacep.shared %p1, %x6; selp.u32 %r2, 32, 0, %p1; or.b32 %r1, %r1, %r2;\n"
      "isspacep.param %p1, %x2; selp.u32 %r2, 64, 0, %p1; or.b32 %r1, %r1, %r2; st.global.u32 [%x2], %r1;",
      ".shared .align 8 .b8 sm[16];\n"));
  const auto to = device.upload(std::vector<std::uint32_t>(1, 0));
  device.launch("k", shape_of(1, 1), to, to);
  EXPECT_EQ(device.download<std::uint32_t>(to, 1)[0], 15u);
}

// An atomic operation by 32 lanes at four places, in order of the lanes.
struct Atomic {
  std::string words;  // after atom, without space
  std::string type;
  std::function<std::uint64_t(std::uint64_t, std::uint64_t, std::uint64_t)> f;
};

void expect_atomic(const Atomic& atomic, const std::string& space, bool returns) {
  const unsigned width = bits_of(atomic.type), bytes = width / 8;
  const bool is_cas = atomic.words.find("cas") != std::string::npos;
  const char prefix = width == 16 ? 'h' : width == 32 ? 'r' : 'x';
  std::string body = fmt::format(
      "and.b32 %r1, %r39, 3; mul.lo.u32 %r1, %r1, {0}; cvt.u64.u32 %x3, %r1;\n"
      "mul.wide.u32 %x4, %r39, 24; add.u64 %x5, %x1, %x4;\n"
      "ld.global.b{1} %{2}11, [%x5]; ld.global.b{1} %{2}12, [%x5+8];\n",
      bytes, width, prefix);
  if (space == "shared") {
    body += fmt::format(
        "mov.u64 %x7, sm; add.u64 %x6, %x7, %x3; add.u64 %x8, %x2, %x3;\n"
        "ld.global.b{0} %{1}13, [%x8]; st.shared.b{0} [%x6], %{1}13;\n",
        width, prefix);
  } else {
    body += "add.u64 %x6, %x2, %x3;\n";
  }
  const std::string dot_space = space.empty() ? "" : "." + space;
  body += fmt::format("{}{}.{} {}[{}], %{}11{};\n", returns ? "atom" : "red", dot_space, atomic.words,
                      returns ? fmt::format("%{}14, ", prefix) : "", "%x6", prefix,
                      is_cas ? fmt::format(", %{}12", prefix) : "");
  if (returns) body += fmt::format("st.global.b{} [%x5+16], %{}14;\n", width, prefix);
  if (space == "shared")
    body += fmt::format("ld.shared.b{0} %{1}13, [%x6]; st.global.b{0} [%x8], %{1}13;\n", width, prefix);
  TestDevice device(kernel(body, ".shared .align 8 .b8 sm[64];\n"));
  std::vector<std::uint64_t> operands(32 * 3);
  std::uint64_t seed = seed_of(atomic.words);
  const std::uint64_t keep = width == 64 ? ~0ull : (1ull << width) - 1;
  std::vector<std::uint64_t> cells(4);
  for (std::uint64_t& cell : cells) cell = sample(atomic.type, seed++) & keep;
  for (std::size_t i = 0; i < 32; ++i) {
    operands[i * 3] = sample(atomic.type, seed++) & keep;
    operands[i * 3 + 1] = sample(atomic.type, seed++) & keep;
    if (is_cas && i % 3 == 0) operands[i * 3] = cells[i % 4];
  }
  std::vector<std::uint8_t> memory(4 * bytes);
  for (std::size_t i = 0; i < 4; ++i) std::memcpy(&memory[i * bytes], &cells[i], bytes);
  const auto from = device.upload(operands), to = device.upload(memory);
  device.launch("k", shape_of(1, 32), from, to);
  const auto after = device.download<std::uint64_t>(from, operands.size());
  for (std::size_t i = 0; i < 32; ++i) {
    const std::uint64_t old = returns ? after[i * 3 + 2] & keep : cells[i % 4];
    ASSERT_EQ(old, cells[i % 4]) << atomic.words << " in " << space << ", lane " << i;
    cells[i % 4] = atomic.f(cells[i % 4], operands[i * 3], operands[i * 3 + 1]) & keep;
  }
  const auto now = device.download<std::uint8_t>(to, memory.size());
  for (std::size_t i = 0; i < 4; ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, &now[i * bytes], bytes);
    ASSERT_EQ(value, cells[i]) << atomic.words << " in " << (space.empty() ? "generic" : space);
  }
}

std::uint64_t float_sum(const std::string& type, std::uint64_t a, std::uint64_t b, bool flushes) {
  const Format& f = format_of(type);
  const Words w(flushes ? "add.ftz." + type : "add." + type);
  if (f.is_nan(a) || f.is_nan(b)) return nan_result({a, b}, f, w);
  if (flushes) {
    a = flushed(a, f);
    b = flushed(b, f);
  }
  return finished(sum(value_of(a, f), value_of(b, f), Round::kNearest), f, w);
}

std::uint64_t pair_sum(const std::string& half, std::uint64_t a, std::uint64_t b) {
  return float_sum(half, a & 0xffff, b & 0xffff, false) |
         float_sum(half, a >> 16 & 0xffff, b >> 16 & 0xffff, false) << 16;
}

std::vector<Atomic> atomics() {
  using U = std::uint64_t;
  const auto s32 = [](U x) { return static_cast<std::int32_t>(x); };
  const auto s64 = [](U x) { return static_cast<std::int64_t>(x); };
  std::vector<Atomic> all;
  for (const std::string type : {"u32", "s32", "u64"})
    all.push_back({"add." + type, type, [](U x, U y, U) { return x + y; }});
  all.push_back({"min.u32", "u32", [](U x, U y, U) { return std::min(x, y); }});
  all.push_back({"max.u32", "u32", [](U x, U y, U) { return std::max(x, y); }});
  all.push_back({"min.u64", "u64", [](U x, U y, U) { return std::min(x, y); }});
  all.push_back({"max.u64", "u64", [](U x, U y, U) { return std::max(x, y); }});
  all.push_back({"min.s32", "s32", [=](U x, U y, U) { return s32(x) < s32(y) ? x : y; }});
  all.push_back({"max.s32", "s32", [=](U x, U y, U) { return s32(x) > s32(y) ? x : y; }});
  all.push_back({"min.s64", "s64", [=](U x, U y, U) { return s64(x) < s64(y) ? x : y; }});
  all.push_back({"max.s64", "s64", [=](U x, U y, U) { return s64(x) > s64(y) ? x : y; }});
  all.push_back({"inc.u32", "u32", [](U x, U y, U) { return x >= y ? 0 : x + 1; }});
  all.push_back({"dec.u32", "u32", [](U x, U y, U) { return x == 0 || x > y ? y : x - 1; }});
  for (const std::string type : {"b32", "b64"}) {
    all.push_back({"and." + type, type, [](U x, U y, U) { return x & y; }});
    all.push_back({"or." + type, type, [](U x, U y, U) { return x | y; }});
    all.push_back({"xor." + type, type, [](U x, U y, U) { return x ^ y; }});
  }
  for (const std::string half : {"f16", "bf16"}) {
    all.push_back({"add.noftz." + half, half, [=](U x, U y, U) { return float_sum(half, x, y, false); }});
    all.push_back(
        {"add.noftz." + half + "x2", half + "x2", [=](U x, U y, U) { return pair_sum(half, x, y); }});
  }
  all.push_back({"add.f64", "f64", [](U x, U y, U) { return float_sum("f64", x, y, false); }});
  return all;
}

TEST(atomics, of_every_operation_and_type_in_every_space) {
  Real::use_bits(Real::kForDoubles);
  for (const std::string space : {"global", "shared", ""}) {
    for (Atomic atomic : atomics()) {
      expect_atomic(atomic, space, true);
      expect_atomic(atomic, space, false);
      atomic.words = "relaxed.gpu." + atomic.words;
      expect_atomic(atomic, space, true);
    }
    // Subnormals are flushed by f32 additions in global memory only.
    const bool flushes = space != "shared";
    const Atomic f32{"add.f32", "f32", [=](auto x, auto y, auto) { return float_sum("f32", x, y, flushes); }};
    expect_atomic(f32, space, true);
    expect_atomic(f32, space, false);
    for (const std::string type : {"b16", "b32", "b64"}) {
      expect_atomic({"cas." + type, type, [](auto x, auto y, auto z) { return x == y ? z : x; }}, space,
                    true);
      if (type != "b16")
        expect_atomic({"exch." + type, type, [](auto, auto y, auto) { return y; }}, space, true);
    }
  }
  Real::use_bits(Real::kForFloats);
}

TEST(atomics, vectors_act_element_by_element) {
  TestDevice device(
      kernel("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%x1];\n"
             "atom.global.add.v2.f32 {%f2, %f1}, [%x2], {%f1, %f2}; st.global.v2.f32 [%x1], {%f2, %f1};\n"
             "red.global.add.v2.f32 [%x2+8], {%f3, %f4};\n"
             "mov.b32 %r1, 0x3c004000; red.global.max.noftz.v2.f16x2 [%x2+16], {%r1, %r1};\n"
             "mov.b16 %h1, 0x4000; atom.global.add.noftz.v4.bf16 {%h2, %h3, %h4, %h5}, [%x2+24], {%h1, %h1, "
             "%h1, %h1};"));
  const auto from = device.upload(std::vector<float>{1, 2, 3, 4});
  std::vector<float> cells{10, 20, 30, 40};
  const auto to = device.upload(
      std::vector<std::uint32_t>{std::bit_cast<std::uint32_t>(10.0f), std::bit_cast<std::uint32_t>(20.0f),
                                 std::bit_cast<std::uint32_t>(30.0f), std::bit_cast<std::uint32_t>(40.0f),
                                 0x40003c00, 0x7fff3800, 0x40003f80, 0xc0000000});
  device.launch("k", shape_of(1, 1), from, to);
  EXPECT_EQ(device.download<float>(to, 4), (std::vector<float>{11, 22, 33, 44}));
  EXPECT_EQ(device.download<float>(from, 2), (std::vector<float>{10, 20}));  // the old values, in order
  EXPECT_EQ(device.download<std::uint32_t>(to, 8)[4], 0x40004000u);
  EXPECT_EQ(device.download<std::uint32_t>(to, 8)[5], 0x3c004000u);
  EXPECT_EQ(device.download<std::uint32_t>(to, 8)[6], 0x40804040u);
  EXPECT_EQ(device.download<std::uint32_t>(to, 8)[7], 0x00004000u);
}

TEST(async_copy, copies_fills_with_zeros_and_ignores) {
  TestDevice device(kernel(
      "mul.wide.u32 %x4, %r39, 16; add.u64 %x5, %x1, %x4; mov.u32 %r1, sm; mad.lo.u32 %r1, %r39, 16, %r1;\n"
      "cp.async.cg.shared.global [%r1], [%x5], 16; and.b32 %r2, %r39, 31;\n"
      "cp.async.ca.shared.global [%r1+512], [%x5], 16, %r2; setp.lt.u32 %p1, %r39, 3;\n"
      "cp.async.ca.shared.global.L2::128B [%r1+1024], [%x5], 8, %p1; cp.async.ca.shared.global [%r1+1032], "
      "[%x5+4], 4;\n"
      "cp.async.commit_group; cp.async.wait_group 0; cp.async.wait_all; bar.sync 0;\n"
      "ld.shared.v2.b64 {%x6, %x7}, [%r1]; ld.shared.v2.b64 {%x8, %x9}, [%r1+512]; ld.shared.v2.b64 {%x10, "
      "%x11}, [%r1+1024];\n"
      "mul.wide.u32 %x4, %r39, 48; add.u64 %x12, %x2, %x4; st.global.v2.b64 [%x12], {%x6, %x7};\n"
      "st.global.v2.b64 [%x12+16], {%x8, %x9}; st.global.v2.b64 [%x12+32], {%x10, %x11};",
      ".shared .align 16 .b8 sm[1536];\n"));
  const auto data = pattern(32 * 16);
  const auto to = device.upload(std::vector<std::uint8_t>(32 * 48, 0));
  device.launch("k", shape_of(1, 32), device.upload(data), to);
  const auto got = device.download<std::uint8_t>(to, 32 * 48);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t i = 0; i < 16; ++i) {
      const std::uint8_t source = data[lane * 16 + i];
      EXPECT_EQ(got[lane * 48 + i], source);
      EXPECT_EQ(got[lane * 48 + 16 + i], i < std::min<std::size_t>(lane, 16) ? source : 0)
          << lane << ' ' << i;
      const std::uint8_t third = i < 8 ? (lane < 3 ? 0 : source) : i < 12 ? data[lane * 16 + i - 4] : 0;
      EXPECT_EQ(got[lane * 48 + 32 + i], third) << lane << ' ' << i;
    }
  }
}

TEST(async_copy, reads_no_more_than_its_size) {
  // The last lanes read nothing: their source is beyond the buffer.
  TestDevice device(kernel(
      "mul.wide.u32 %x4, %r39, 16; add.u64 %x5, %x1, %x4; mov.u32 %r1, sm; mad.lo.u32 %r1, %r39, 16, %r1;\n"
      "setp.lt.u32 %p1, %r39, 16; selp.u32 %r2, 16, 0, %p1;\n"
      "cp.async.cg.shared.global [%r1], [%x5], 16, %r2;",
      ".shared .align 16 .b8 sm[512];\n"));
  simgpu::DeviceAddress address = 0;
  ASSERT_EQ(device.memory().allocate(0, 4096, address), simgpu::MemoryError::kNone);
  device.launch("k", shape_of(1, 32), address + 4096 - 256, address);
}

// The states that an mbarrier goes through, seen by one thread.
TEST(mbarrier, phases_end_when_all_have_arrived_and_all_bytes_have_come) {
  TestDevice device(
      kernel("mov.u32 %r1, sm; mbarrier.init.shared.b64 [%r1], 3; mbarrier.arrive.shared.b64 %x3, [%r1];\n"
             "mbarrier.test_wait.shared.b64 %p1, [%r1], %x3; selp.u32 %r10, 1, 0, %p1;\n"
             "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 1; selp.u32 %r11, 1, 0, %p1;\n"
             "mbarrier.pending_count.b64 %r12, %x3; mov.u32 %r2, 2; "
             "mbarrier.arrive.release.cta.shared::cta.b64 %x4, [%r1], %r2;\n"
             "mbarrier.pending_count.b64 %r13, %x4; mbarrier.try_wait.shared.b64 %p1, [%r1], %x3; selp.u32 "
             "%r14, 1, 0, %p1;\n"
             "mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0, 100; selp.u32 %r15, 1, 0, %p1;\n"
             // The second phase waits for 64 bytes, and one arrival fewer is expected after it.
             "mbarrier.arrive.expect_tx.shared.b64 %x5, [%r1], 64; mbarrier.arrive_drop.shared.b64 _, [%r1]; "
             "mbarrier.arrive.shared.b64 _, "
             "[%r1];\n"
             "mbarrier.test_wait.shared.b64 %p1, [%r1], %x5; selp.u32 %r16, 1, 0, %p1;\n"
             "mbarrier.complete_tx.relaxed.cta.shared.b64 [%r1], 64; mbarrier.test_wait.shared.b64 %p1, "
             "[%r1], %x5; selp.u32 %r17, 1, 0, "
             "%p1;\n"
             "cp.async.mbarrier.arrive.noinc.shared.b64 [%r1]; cp.async.mbarrier.arrive.shared.b64 [%r1]; "
             "mbarrier.arrive.shared.b64 %x6, "
             "[%r1];\n"
             "mbarrier.test_wait.shared.b64 %p1, [%r1], %x6; selp.u32 %r18, 1, 0, %p1; "
             "mbarrier.inval.shared.b64 [%r1];\n"
             "st.global.v4.u32 [%x2], {%r10, %r11, %r12, %r13}; st.global.v4.u32 [%x2+16], {%r14, %r15, "
             "%r16, %r17}; st.global.u32 [%x2+32], "
             "%r18;",
             ".shared .align 8 .b8 sm[16];\n"));
  const auto to = device.upload(std::vector<std::uint32_t>(9, 99));
  device.launch("k", shape_of(1, 1), to, to);
  EXPECT_EQ(device.download<std::uint32_t>(to, 9), (std::vector<std::uint32_t>{0, 1, 3, 2, 1, 1, 0, 1, 1}));
}

TEST(mbarrier, warps_wait_for_each_other) {
  TestDevice device(kernel(
      "mov.u32 %r1, sm; setp.eq.u32 %p1, %r39, 0; @%p1 mbarrier.init.shared.b64 [%r1], 64; bar.sync 0;\n"
      "setp.lt.u32 %p2, %r39, 32; @%p2 bra WAIT;\n"
      "mad.lo.u32 %r2, %r39, 4, %r1; st.shared.u32 [%r2+16], %r39;\n"
      "WAIT: mbarrier.arrive.shared.b64 %x3, [%r1];\n"
      "AGAIN: mbarrier.try_wait.shared.b64 %p3, [%r1], %x3; @!%p3 bra AGAIN;\n"
      "xor.b32 %r3, %r39, 32; mad.lo.u32 %r2, %r3, 4, %r1; ld.shared.u32 %r4, [%r2+16];\n"
      "mul.wide.u32 %x4, %r39, 4; add.u64 %x4, %x4, %x2; st.global.u32 [%x4], %r4;",
      ".shared .align 8 .b8 sm[512];\n"));
  const auto to = device.upload(std::vector<std::uint32_t>(64, 0));
  device.launch("k", shape_of(1, 64), to, to);
  const auto got = device.download<std::uint32_t>(to, 64);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], i + 32);
}

}  // namespace
}  // namespace refrain::conformance
