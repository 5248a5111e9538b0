// One PTX operation over lists of operands: a kernel is written around it, run, and its results returned as
// bits.
#pragma once

#include <functional>

#include "harness.hpp"

namespace refrain::simgpu {

using Bits = std::vector<std::uint64_t>;

struct Widths {
  unsigned d, a, b = 32, c = 32;  // bits of %d, %a, %b, %c
};

// text uses the registers %d, %a, %b, %c and the predicates %p, %q.
inline Bits run_operation(const std::string& text, Widths widths, const Bits& a, const Bits& b,
                          const Bits& c) {
  std::string body = fmt::format(
      ".reg .b{} %d; .reg .b{} %a; .reg .b{} %b; .reg .b{} %c; .reg .pred %p; .reg .pred %q; .reg .b64 "
      "%rd<9>;\n"
      ".reg .b32 %r<9>;\n",
      widths.d, widths.a, widths.b, widths.c);
  body +=
      "ld.param.u32 %r1, [n]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
      "mad.lo.u32 %r5, %r2, %r3, %r4; setp.ge.u32 %p, %r5, %r1; @%p ret;\n"
      "mul.wide.u32 %rd1, %r5, 8; ld.param.u64 %rd2, [pa]; ld.param.u64 %rd3, [pb]; ld.param.u64 %rd4, "
      "[pc];\n"
      "ld.param.u64 %rd5, [po]; add.u64 %rd2, %rd2, %rd1; add.u64 %rd3, %rd3, %rd1; add.u64 %rd4, %rd4, "
      "%rd1;\n"
      "add.u64 %rd5, %rd5, %rd1;\n";
  body += fmt::format("ld.global.b{} %a, [%rd2]; ld.global.b{} %b, [%rd3]; ld.global.b{} %c, [%rd4];\n",
                      widths.a, widths.b, widths.c);
  body += "setp.ne.u32 %p, %r1, 0; setp.eq.u32 %q, %r1, 0;\n" + text + "\n";
  body += fmt::format("st.global.b{} [%rd5], %d;\nret;\n", widths.d);
  TestDevice device(kPtxHead +
                    ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 po, "
                    ".param .u32 n) {\n" +
                    body + "}\n");
  const auto n = static_cast<std::uint32_t>(a.size());
  const DeviceAddress out = device.upload(Bits(n, 0));
  device.launch("k", shape_of((n + 63) / 64, 64), device.upload(a), device.upload(b), device.upload(c), out,
                n);
  return device.download<std::uint64_t>(out, n);
}

// Every combination of the values.
struct Operands {
  Bits a, b, c;
};
inline Operands all_of(const Bits& values, int arity) {
  Operands result;
  for (const std::uint64_t x : values) {
    for (const std::uint64_t y : arity >= 2 ? values : Bits{0}) {
      for (const std::uint64_t z : arity >= 3 ? values : Bits{0}) {
        result.a.push_back(x);
        result.b.push_back(y);
        result.c.push_back(z);
      }
    }
  }
  return result;
}

using Reference = std::function<std::uint64_t(std::uint64_t, std::uint64_t, std::uint64_t)>;

inline void expect_operation(const std::string& text, Widths widths, const Operands& in,
                             const Reference& reference) {
  const Bits got = run_operation(text, widths, in.a, in.b, in.c);
  const std::uint64_t keep = widths.d == 64 ? ~0ull : (1ull << widths.d) - 1;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i], reference(in.a[i], in.b[i], in.c[i]) & keep)
        << text << fmt::format(" of {:#x}, {:#x}, {:#x}", in.a[i], in.b[i], in.c[i]);
  }
}

}  // namespace refrain::simgpu
