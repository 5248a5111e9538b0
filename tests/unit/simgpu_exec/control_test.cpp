// Divergence, reconvergence, barriers, exits, calls and memory spaces in hand-written PTX.
// Each kernel writes one word for each thread.
#include "harness.hpp"

namespace refrain::simgpu {
namespace {

std::vector<std::uint32_t> run(const std::string& body, std::uint32_t threads,
                               const std::string& declarations = "", std::uint32_t dynamic_shared = 0) {
  TestDevice device(
      kPtxHead + declarations +
      ".visible .entry k(.param .u64 out) {\n.reg .b64 %rd<19>; .reg .b32 %r<19>; .reg .pred %p<9>;\n"
      "mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; ld.param.u64 %rd1, [out]; add.s64 %rd1, %rd1, "
      "%rd2;\n" +
      body + "\nst.global.u32 [%rd1], %r2;\nret;\n}\n");
  const DeviceAddress out = device.upload(std::vector<std::uint32_t>(threads, 0xabcd));
  device.launch("k", shape_of(1, threads, dynamic_shared), out);
  return device.download<std::uint32_t>(out, threads);
}

TEST(control, lanes_meet_again_after_both_ways) {
  // The far way comes after the meeting place in the text.
  const auto got =
      run("and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 1; @%p1 bra Far; mov.u32 %r4, 7;\n"
          "Join: activemask.b32 %r2; bra End;\nFar: mov.u32 %r4, 9; bra Join;\nEnd: add.u32 %r2, %r2, %r4;",
          32);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], 0xffffffffu + (i % 2 != 0 ? 9 : 7)) << i;
}

TEST(control, lanes_meet_again_after_a_loop_with_a_break_inside) {
  const auto got =
      run("mov.u32 %r4, 0;\nLoop: setp.eq.u32 %p1, %r4, %r1; @%p1 bra Out; add.u32 %r4, %r4, 1; and.b32 %r5, "
          "%r4, 3;\n"
          "setp.eq.u32 %p2, %r5, 0; @%p2 bra Skip; setp.gt.u32 %p3, %r4, 20; @%p3 bra Out;\nSkip: bra Loop;\n"
          "Out: activemask.b32 %r2; shl.b32 %r4, %r4, 0; xor.b32 %r2, %r2, %r4;",
          32);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], 0xffffffffu ^ std::min(i, 21u)) << i;
}

TEST(control, lanes_that_exit_are_not_waited_for) {
  const auto got =
      run("setp.lt.u32 %p1, %r1, 40; @!%p1 exit; setp.lt.u32 %p2, %r1, 10; @%p2 bra L; barrier.sync 0;\n"
          "L: @%p2 barrier.sync 0; mov.u32 %r2, 5;",
          64);
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(got[i], i < 40 ? 5u : 0xabcdu) << i;
}

TEST(control, member_masks_bring_lanes_together) {
  // Lanes 0 and 1 take different ways and exchange at one shuffle that the others never reach.
  const auto got =
      run("mov.u32 %r2, %r1; setp.gt.u32 %p1, %r1, 1; @%p1 bra End; setp.eq.u32 %p2, %r1, 0; @%p2 bra A; "
          "mov.u32 %r2, 100; bra X;\n"
          "A: mov.u32 %r2, 200;\nX: shfl.sync.bfly.b32 %r2, %r2, 1, 31, 3;\nEnd:",
          32);
  EXPECT_EQ(got[0], 100u);
  EXPECT_EQ(got[1], 200u);
  EXPECT_EQ(got[5], 5u);
}

TEST(control, shuffles_within_segments) {
  const auto expect = [](const std::string& mode, const std::string& b, const std::string& c,
                         auto reference) {
    const auto got = run(
        "shfl.sync." + mode + ".b32 %r2|%p1, %r1, " + b + ", " + c + ", -1; @!%p1 add.u32 %r2, %r2, 1000;",
        32);
    for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], reference(i)) << mode << ' ' << i;
  };
  expect("up", "1", "0", [](std::uint32_t i) { return i >= 1 ? i - 1 : i + 1000; });
  expect("down", "3", "31", [](std::uint32_t i) { return i + 3 < 32 ? i + 3 : i + 1000; });
  // Segments of eight lanes: mask 24 in bits 8-12.
  expect("down", "2", "0x181f", [](std::uint32_t i) { return i % 8 < 6 ? i + 2 : i + 1000; });
  expect("up", "2", "0x1800", [](std::uint32_t i) { return i % 8 >= 2 ? i - 2 : i + 1000; });
  expect("idx", "5", "0x181f", [](std::uint32_t i) { return i / 8 * 8 + 5; });
  expect("bfly", "16", "0x1f", [](std::uint32_t i) { return i ^ 16; });
}

