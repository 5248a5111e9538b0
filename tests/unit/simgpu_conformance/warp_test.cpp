// What lanes of a warp exchange: shuffles, votes, matches, reductions, elections, and which lanes are there.
#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "operation.hpp"
#include "tests/unit/simgpu_exec/harness.hpp"

namespace refrain::conformance {
namespace {

using simgpu::kPtxHead;
using simgpu::shape_of;
using simgpu::TestDevice;
using Word = std::uint32_t;
using Lanes = std::vector<Word>;

struct Result {
  Lanes d;
  Lanes p;
};

// One warp; lanes without a bit in `lanes` do not take part. %r1 and %r2 come from memory, %r3 and %p3 are
// the results.
Result run(const std::string& instruction, const Lanes& a, const Lanes& b, Word lanes = 0xffffffff) {
  TestDevice device(
      ".version 9.0\n.target sm_100a\n.address_size 64\n"
      ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 d, .param .u64 p, .param .u32 lanes) {\n"
      ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %x<9>;\n"
      "mov.u32 %r5, %tid.x; mul.wide.u32 %x5, %r5, 4;\n"
      "ld.param.u64 %x1, [a]; ld.param.u64 %x2, [b]; ld.param.u64 %x3, [d]; ld.param.u64 %x4, [p]; "
      "ld.param.u32 %r6, [lanes];\n"
      "add.u64 %x1, %x1, %x5; add.u64 %x2, %x2, %x5; add.u64 %x3, %x3, %x5; add.u64 %x4, %x4, %x5;\n"
      "ld.global.u32 %r1, [%x1]; ld.global.u32 %r2, [%x2]; mov.u32 %r3, 0xdead; setp.ne.u32 %p1, %r1, 0; "
      "mov.b32 %f1, %r1;\n"
      "mov.b64 %x6, {%r1, %r2}; setp.ne.u32 %p3, %r5, %r5; mov.b32 %f3, 0f00000000;\n"
      "shr.u32 %r7, %r6, %r5; and.b32 %r7, %r7, 1; setp.eq.u32 %p2, %r7, 0; @%p2 exit;\n" +
      instruction +
      "\nst.global.u32 [%x3], %r3; selp.u32 %r7, 1, 0, %p3; st.global.u32 [%x4], %r7; ret; }\n");
  const auto d = device.upload(Lanes(32, 0)), p = device.upload(Lanes(32, 0));
  device.launch("k", shape_of(1, 32), device.upload(a), device.upload(b), d, p, lanes);
  return {device.download<Word>(d, 32), device.download<Word>(p, 32)};
}

Lanes random_lanes(unsigned seed, Word below = 0) {
  std::mt19937 random(seed);
  Lanes lanes(32);
  for (Word& lane : lanes) lane = below == 0 ? random() : random() % below;
  return lanes;
}

// PTX ISA, shfl.sync: written from its pseudocode.
void expect_shuffle(const std::string& mode, int by, int clamp, int segment_mask) {
  const Lanes a = random_lanes(1);
  const Result got = run(
      fmt::format("shfl.sync.{}.b32 %r3|%p3, %r1, {}, {}, 0xffffffff;", mode, by, segment_mask << 8 | clamp),
      a, a);
  for (int lane = 0; lane < 32; ++lane) {
    const int max_lane = (lane & segment_mask) | (clamp & ~segment_mask);
    const int min_lane = lane & segment_mask;
    int j = 0;
    bool valid = false;
    if (mode == "up") {
      j = lane - by;
      valid = j >= max_lane;
    } else if (mode == "down") {
      j = lane + by;
      valid = j <= max_lane;
    } else if (mode == "bfly") {
      j = lane ^ by;
      valid = j <= max_lane;
    } else {
      j = min_lane | (by & ~segment_mask);
      valid = j <= max_lane;
    }
    ASSERT_EQ(got.d[lane], a[valid ? j : lane])
        << mode << ' ' << by << ' ' << clamp << ' ' << segment_mask << " lane " << lane;
    ASSERT_EQ(got.p[lane], valid ? 1u : 0u) << mode << ' ' << by << " lane " << lane;
  }
}

TEST(warp, shuffles_of_every_mode_and_width) {
  for (const int width : {32, 16, 8, 4, 2, 1}) {
    const int segment = (32 - width) & 31;
    for (const int by : {0, 1, 2, 3, 5, 8, 16, 31}) {
      expect_shuffle("up", by, 0, segment);
      expect_shuffle("down", by, 31, segment);
      expect_shuffle("bfly", by, 31, segment);
      expect_shuffle("idx", by, 31, segment);
      expect_shuffle("down", by, 20, segment);
    }
  }
}

TEST(warp, votes_and_ballots) {
  for (const Word members : {0xffffffffu, 0x0000ffffu, 0x80000001u, 0x12345678u}) {
    for (const Word below : {1u, 2u, 40u}) {
      const Lanes a = random_lanes(members, below);
      Word truth = 0;
      for (int i = 0; i < 32; ++i) truth |= (a[i] != 0 ? 1u : 0u) << i;
      truth &= members;
      const auto predicate = [&](const char* mode, const char* operand) {
        return run(fmt::format("vote.sync.{}.pred %p3, {}, {};", mode, operand, members), a, a, members);
      };
      const Result all = predicate("all", "%p1"), any = predicate("any", "%p1"),
                   uni = predicate("uni", "%p1"), none = predicate("all", "!%p1");
      const Result ballot = run(fmt::format("vote.sync.ballot.b32 %r3, %p1, {};", members), a, a, members);
      for (int lane = 0; lane < 32; ++lane) {
        if ((members >> lane & 1) == 0) continue;
        EXPECT_EQ(all.p[lane], truth == members ? 1u : 0u);
        EXPECT_EQ(any.p[lane], truth != 0 ? 1u : 0u);
        EXPECT_EQ(uni.p[lane], truth == members || truth == 0 ? 1u : 0u);
        EXPECT_EQ(none.p[lane], truth == 0 ? 1u : 0u);
        EXPECT_EQ(ballot.d[lane], truth);
      }
    }
  }
}

TEST(warp, matches) {
  for (const Word members : {0xffffffffu, 0x00ff00ffu}) {
    for (const Word below : {1u, 3u}) {
      const Lanes a = random_lanes(7, below), b = random_lanes(8, below);
      const Result any = run(fmt::format("match.any.sync.b32 %r3, %r1, {};", members), a, b, members);
      const Result any64 = run(fmt::format("match.any.sync.b64 %r3, %x6, {};", members), a, b, members);
      const Result all = run(fmt::format("match.all.sync.b32 %r3|%p3, %r1, {};", members), a, b, members);
      for (int lane = 0; lane < 32; ++lane) {
        if ((members >> lane & 1) == 0) continue;
        Word same = 0, same64 = 0;
        for (int other = 0; other < 32; ++other) {
          if ((members >> other & 1) == 0) continue;
          if (a[other] == a[lane]) same |= 1u << other;
          if (a[other] == a[lane] && b[other] == b[lane]) same64 |= 1u << other;
        }
        EXPECT_EQ(any.d[lane], same);
        EXPECT_EQ(any64.d[lane], same64);
        EXPECT_EQ(all.d[lane], same == members ? members : 0u);
        EXPECT_EQ(all.p[lane], same == members ? 1u : 0u);
      }
    }
  }
}

TEST(warp, reductions) {
  const std::pair<const char*, std::function<Word(Word, Word)>> cases[] = {
      {"add.u32", [](Word x, Word y) { return x + y; }},
      {"add.s32", [](Word x, Word y) { return x + y; }},
      {"min.u32", [](Word x, Word y) { return std::min(x, y); }},
      {"max.u32", [](Word x, Word y) { return std::max(x, y); }},
      {"min.s32",
       [](Word x, Word y) { return static_cast<Word>(std::min(static_cast<int>(x), static_cast<int>(y))); }},
      {"max.s32",
       [](Word x, Word y) { return static_cast<Word>(std::max(static_cast<int>(x), static_cast<int>(y))); }},
      {"and.b32", [](Word x, Word y) { return x & y; }},
      {"or.b32", [](Word x, Word y) { return x | y; }},
      {"xor.b32", [](Word x, Word y) { return x ^ y; }}};
  for (const Word members : {0xffffffffu, 0x0f0f0f0fu}) {
    const Lanes a = random_lanes(3);
    for (const auto& [name, f] : cases) {
      const Result got = run(fmt::format("redux.sync.{} %r3, %r1, {};", name, members), a, a, members);
      const int first = std::countr_zero(members);
      Word want = a[first];
      for (int i = first + 1; i < 32; ++i) want = (members >> i & 1) != 0 ? f(want, a[i]) : want;
      for (int i = 0; i < 32; ++i) {
        EXPECT_EQ(got.d[i], (members >> i & 1) != 0 ? want : 0u) << name;
      }
    }
  }
}

TEST(warp, reductions_of_f32) {
  Lanes a(32);
  for (int i = 0; i < 32; ++i) a[i] = std::bit_cast<Word>(static_cast<float>((i * 7) % 32) - 20.5f);
  const auto of = [&](const char* words) {
    return run(fmt::format("redux.sync.{}.f32 %f3, %f1, 0xffffffff; mov.b32 %r3, %f3;", words), a, a).d[5];
  };
  const auto bits = [](float x) { return std::bit_cast<Word>(x); };
  EXPECT_EQ(of("min"), bits(-20.5f));
  EXPECT_EQ(of("max"), bits(10.5f));
  EXPECT_EQ(of("max.abs"), bits(20.5f));
  EXPECT_EQ(of("min.abs"), bits(0.5f));
  a[10] = 0x7fc00001;
  EXPECT_EQ(of("max"), bits(10.5f));
  EXPECT_EQ(of("max.NaN"), 0x7fffffffu);
}

TEST(warp, elections_and_active_lanes) {
  const Lanes a(32, 0);
  for (const Word members : {0xffffffffu, 0xfffffff0u, 0x80000000u}) {
    const Result got = run(fmt::format("elect.sync %r3|%p3, {};", members), a, a, members);
    const Result active = run("activemask.b32 %r3;", a, a, members);
    for (int i = 0; i < 32; ++i) {
      if ((members >> i & 1) == 0) continue;
      EXPECT_EQ(got.d[i], static_cast<Word>(std::countr_zero(members)));
      EXPECT_EQ(got.p[i], i == std::countr_zero(members) ? 1u : 0u);
      EXPECT_EQ(active.d[i], members);
    }
  }
}

TEST(warp, special_registers) {
  const Lanes a(32, 0);
  const auto value = [&](const std::string& name, const char* type = "u32") {
    return run(type == std::string("u64") ? "mov.u64 %x6, " + name + "; cvt.u32.u64 %r3, %x6;"
                                          : "mov.u32 %r3, " + name + ";",
               a, a)
        .d;
  };
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(value("%laneid")[i], static_cast<Word>(i));
    EXPECT_EQ(value("%tid.x")[i], static_cast<Word>(i));
    EXPECT_EQ(value("%lanemask_eq")[i], 1u << i);
    EXPECT_EQ(value("%lanemask_lt")[i], (1u << i) - 1);
    EXPECT_EQ(value("%lanemask_le")[i], (2u << i) - 1);
    EXPECT_EQ(value("%lanemask_ge")[i], ~((1u << i) - 1));
    EXPECT_EQ(value("%lanemask_gt")[i], ~((2u << i) - 1));
  }
  for (const char* one :
       {"%ntid.y", "%nctaid.x", "%cluster_nctaid.x", "%cluster_nctarank", "%nclusterid.x", "%nsmid"}) {
    EXPECT_EQ(value(one)[3], 1u) << one;
  }
  for (const char* zero :
       {"%tid.z", "%ctaid.y", "%cluster_ctaid.x", "%cluster_ctarank", "%clusterid.x", "%envreg0", "%envreg31",
        "%pm0", "%pm7", "%smid", "%dynamic_smem_size", "%total_smem_size", "%aggr_smem_size",
        "%reserved_smem_offset_begin", "%reserved_smem_offset_1"}) {
    EXPECT_EQ(value(zero)[3], 0u) << zero;
  }
  for (const char* wide : {"%gridid", "%pm3_64", "%current_graph_exec"})
    EXPECT_EQ(value(wide, "u64")[0], 0u) << wide;
  EXPECT_EQ(run("mov.pred %p3, %is_explicit_cluster;", a, a).p[0], 0u);
  // Clocks go on.
  const Result clocks =
      run("mov.u32 %r3, %clock; mov.u64 %x6, %globaltimer; mov.u32 %r4, %clock; setp.gt.u32 %p3, %r4, %r3;",
          a, a);
  EXPECT_EQ(clocks.p[0], 1u);
  const Result timers =
      run("mov.u32 %r3, %globaltimer_lo; mov.u32 %r4, %clock_hi; mov.u64 %x6, %clock64; mov.u32 %r4, "
          "%globaltimer_hi;",
          a, a);
  EXPECT_GE(timers.d[0], 1000u);
}

}  // namespace
}  // namespace refrain::conformance
