// Recordings as SIMGPU_ACCESSES writes them: read as they are, and wrong predictions found in them.
#include "recording.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace refrain::access::test {
namespace {

using nlohmann::json;

// Writes p[0] only.
constexpr char kPtx[] =
    ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q) { .reg "
    ".b64 "
    "%rd<3>; ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd2, %rd1; st.global.u32 [%rd2], 1; ret; }\n";

// p = 0x1000, q = 0x2000, in allocations of 64 bytes.
json launch() {
  return {{"kernel", "k"},
          {"grid", {1, 1, 1}},
          {"block", {1, 1, 1}},
          {"shared", 0},
          {"module", "m"},
          {"params", "00100000000000000020000000000000"},
          {"allocations", {{0x1000, 64}, {0x2000, 64}}},
          {"variables", json::array()},
          {"reads", json::array()},
          {"writes", {{0x1000, 4}}}};
}

struct Result {
  Score score;
  RecordingCounts counts;
};
Result read(const std::vector<json>& launches) {
  std::stringstream file;
  file << json{{"module", "m"}, {"ptx", kPtx}}.dump() << '\n';
  for (const json& line : launches) file << line.dump() << '\n';
  Result out;
  out.counts = read_recording(file, [&](const RecordedLaunch& recorded) {
    check(recorded.prediction, recorded.truth, recorded.kernel, out.score);
  });
  return out;
}

TEST(recording, of_what_the_kernel_does_is_right) {
  const Result result = read({launch(), launch()});
  EXPECT_EQ(result.score.launches, 2u);
  EXPECT_EQ(result.score.violations, 0u) << result.score.messages[0];
}

TEST(recording, of_what_the_kernel_cannot_do_is_a_violation) {
  json other = launch();
  other["writes"] = {{0x1000, 4}, {0x2000, 4}};
  EXPECT_EQ(read({launch(), other}).score.violations, 1u);
  other = launch();
  other["reads"] = {{0x2000, 4}};
  EXPECT_EQ(read({launch(), other}).score.violations, 1u);
}

// Writes p[q[0]].
constexpr char kIndexed[] =
    ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q) { .reg "
    ".b64 %rd<9>; .reg .b32 %r<3>; ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; cvta.to.global.u64 %rd3, "
    "%rd1; "
    "cvta.to.global.u64 %rd4, %rd2; ld.global.u32 %r1, [%rd4]; mul.wide.s32 %rd5, %r1, 4; add.s64 %rd6, "
    "%rd3, %rd5; "
    "st.global.u32 [%rd6], 1; ret; }\n";

TEST(recording, tells_what_memory_held) {
  json line = launch();
  line["reads"] = {{0x2000, 4}};
  line["writes"] = {{0x100c, 4}};
  const auto writes = [](const json& launched) {
    std::stringstream file;
    file << json{{"module", "m"}, {"ptx", kIndexed}}.dump() << '\n' << launched.dump() << '\n';
    Ranges out;
    read_recording(file, [&](const RecordedLaunch& recorded) {
      if (recorded.informed != nullptr) out = recorded.informed->pointers.at(0).writes;
      EXPECT_TRUE(recorded.prediction.pointers.at(0).writes_anywhere);
    });
    return out;
  };
  EXPECT_TRUE(writes(line).empty());
  line["held"] = json::array({json::array({0x2000, "03000000"})});
  const Ranges known = writes(line);
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].begin, 0x100cu);
  EXPECT_EQ(known[0].end, 0x1010u);
}

TEST(recording, counts_library_kernels_and_variables) {
  json native = launch(), variable = launch();
  native["native"] = true;
  native.erase("module");
  variable["variables"] = {{{"base", 0x9000}, {"bytes", 4}, {"name", "v"}, {"constant", false}}};
  variable["reads"] = {{0x9000, 4}};
  const Result result = read({native, variable});
  EXPECT_EQ(result.counts.native, 1u);
  EXPECT_EQ(result.counts.variables, 1u);
  EXPECT_EQ(result.score.launches, 1u);
  EXPECT_EQ(result.score.violations, 0u) << result.score.messages[0];
}

TEST(recording, that_is_broken_is_told_with_its_line) {
  json other = launch();
  other.erase("params");
  try {
    read({launch(), other});
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_EQ(std::string(error.what()).substr(0, 7), "line 3:") << error.what();
  }
}

}  // namespace
}  // namespace refrain::access::test
