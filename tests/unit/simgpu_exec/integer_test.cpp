// Integer arithmetic, logic, shifts, bit fields, comparisons and conversions over edge operands.
// References are written from the PTX specification in the widest type at hand.
#include <bit>

#include "operation.hpp"

namespace refrain::simgpu {
namespace {

__extension__ typedef __int128 Wide;

const Bits kEdges32 = {0,          1,          2,          5,          31,         32,
                       33,         0x7f,       0x80,       0xff,       0x7fff,     0x8000,
                       0xffff,     0x10000,    0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001,
                       0xfffffffe, 0xffffffff, 0x12345678, 0xdeadbeef};
const Bits kEdges64 = {0,
                       1,
                       2,
                       63,
                       64,
                       0x7fffffff,
                       0x80000000,
                       0xffffffff,
                       0x100000000,
                       0x7fffffffffffffff,
                       0x8000000000000000,
                       0x8000000000000001,
                       0xffffffffffffffff,
                       0x123456789abcdef0};
const Bits kEdges16 = {0, 1, 2, 15, 16, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff, 0x1234};

template <class T>
Wide value(std::uint64_t bits) {
  return static_cast<T>(bits);
}

// The operations that every integer type has.
template <class T>
void common_operations(const std::string& type, const Bits& edges) {
  constexpr unsigned kBits = sizeof(T) * 8;
  const Operands one = all_of(edges, 1), two = all_of(edges, 2);
  const Widths w{kBits, kBits, kBits, kBits};
  const auto bits = [](Wide v) { return static_cast<std::uint64_t>(v); };
  expect_operation("add." + type + " %d, %a, %b;", w, two,
                   [&](auto a, auto b, auto) { return bits(value<T>(a) + value<T>(b)); });
  expect_operation("sub." + type + " %d, %a, %b;", w, two,
                   [&](auto a, auto b, auto) { return bits(value<T>(a) - value<T>(b)); });
  expect_operation("mul.lo." + type + " %d, %a, %b;", w, two, [&](auto a, auto b, auto) { return a * b; });
  expect_operation("mul.hi." + type + " %d, %a, %b;", w, two, [&](auto a, auto b, auto) {
    __extension__ using U = unsigned __int128;
    const U product = static_cast<U>(value<T>(a)) * static_cast<U>(value<T>(b));
    return static_cast<std::uint64_t>(product >> kBits);
  });
  expect_operation("div." + type + " %d, %a, %b;", w, two, [&](auto a, auto b, auto) {
    return value<T>(b) == 0 ? ~0ull : bits(value<T>(a) / value<T>(b));
  });
  expect_operation("rem." + type + " %d, %a, %b;", w, two, [&](auto a, auto b, auto) {
    return value<T>(b) == 0 ? a : bits(value<T>(a) % value<T>(b));
  });
  expect_operation("min." + type + " %d, %a, %b;", w, two,
                   [&](auto a, auto b, auto) { return bits(std::min(value<T>(a), value<T>(b))); });
  expect_operation("max." + type + " %d, %a, %b;", w, two,
                   [&](auto a, auto b, auto) { return bits(std::max(value<T>(a), value<T>(b))); });
  expect_operation("shr." + type + " %d, %a, %b;", Widths{kBits, kBits, 32, 32}, all_of(edges, 2),
                   [&](auto a, auto b, auto) {
                     const auto n = std::min<std::uint64_t>(b & 0xffffffff, 64);
                     return bits(value<T>(a) >> n);
                   });
  for (const std::string comparison : {"lt", "le", "gt", "ge", "eq", "ne"}) {
    expect_operation("setp." + comparison + "." + type + " %p, %a, %b; selp.b32 %d, 1, 0, %p;",
                     Widths{32, kBits, kBits, kBits}, two, [&](auto a, auto b, auto) -> std::uint64_t {
                       const Wide x = value<T>(a), y = value<T>(b);
                       return comparison == "lt"   ? x < y
                              : comparison == "le" ? x <= y
                              : comparison == "gt" ? x > y
                              : comparison == "ge" ? x >= y
                              : comparison == "eq" ? x == y
                                                   : x != y;
                     });
  }
  (void)one;
}

TEST(integer, operations_of_every_type) {
  common_operations<std::int32_t>("s32", kEdges32);
  common_operations<std::uint32_t>("u32", kEdges32);
  common_operations<std::int64_t>("s64", kEdges64);
  common_operations<std::uint64_t>("u64", kEdges64);
  common_operations<std::int16_t>("s16", kEdges16);
  common_operations<std::uint16_t>("u16", kEdges16);
}

TEST(integer, multiply_add_wide_and_signs) {
  const Operands three = all_of({0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x12345678}, 3);
  expect_operation("mad.lo.s32 %d, %a, %b, %c;", {32, 32, 32, 32}, three,
                   [](auto a, auto b, auto c) { return a * b + c; });
  expect_operation("mad.hi.u32 %d, %a, %b, %c;", {32, 32, 32, 32}, three,
                   [](auto a, auto b, auto c) { return ((a * b) >> 32) + c; });
  const Operands two = all_of(kEdges32, 2);
  expect_operation("mul.wide.s32 %d, %a, %b;", {64, 32, 32, 32}, two, [](auto a, auto b, auto) {
    return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(a)} *
                                      static_cast<std::int32_t>(b));
  });
  expect_operation("mul.wide.u32 %d, %a, %b;", {64, 32, 32, 32}, two,
                   [](auto a, auto b, auto) { return a * b; });
  expect_operation("mul.wide.u16 %d, %a, %b;", {32, 16, 16, 32}, all_of(kEdges16, 2),
                   [](auto a, auto b, auto) { return a * b; });
  expect_operation("mad.wide.u32 %d, %a, %b, %c;", {64, 32, 32, 64}, three,
                   [](auto a, auto b, auto c) { return a * b + c; });
  expect_operation("neg.s32 %d, %a;", {32, 32}, all_of(kEdges32, 1),
                   [](auto a, auto, auto) { return 0 - a; });
  expect_operation("neg.s64 %d, %a;", {64, 64}, all_of(kEdges64, 1),
                   [](auto a, auto, auto) { return 0 - a; });
  expect_operation("abs.s32 %d, %a;", {32, 32}, all_of(kEdges32, 1),
                   [](auto a, auto, auto) { return (a >> 31) != 0 ? 0 - a : a; });
  expect_operation("sad.s32 %d, %a, %b, %c;", {32, 32, 32, 32}, three, [](auto a, auto b, auto c) {
    const std::int64_t x = static_cast<std::int32_t>(a), y = static_cast<std::int32_t>(b);
    return static_cast<std::uint64_t>(x < y ? y - x : x - y) + c;
  });
}