TEST(control, a_lane_or_warp_that_is_waited_for_gets_its_turn) {
  // Everyone spins at a low place until thread `writer` has been to a higher one.
  for (const std::string writer : {"0", "31", "63"}) {
    const auto got =
        run("setp.eq.u32 %p1, %r1, " + writer +
                "; @%p1 bra Write;\nSpin: ld.volatile.shared.u32 %r2, [flag]; setp.eq.u32 %p2, %r2, 0; "
                "@%p2 bra Spin; bra End;\nWrite: mov.u32 %r2, 9; st.volatile.shared.u32 [flag], %r2;\nEnd:",
            64, ".shared .align 4 .b8 flag[4];\n");
    for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(got[i], 9u) << writer << ' ' << i;
  }
}

// A race that no real device loses: after the barrier everyone reads at once, and the first warp writes again
// only after a loop.
TEST(control, warps_leave_a_barrier_together) {
  const auto got =
      run(".shared .align 4 .b8 word[4];\n"
          "setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [word], 5; bar.sync 0;\n"
          "ld.shared.u32 %r2, [word]; mov.u32 %r4, 0;\n"
          "Loop: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 60; @%p2 bra Loop;\n"
          "@%p1 st.shared.u32 [word], 9;",
          256);
  for (std::uint32_t i = 0; i < 256; ++i) EXPECT_EQ(got[i], 5u) << i;
}

// Short turns of a warp do not part its lanes: they meet after a loop.
TEST(control, lanes_meet_again_while_warps_take_short_turns) {
  const auto got =
      run(".shared .align 4 .b8 word[4];\n"
          "mov.u32 %r4, 0;\n"
          "Loop: add.u32 %r4, %r4, 1; setp.le.u32 %p2, %r4, %r1; @%p2 bra Loop;\n"
          "activemask.b32 %r2; bar.sync 0;",
          256);
  for (std::uint32_t i = 0; i < 256; ++i) EXPECT_EQ(got[i], 0xffffffffu) << i;
}

TEST(control, calls_diverge_and_return) {
  const std::string functions =
      ".func (.param .b32 r) square(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; mul.lo.u32 %a, %a, "
      "%a; st.param.b32 [r], %a; ret; }\n"
      ".func (.param .b32 r) down(.param .b32 x) { .reg .b32 %a<4>; .reg .pred %p; .param .b32 arg; .param "
      ".b32 res;\n"
      "ld.param.b32 %a1, [x]; setp.eq.u32 %p, %a1, 0; @%p bra Zero; sub.u32 %a2, %a1, 1; st.param.b32 [arg], "
      "%a2;\n"
      "call.uni (res), down, (arg); ld.param.b32 %a3, [res]; add.u32 %a3, %a3, %a1; st.param.b32 [r], %a3; "
      "ret;\n"
      "Zero: st.param.b32 [r], 0; ret; }\n";
  const auto got =
      run("{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; setp.lt.u32 %p1, %r1, 16;\n"
          "@%p1 bra L; call (b), square, (a); bra M;\nL: call (b), down, (a);\nM: ld.param.b32 %r2, [b]; }",
          32, functions);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], i < 16 ? i * (i + 1) / 2 : i * i) << i;
}

TEST(memory, generic_addresses_find_their_space) {
  const auto got =
      run(".shared .align 4 .b8 s[256]; .local .align 4 .b8 l[16];\n"
          "mov.u64 %rd3, s; cvta.shared.u64 %rd4, %rd3; add.s64 %rd4, %rd4, %rd2; st.u32 [%rd4], %r1;\n"
          "mov.u64 %rd5, l; cvta.local.u64 %rd6, %rd5; add.u32 %r3, %r1, 50; st.u32 [%rd6+8], %r3; "
          "ld.local.u32 %r4, [l+8];\n"
          "bar.sync 0; cvta.to.shared.u64 %rd7, %rd4; xor.b64 %rd7, %rd7, 4; ld.shared.u32 %r5, [%rd7];\n"
          "isspacep.shared %p1, %rd4; isspacep.global %p2, %rd1; isspacep.local %p3, %rd6;\n"
          "mov.u32 %r2, 0; @%p1 add.u32 %r2, %r2, 1000; @%p2 add.u32 %r2, %r2, 2000; @%p3 add.u32 %r2, %r2, "
          "4000;\n"
          "add.u32 %r2, %r2, %r4; mad.lo.u32 %r2, %r5, 10000, %r2;",
          32);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], (i ^ 1) * 10000 + 7000 + i + 50) << i;
}

