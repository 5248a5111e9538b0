// Which instructions load: every one that real training programs were found to have, and none that PTX does
// not have.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "operation.hpp"
#include "tests/unit/simgpu_exec/harness.hpp"

namespace refrain::conformance {
namespace {

// What is wrong with a module that holds one instruction, or nothing.
std::string refusal(const std::string& statement) {
  simgpu::AddressSpace memory({64u << 20, 4096});
  try {
    simgpu::load_module(
        ".version 9.0\n.target sm_100a\n.address_size 64\n.shared .align 16 .b8 sm[4096];\n.func fn() { ret; "
        "}\n"
        ".visible .entry k(.param .align 8 .b64 p) {\n.reg .pred %p<9>; .reg .b16 %h<20>; .reg .b32 %r<40>; "
        ".reg .b64 %d<40>; "
        ".reg .f32 %f<9>; .reg .f64 %fd<9>; .param .b64 p1; .local .align 8 .b8 lo[64];\n" +
            statement + "\nret; L: ret; }\n",
        memory);
    return "";
  } catch (const simgpu::LoadError& error) {
    return error.what();
  }
}

char prefix_of(const std::string& type) {
  return type == "pred" ? 'p' : bits_of(type) <= 16 ? 'h' : bits_of(type) == 64 ? 'd' : 'r';
}
std::string reg(const std::string& type, int i) {
  return fmt::format("%{}{}", prefix_of(type), i);
}
std::string regs(const std::string& type, int first, int count) {
  if (count == 1) return reg(type, first);
  std::string list = "{";
  for (int i = 0; i < count; ++i) list += (i == 0 ? "" : ", ") + reg(type, first + i);
  return list + "}";
}

// Operands that fit an instruction of the list.
std::string operands_for(const std::string& text) {
  const Words w(text);
  const std::string op = w.opcode(), t = w.type_count() > 0 ? w.type() : "";
  const int vector = w.has("v4") ? 4 : w.has("v2") ? 2 : 1;
  const std::string r8 = regs("b32", 1, 8), r4 = regs("b32", 1, 4);
  if (op == "bra") return "L";
  if (op == "ret" || op == "trap" || op == "membar") return "";
  if (op == "call") return "fn";
  if (op == "ld") return regs(t, 1, vector) + (w.has("param") ? ", [p]" : ", [%d30]");
  if (op == "st") return (w.has("param") ? "[p1], " : "[%d30], ") + regs(t, 1, vector);
  if (op == "atom") return reg(t, 1) + ", [%d30], " + reg(t, 2) + (w.has("cas") ? ", " + reg(t, 3) : "");
  if (op == "red") return "[%d30], " + reg(t, 2);
  if (op == "bar" || op == "barrier") return w.has("warp") ? "-1" : "0";
  if (op == "shfl") return "%r1|%p1, %r2, 1, 31, -1";
  if (op == "isspacep") return "%p1, %d1";
  if (op == "prefetch") return "[%d1]";
  if (op == "activemask") return "%r1";
  if (op == "ldmatrix") return r4 + ", [%d1]";
  if (op == "mma") return "{%r1, %r2}, {%r3, %r4}, {%r5}, {%r1, %r2}";
  if (op == "wmma")
    return w.has("load")    ? r8 + ", [%d1], %r9"
           : w.has("store") ? "[%d1], " + r4 + ", %r9"
                            : r4 + "," + r8 + "," + r8 + "," + r4;
  if (op == "tex") return "{%r1, %r2, %r3, %r4}, [%d1, {%r1, %r2}]";
  if (op == "cvt" || op == "cvta") return reg(t, 1) + ", " + reg(w.type_count() > 1 ? w.type(1) : t, 2);
  if (op == "setp") return "%p1, " + reg(t, 1) + ", " + reg(t, 2);
  if (op == "selp") return reg(t, 1) + ", " + reg(t, 2) + ", " + reg(t, 3) + ", %p1";
  if (op == "bfi") return reg(t, 1) + ", " + reg(t, 2) + ", " + reg(t, 3) + ", %r4, %r5";
  if (op == "shf") return "%r1, %r2, %r3, %r4";
  if (op == "shl" || op == "shr") return reg(t, 1) + ", " + reg(t, 2) + ", %r3";
  const std::string wide = w.has("wide") ? (t.ends_with("32") ? "b64" : "b32") : t;
  static const std::set<std::string> unary = {"mov", "not", "neg", "abs",  "ex2",   "lg2",
                                              "sin", "cos", "rcp", "sqrt", "rsqrt", "tanh"};
  if (unary.contains(op)) return reg(t, 1) + ", " + reg(t, 2);
  const std::string two = reg(wide, 1) + ", " + reg(t, 2) + ", " + reg(t, 3);
  return op == "fma" || op == "mad" ? two + ", " + reg(wide, 4) : two;
}

TEST(forms, every_instruction_of_real_programs_loads) {
  std::ifstream file(HISTOGRAM);
  ASSERT_TRUE(file.good());
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    ++count;
    const std::string wrong = refusal(line + " " + operands_for(line) + ";");
    if (line.starts_with("tex.")) {
      // There are no textures here, and that is said.
      EXPECT_NE(wrong.find("'tex.2d.v4.f32.f32' in k"), std::string::npos) << wrong;
    } else {
      EXPECT_EQ(wrong, "");
    }
  }
  EXPECT_EQ(count, 339u);
}

TEST(forms, what_ptx_does_not_have_is_refused_by_name) {
  const char* const statements[] = {
      "add.ftz.s32 %r1, %r2, %r3",
      "add.sat.u32 %r1, %r2, %r3",
      "add.rn.s32 %r1, %r2, %r3",
      "fma.f32 %f1, %f2, %f3, %f4",
      "fma.rn.s32 %r1, %r2, %r3, %r4",
      "mad.lo.sat.s32 %r1, %r2, %r3, %r4",
      "mul.s32 %r1, %r2, %r3",
      "mul.lo.f32 %f1, %f2, %f3",
      "mul.wide.s64 %d1, %d2, %d3",
      "div.f32 %f1, %f2, %f3",
      "div.approx.f64 %fd1, %fd2, %fd3",
      "sqrt.f32 %f1, %f2",
      "rcp.approx.f64 %fd1, %fd2",
      "ex2.f32 %f1, %f2",
      "ex2.approx.f64 %fd1, %fd2",
      "tanh.approx.ftz.f32 %f1, %f2",
      "and.s32 %r1, %r2, %r3",
      "not.u32 %r1, %r2",
      "shl.u32 %r1, %r2, %r3",
      "shf.l.b32 %r1, %r2, %r3, %r4",
      "popc.u32 %r1, %r2",
      "setp.s32 %p1, %r1, %r2",
      "setp.lo.s32 %p1, %r1, %r2",
      "setp.lt.b32 %p1, %r1, %r2",
      "setp.ltu.s32 %p1, %r1, %r2",
      "setp.ftz.lt.f64 %p1, %fd1, %fd2",
      "selp.pred %p1, %p2, %p3, %p4",
      "cvt.f32.s32 %f1, %r1",
      "cvt.rn.s32.f32 %r1, %f1",
      "cvt.rni.f32.s32 %f1, %r1",
      "cvt.rn.f64.f32 %fd1, %f1",
      "cvt.f32.f64 %f1, %fd1",
      "cvt.sat.u16.u8 %h1, %h2",
      "cvt.rn.e4m3x2.f32 %h1, %f1, %f2",
      "cvt.rn.f16x2.f32 %r1, %f1",
      "min.relu.u32 %r1, %r2, %r3",
      "min.xorsign.f32 %f1, %f2, %f3",
      "min.abs.f32 %f1, %f2, %f3",
      "max.NaN.f64 %fd1, %fd2, %fd3",
      "atom.global.add.f16x2 %r1, [%d1], %r2",
      "atom.global.add.s64 %d1, [%d2], %d3",
      "atom.global.exch.f32 %f1, [%d1], %f2",
      "atom.global.inc.u64 %d1, [%d2], %d3",
      "red.global.exch.b32 [%d1], %r2",
      "ld.global.f16 %h1, [%d1]",
      "ld.shared.v8.b32 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%d1]",
      "ld.global.v3.b32 {%r1,%r2,%r3}, [%d1]",
      "st.global.nc.u32 [%d1], %r1",
      "ld.relaxed.global.u32 %r1, [%d1]",
      "mov.b8 %h1, %h2",
      "add.s32 %r1, %h1, %r3",
      "add.s16 %h1, %r1, %h2",
      "add.f64 %f1, %fd1, %fd2",
      "vote.ballot.b32 %r1, %p1",
      "shfl.up.b32 %r1, %r2, 1, 0",
      "vadd.s32.s32.s32 %r1, %r2, %r3",
      "wgmma.wait_group.sync.aligned 0",
      "tcgen05.fence::before_thread_sync",
      "mapa.shared::cluster.u64 %d1, %d2, %r1",
      "suld.b.1d.b32.trap %r1, [%d1, {%r2}]",
      "multimem.red.global.add.f32 [%d1], %f1",
      "getctarank.u64 %r1, %d1",
      "cp.async.bulk.commit_group",
      "atom.shared::cluster.add.u32 %r1, [%d1], %r2",
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f16 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r3}, {%r1,%r2}",
      "mma.sync.aligned.m16n8k8.col.row.f16.f16.f16.f16 {%r1,%r2}, {%r1,%r2}, {%r3}, {%r1,%r2}"};
  for (const std::string statement : statements) {
    const std::string wrong = refusal(statement + ";");
    EXPECT_NE(wrong.find("line 8"), std::string::npos) << statement << ": " << wrong;
    if (statement.find("_x") == std::string::npos) {
      EXPECT_NE(wrong.find(statement.substr(0, statement.find(' '))), std::string::npos) << wrong;
    }
    EXPECT_NE(wrong.find("in k"), std::string::npos) << wrong;
  }
}

TEST(forms, words_in_another_order_mean_the_same) {
  for (const char* statement : {"fma.ftz.rn.f32 %f1, %f2, %f3, %f4", "setp.ftz.lt.f32 %p1, %f1, %f2",
                                "ld.v2.global.u32 {%r1, %r2}, [%d1]", "vote.ballot.sync.b32 %r1, %p1, -1",
                                "red.add.gpu.relaxed.global.f32 [%d1], %f1"}) {
    EXPECT_EQ(refusal(std::string(statement) + ";"), "");
  }
}

// The last test of the program: what the others ran.
TEST(zzz_tally, at_least_two_thousand_cases_of_six_hundred_instructions) {
  const Tally& t = tally();
  std::printf("conformance: %zu cases of %zu distinct instructions, %zu sets of operands\n", t.cases,
              t.instructions, t.operands);
  if (testing::UnitTest::GetInstance()->test_to_run_count() !=
      testing::UnitTest::GetInstance()->total_test_count()) {
    GTEST_SKIP() << "only some tests were run";
  }
  EXPECT_GE(t.cases, 2000u);
  EXPECT_GE(t.instructions, 600u);
}

}  // namespace
}  // namespace refrain::conformance