TEST(integer, logic_shifts_and_permutations) {
  const Operands two = all_of(kEdges32, 2), one = all_of(kEdges32, 1), one64 = all_of(kEdges64, 1);
  expect_operation("and.b32 %d, %a, %b;", {32, 32, 32, 32}, two, [](auto a, auto b, auto) { return a & b; });
  expect_operation("or.b32 %d, %a, %b;", {32, 32, 32, 32}, two, [](auto a, auto b, auto) { return a | b; });
  expect_operation("xor.b64 %d, %a, %b;", {64, 64, 64, 32}, all_of(kEdges64, 2),
                   [](auto a, auto b, auto) { return a ^ b; });
  expect_operation("not.b32 %d, %a;", {32, 32}, one, [](auto a, auto, auto) { return ~a; });
  expect_operation("not.b16 %d, %a;", {16, 16}, all_of(kEdges16, 1), [](auto a, auto, auto) { return ~a; });
  expect_operation("cnot.b32 %d, %a;", {32, 32}, one, [](auto a, auto, auto) { return a == 0 ? 1 : 0; });
  expect_operation("shl.b32 %d, %a, %b;", {32, 32, 32, 32}, two,
                   [](auto a, auto b, auto) { return b > 31 ? 0 : a << b; });
  expect_operation("shl.b64 %d, %a, %b;", {64, 64, 32, 32}, all_of(kEdges64, 2), [](auto a, auto b, auto) {
    const std::uint64_t n = b & 0xffffffff;
    return n > 63 ? 0 : a << n;
  });
  expect_operation("popc.b32 %d, %a;", {32, 32}, one, [](auto a, auto, auto) { return std::popcount(a); });
  expect_operation("clz.b32 %d, %a;", {32, 32}, one,
                   [](auto a, auto, auto) { return std::countl_zero(static_cast<std::uint32_t>(a)); });
  expect_operation("clz.b64 %d, %a;", {32, 64}, one64,
                   [](auto a, auto, auto) { return std::countl_zero(a); });
  expect_operation("bfind.u32 %d, %a;", {32, 32}, one,
                   [](auto a, auto, auto) { return a == 0 ? ~0ull : 63 - std::countl_zero(a); });
  expect_operation("bfind.s32 %d, %a;", {32, 32}, one, [](auto a, auto, auto) {
    const std::uint64_t v = (a >> 31) != 0 ? ~a & 0xffffffff : a;
    return v == 0 ? ~0ull : 63 - std::countl_zero(v);
  });
  expect_operation("brev.b32 %d, %a;", {32, 32}, one, [](auto a, auto, auto) {
    std::uint64_t r = 0;
    for (int i = 0; i < 32; ++i) r |= ((a >> i) & 1) << (31 - i);
    return r;
  });
  expect_operation("lop3.b32 %d, %a, %b, %c, 0xe8;", {32, 32, 32, 32},
                   all_of({0, 0xff00ff00, 0x0f0f0f0f, 0xcccccccc}, 3),
                   [](auto a, auto b, auto c) { return (a & b) | (a & c) | (b & c); });
  expect_operation("shf.r.wrap.b32 %d, %a, %b, %c;", {32, 32, 32, 32},
                   all_of({0, 1, 31, 32, 33, 0x80000001, 0xdeadbeef}, 3),
                   [](auto a, auto b, auto c) { return ((b << 32) | a) >> (c & 31); });
  expect_operation("shf.l.clamp.b32 %d, %a, %b, %c;", {32, 32, 32, 32},
                   all_of({0, 1, 31, 32, 33, 0x80000001, 0xdeadbeef}, 3), [](auto a, auto b, auto c) {
                     const auto n = std::min<std::uint64_t>(c, 32);
                     return n == 32 ? a : ((b << 32 | a) << n) >> 32;
                   });
  expect_operation("prmt.b32 %d, %a, %b, %c;", {32, 32, 32, 32},
                   {{0x03020100, 0x83020100, 1}, {0x07060504, 0x07060504, 2}, {0x7250, 0xb801, 0x3210}},
                   [](auto a, auto b, auto c) -> std::uint64_t {
                     std::uint64_t r = 0;
                     for (int i = 0; i < 4; ++i) {
                       const auto s = (c >> (4 * i)) & 15;
                       auto byte = (((b << 32) | a) >> (8 * (s & 7))) & 0xff;
                       if ((s & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
                       r |= byte << (8 * i);
                     }
                     return r;
                   });
}

TEST(integer, bit_fields) {
  Operands in;
  for (const std::uint64_t x : {0x0ull, 0x80000000ull, 0xdeadbeefull, 0x7fffffffull}) {
    for (const std::uint64_t position : {0, 1, 16, 31, 32, 200}) {
      for (const std::uint64_t length : {0, 1, 8, 31, 32, 255}) {
        in.a.push_back(x);
        in.b.push_back(position);
        in.c.push_back(length);
      }
    }
  }
  // As the specification's pseudo-code has it.
  const auto extract = [](bool is_signed, std::uint64_t a, std::uint64_t pos, std::uint64_t len) {
    const std::uint64_t msb = 31;
    const bool sign = is_signed && len != 0 && ((a >> std::min(pos + len - 1, msb)) & 1) != 0;
    std::uint64_t d = 0;
    for (std::uint64_t i = 0; i <= msb; ++i) {
      const bool bit = i < len && pos + i <= msb ? ((a >> (pos + i)) & 1) != 0 : sign;
      d |= static_cast<std::uint64_t>(bit) << i;
    }
    return d;
  };
  expect_operation("bfe.u32 %d, %a, %b, %c;", {32, 32, 32, 32}, in,
                   [&](auto a, auto p, auto l) { return extract(false, a, p, l); });
  expect_operation("bfe.s32 %d, %a, %b, %c;", {32, 32, 32, 32}, in,
                   [&](auto a, auto p, auto l) { return extract(true, a, p, l); });
  expect_operation("bfi.b32 %d, %a, 0x55aa55aa, %b, %c;", {32, 32, 32, 32}, in,
                   [](auto a, auto pos, auto len) {
                     std::uint64_t f = 0x55aa55aa;
                     for (std::uint64_t i = 0; i < len && pos + i < 32; ++i) {
                       f = (f & ~(1ull << (pos + i))) | (((a >> i) & 1) << (pos + i));
                     }
                     return f;
                   });
  expect_operation("bfi.b64 %d, %a, %b, 32, 32;", {64, 64, 64, 32}, all_of(kEdges64, 2),
                   [](auto a, auto b, auto) { return (a << 32) | (b & 0xffffffff); });
}

TEST(integer, conversions_between_widths) {
  const Operands one = all_of(kEdges64, 1);
  expect_operation("cvt.u32.u64 %d, %a;", {32, 64}, one, [](auto a, auto, auto) { return a; });
  expect_operation("cvt.s64.s32 %d, %a;", {64, 32}, one, [](auto a, auto, auto) {
    return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(a)});
  });
  expect_operation("cvt.u64.u32 %d, %a;", {64, 32}, one, [](auto a, auto, auto) { return a & 0xffffffff; });
  expect_operation("cvt.u16.u32 %d, %a;", {16, 32}, all_of(kEdges32, 1),
                   [](auto a, auto, auto) { return a; });
  expect_operation("cvt.s32.s8 %d, %a;", {32, 32}, all_of(kEdges32, 1), [](auto a, auto, auto) {
    return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int8_t>(a)});
  });
  expect_operation("cvt.s8.s32 %d, %a; cvt.u32.u16 %c, %d; mov.u16 %d, 0; cvt.u16.u32 %d, %c;", {16, 32},
                   all_of(kEdges32, 1), [](auto a, auto, auto) {
                     return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int8_t>(a)});
                   });
  expect_operation("cvt.sat.u8.s32 %d, %a;", {32, 32}, all_of(kEdges32, 1),
                   [](auto a, auto, auto) -> std::uint64_t {
                     const std::int64_t v = static_cast<std::int32_t>(a);
                     return v < 0 ? 0 : v > 255 ? 255 : static_cast<std::uint64_t>(v);
                   });
  expect_operation("cvt.sat.s32.u32 %d, %a;", {32, 32}, all_of(kEdges32, 1),
                   [](auto a, auto, auto) { return std::min<std::uint64_t>(a, 0x7fffffff); });
}

