// One kernel's analysis has an end, whatever the kernel: huge generated ones are given up in time, with a
// reason, and what is merely long is not.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>

#include "access/access.hpp"
#include "access/whole_overwrite.hpp"

namespace refrain::access {
namespace {

#ifdef REFRAIN_CHECK_INVARIANTS
constexpr double kSlower = 20;  // debug and sanitised builds
#else
constexpr double kSlower = 1;
#endif
constexpr double kMostSeconds = 1 * kSlower;
constexpr double kMostMiB = 200 * kSlower;

struct Cost {
  KernelAccess access;
  bool has_slice = false;
  double seconds = 0;
};

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Cost cost_of(const std::string& text) {
  const ptx::Module module = ptx::parse(text);
  const double begin = thread_seconds();
  Cost cost;
  cost.access = analyse(module, *module.find_function("k"));
  std::vector<std::uint32_t> offsets;
  for (const PointerAccess& pointer : cost.access.pointers) offsets.push_back(pointer.offset_bytes);
  const auto slice = slice_of(module, *module.find_function("k"), offsets);
  cost.has_slice = slice.has_value();
  if (slice) whole_overwrites(*slice);
  cost.seconds = thread_seconds() - begin;
  return cost;
}

// Loops of 100 instructions in which all pointers get into all address registers, one after the other.
std::string generated(int instructions, int pointers) {
  std::string text = ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k(";
  for (int i = 0; i < pointers; ++i) text += fmt::format("{}.param .u64 p{}", i == 0 ? "" : ", ", i);
  constexpr int kInLoop = 100;
  const int loops = instructions / kInLoop;
  text += fmt::format(") {{\n.reg .b64 %a<{0}>; .reg .b32 %r<9>; .reg .pred %p<9>;\nmov.u32 %r1, %tid.x;\n",
                      instructions);
  for (int i = 0; i < pointers; ++i)
    text += fmt::format("ld.param.u64 %a{0}, [p{0}]; cvta.to.global.u64 %a{0}, %a{0};\n", i);
  for (int loop = 0; loop < loops; ++loop) {
    text += fmt::format("loop{}:\n", loop);
    for (int i = 0; i < kInLoop - 4; ++i) {
      const int to = loop * kInLoop + i;
      // Against the order of the text: each pass of the fixed point moves a set by one register only.
      text += fmt::format("selp.b64 %a{}, %a{}, %a{}, %p1;\n", to, (to + 1) % instructions,
                          (to * 7 + 1) % instructions);
    }
    text += fmt::format("ld.global.u32 %r2, [%a{0}]; st.global.u32 [%a{0}], %r2;\n", loop * kInLoop);
    text += fmt::format("setp.lt.u32 %p1, %r2, {}; @%p1 bra loop{};\n", loop, loop);
  }
  return text + "ret; }\n";
}

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

TEST(cost, a_huge_kernel_is_given_up_in_time) {
  const std::string text = generated(200'000, 400);
  const double module_mib = [&] {
    const ptx::Module module = ptx::parse(text);
    return peak_mib();
  }();
  const Cost cost = cost_of(text);
  EXPECT_EQ(cost.access.effects, static_cast<std::uint32_t>(kTooLarge));
  EXPECT_FALSE(cost.access.bounded());
  EXPECT_FALSE(cost.access.replayable());
  EXPECT_TRUE(cost.access.pointers.empty());
  EXPECT_NE(cost.access.reason.find("too large to be analysed"), std::string::npos) << cost.access.reason;
  EXPECT_FALSE(cost.has_slice);
  EXPECT_LT(cost.seconds, kMostSeconds);
  EXPECT_LT(peak_mib() - module_mib, kMostMiB);
}

TEST(cost, a_long_kernel_is_analysed) {
  const Cost cost = cost_of(generated(20'000, 8));
  EXPECT_EQ(cost.access.effects, static_cast<std::uint32_t>(kNoEffect)) << cost.access.reason;
  EXPECT_EQ(cost.access.pointers.size(), 8u);
  EXPECT_LT(cost.seconds, kMostSeconds);
}

// Branches forward and backward over each other, and ways out of every third block.
TEST(cost, a_thicket_of_branches_has_an_end) {
  constexpr int kBlocks = 20'000;
  std::string text =
      ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
      ".reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<9>;\n"
      "ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd1, %rd1; ld.global.u32 %r1, [%rd1];\n";
  for (int i = 0; i < kBlocks; ++i) {
    text += fmt::format("setp.eq.u32 %p1, %r1, {0}; @%p1 {1};\nto{0}: st.global.u32 [%rd1+{0}], %r1;\n", i,
                        i % 3 == 0 ? "ret" : fmt::format("bra to{}", (i * 7919) % kBlocks));
  }
  const Cost cost = cost_of(text + "ret; }\n");
  EXPECT_EQ(cost.access.pointers.size(), 1u);
  EXPECT_LT(cost.seconds, kMostSeconds);
}

// Each call brings all registers of the function anew.
TEST(cost, what_calls_inline_is_counted) {
  std::string text =
      ".version 9.0\n.target sm_75\n.address_size 64\n.func f(.param .b64 x) {\n.reg .b64 %rd<50000>;\n"
      "ld.param.b64 %rd1, [x]; ret; }\n"
      ".visible .entry k(.param .u64 p) {\n.reg .b64 %rd<9>;\n"
      "ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd1, %rd1; st.global.u32 [%rd1], 1;\n";
  for (int i = 0; i < 1'000; ++i) text += "{ .param .b64 a; st.param.b64 [a], %rd1; call.uni f, (a); }\n";
  const Cost cost = cost_of(text + "ret; }\n");
  EXPECT_TRUE(cost.access.bounded()) << cost.access.reason;
  EXPECT_FALSE(cost.has_slice);
  EXPECT_LT(cost.seconds, kMostSeconds);
}

}  // namespace
}  // namespace refrain::access