TEST(memory, vectors_bytes_and_signs) {
  const auto got =
      run("mov.u64 %rd3, data; ld.global.v2.u32 {%r3, %r4}, [%rd3+8]; ld.global.s8 %r5, [%rd3+3]; "
          "ld.global.u8 %r6, [%rd3+3];\n"
          "ld.global.s16 %r7, [data+2]; add.u32 %r2, %r3, %r4; add.u32 %r2, %r2, %r5; add.u32 %r2, %r2, %r6; "
          "add.u32 %r2, %r2, %r7;",
          1, ".global .align 16 .b8 data[16] = {1, 2, 3, 0xf0, 5, 6, 7, 8, 1, 0, 0, 0, 2, 0, 0, 0};\n");
  EXPECT_EQ(got[0], 1u + 2u + 0xfffffff0u + 0xf0u + 0xfffff003u);
}

TEST(memory, dynamic_shared_follows_the_static) {
  const auto got =
      run(".shared .align 4 .b8 fixed[12]; st.shared.u32 [dyn+4], 77; st.shared.u32 [fixed+8], 5; "
          "ld.shared.u32 %r3, [dyn+4];\n"
          "mov.u32 %r4, dyn; add.u32 %r2, %r3, %r4; mov.u32 %r5, %dynamic_smem_size; add.u32 %r2, %r2, %r5;",
          1, ".extern .shared .align 16 .b8 dyn[];\n", 64);
  EXPECT_EQ(got[0], 77u + 16u + 64u);
}

TEST(special, threads_know_where_they_are) {
  TestDevice device(
      kPtxHead +
      ".visible .entry k(.param .u64 out) { .reg .b64 %rd<4>; .reg .b32 %r<19>;\n"
      "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mov.u32 %r4, %ctaid.x; mov.u32 %r5, "
      "%ctaid.y;\n"
      "mov.u32 %r6, %nctaid.x; mov.u32 %r7, %ntid.x; mov.u32 %r8, %ntid.y; mov.u32 %r9, %ntid.z; mov.u32 "
      "%r10, %laneid;\n"
      "mad.lo.u32 %r11, %r3, %r8, %r2; mad.lo.u32 %r11, %r11, %r7, %r1; mad.lo.u32 %r12, %r5, %r6, %r4;\n"
      "mul.lo.u32 %r13, %r7, %r8; mul.lo.u32 %r13, %r13, %r9; mad.lo.u32 %r14, %r12, %r13, %r11;\n"
      "ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r14, 4; add.s64 %rd1, %rd1, %rd2;\n"
      "shl.b32 %r10, %r10, 16; or.b32 %r14, %r14, %r10; st.global.u32 [%rd1], %r14; ret; }\n");
  const DeviceAddress out = device.upload(std::vector<std::uint32_t>(6 * 60));
  device.launch("k", {{3, 2, 1}, {5, 4, 3}, 0}, out);
  const auto got = device.download<std::uint32_t>(out, 6 * 60);
  for (std::uint32_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], i | ((i % 60 % 32) << 16)) << i;
}

TEST(special, clocks_advance_and_start_where_they_are_told) {
  const auto got =
      run("mov.u64 %rd3, %globaltimer; mov.u64 %rd4, %clock64; sub.u64 %rd5, %rd4, %rd3; cvt.u32.u64 %r2, "
          "%rd5; cvt.u32.u64 %r3, %rd3; shl.b32 %r3, %r3, 8; or.b32 %r2, %r2, %r3;",
          1);
  EXPECT_EQ(got[0] & 0xff, 1u);
  EXPECT_GE(got[0] >> 8, 1000u);
  EXPECT_LT(got[0] >> 8, 1020u);
}

TEST(atomic, old_values_come_back_in_lane_order) {
  const auto got = run(
      "atom.shared.add.u32 %r2, [c], 2; atom.shared.inc.u32 %r3, [c+4], 9; mad.lo.u32 %r2, %r3, 1000, %r2;",
      32, ".shared .align 4 .b8 c[8];\n");
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], 2 * i + 1000 * (i % 10)) << i;
}

TEST(load_hash, functions_that_no_kernel_calls_may_hold_anything) {
  AddressSpace memory({1u << 20, 4096});
  EXPECT_NO_THROW(load_module(kPtxHead + ".func unused() { tex.2d.v4.f32.f32 {_, _, _, _}, [0, {0, 0}]; ret; "
                                         "}\n.visible .entry k() { ret; }\n",
                              memory));
}

}  // namespace
}  // namespace refrain::simgpu