TEST(integer, predicates_combine_and_pair) {
  const Operands two = all_of({0, 1, 2}, 2);
  expect_operation("setp.lt.and.s32 %p|%q, %a, %b, %q; selp.b32 %d, 1, 0, %p; @%q or.b32 %d, %d, 2;",
                   {32, 32, 32, 32}, two, [](auto, auto, auto) { return 0; });
  expect_operation("setp.lt.or.s32 %p|%q, %a, %b, !%p; selp.b32 %d, 1, 0, %p; @%q or.b32 %d, %d, 2;",
                   {32, 32, 32, 32}, two, [](auto a, auto b, auto) { return a < b ? 1 : 2; });
  expect_operation(
      "setp.lt.xor.u32 %q, %a, %b, %p; xor.pred %p, %p, %q; not.pred %q, %p; selp.b32 %d, 1, 0, %q;",
      {32, 32, 32, 32}, two, [](auto a, auto b, auto) { return a < b ? 0 : 1; });
  expect_operation("set.lt.u32.s32 %d, %a, %b;", {32, 32, 32, 32}, two,
                   [](auto a, auto b, auto) { return a < b ? 0xffffffffull : 0; });
  expect_operation("slct.b32.s32 %d, %a, %b, %c;", {32, 32, 32, 32}, all_of({0, 1, 0xffffffff}, 3),
                   [](auto a, auto b, auto c) { return (c >> 31) == 0 ? a : b; });
}

TEST(integer, vectors_pack_and_unpack) {
  const Operands two = all_of(kEdges32, 2);
  expect_operation("mov.b64 %d, {%a, %b};", {64, 32, 32, 32}, two,
                   [](auto a, auto b, auto) { return a | (b << 32); });
  expect_operation("{ .reg .b32 %lo; .reg .b32 %hi; mov.b64 {%lo, %hi}, %a; sub.u32 %d, %hi, %lo; }",
                   {32, 64}, all_of(kEdges64, 1), [](auto a, auto, auto) { return (a >> 32) - a; });
  expect_operation("{ .reg .b16 %h; mov.b32 {_, %h}, %a; mov.b32 %d, {%h, %h}; }", {32, 32},
                   all_of(kEdges32, 1), [](auto a, auto, auto) { return (a >> 16) | ((a >> 16) << 16); });
}

}  // namespace
}  // namespace refrain::simgpu
