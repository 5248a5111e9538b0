// What the analysis says of kernels whose accesses a reader can see, compiled by nvcc with and without
// optimisation, and of hand-written PTX at the edges of what it understands.
#include "access/access.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

namespace refrain::access {
namespace {

ptx::Module module_of(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  return ptx::parse(std::string{std::istreambuf_iterator<char>(file), {}});
}

KernelAccess of(const ptx::Module& module, const std::string& name) {
  const ptx::Function* kernel = module.find_function(name);
  EXPECT_NE(kernel, nullptr) << name;
  return kernel != nullptr ? analyse(module, *kernel) : KernelAccess{};
}

// "0:r 8:w 16:rw 24:rwa"
std::string shown(const KernelAccess& access) {
  std::string text;
  for (const PointerAccess& pointer : access.pointers) {
    text += fmt::format("{}{}:{}{}{}", text.empty() ? "" : " ", pointer.offset_bytes, pointer.read ? "r" : "",
                        pointer.written ? "w" : "", pointer.atomic ? "a" : "");
  }
  return text;
}

struct Expected {
  const char* kernel;
  const char* pointers;
  std::uint32_t effects;
};

// What the source says. For every kernel the facts of the optimised code must be exactly these.
const Expected kExpected[] = {
    {"elementwise", "0:r 8:r 16:w", kNoEffect},
    {"in_place", "0:rw", kNoEffect},
    {"restricted", "0:r 8:w", kNoEffect},
    {"by_struct", "8:r 16:w", kNoEffect},
    {"either", "0:w 8:r 16:r", kNoEffect},
    {"walking", "0:r 8:w", kNoEffect},
    {"through_functions", "0:r 8:w", kNoEffect},
    {"returned_pointer", "0:r 8:r 16:w", kNoEffect},
    {"recursive", "0:r 8:w", kNoEffect},
    {"table_of_pointers", "0:r 8:w", kIndirectPointer},
    {"pointer_through_shared", "8:w", kIndirectPointer},
    {"values_through_shared", "0:r 8:w", kNoEffect},
    {"add_float", "0:rwa 8:r", kFloatAtomics},
    {"count", "0:rwa 8:r", kNoEffect},
    {"ticket", "0:rwa 8:w", kIntegerAtomics},
    {"exchange", "0:rwa", kIntegerAtomics},
    {"timed", "0:w", kClock},
    {"placed", "0:w", kSmId},
    {"printing", "0:r", kCalls},
    {"allocating", "0:w", kCalls},
    {"writes_variable", "", kModuleVariableWrite},
    {"reads_variable", "0:w", kModuleVariableRead},
    {"waits", "0:r 8:w", kVolatile},
    {"sines", "0:r 8:w", kNoEffect},
    {"gather", "0:r 8:r 16:w", kNoEffect},
    {"bytes", "0:r 8:r 16:w", kNoEffect},
    {"copies_vectors", "0:r 8:w", kNoEffect},
    {"untouched", "8:w", kNoEffect},
};

TEST(nvcc, optimised_kernels_are_read_exactly) {
  const ptx::Module module = module_of(KERNELS_PTX);
  for (const Expected& expected : kExpected) {
    const KernelAccess got = of(module, expected.kernel);
    EXPECT_EQ(shown(got), expected.pointers) << expected.kernel << ": " << got.reason;
    EXPECT_EQ(got.effects, expected.effects) << expected.kernel << ": " << got.reason;
    EXPECT_EQ(got.reason.empty(), got.effects == kNoEffect) << got.reason;
    EXPECT_EQ(got.replayable(), got.effects == kNoEffect);
  }
}

// Whatever the compiler makes of them: every access of the source is among the facts, or an effect says why
// not.
void expect_covered(const Expected& expected, const KernelAccess& got) {
  EXPECT_EQ(got.effects & expected.effects, expected.effects) << expected.kernel;
  if (!got.bounded()) return;
  std::map<std::uint32_t, PointerAccess> by_offset;
  for (const PointerAccess& pointer : got.pointers) by_offset[pointer.offset_bytes] = pointer;
  std::string text = expected.pointers;
  for (std::size_t at = 0; at < text.size();
       at = text.find(' ', at) == std::string::npos ? text.size() : text.find(' ', at) + 1) {
    const std::size_t colon = text.find(':', at);
    const std::string flags = text.substr(colon + 1, text.find(' ', at) - colon - 1);
    const PointerAccess pointer = by_offset[static_cast<std::uint32_t>(std::stoul(text.substr(at)))];
    EXPECT_TRUE(pointer.read || flags.find('r') == std::string::npos) << expected.kernel << ' ' << text;
    EXPECT_TRUE(pointer.written || flags.find('w') == std::string::npos) << expected.kernel << ' ' << text;
    EXPECT_TRUE(pointer.atomic || flags.find('a') == std::string::npos) << expected.kernel << ' ' << text;
  }
}

TEST(nvcc, unoptimised_kernels_are_never_silent) {
  const ptx::Module module = module_of(UNOPTIMISED_PTX);
  int bounded = 0;
  for (const Expected& expected : kExpected) {
    const KernelAccess got = of(module, expected.kernel);
    expect_covered(expected, got);
    bounded += got.bounded() ? 1 : 0;
  }
  EXPECT_GT(bounded, 10) << "the analysis gives up on nearly everything";
}

TEST(nvcc, pointers_in_local_memory_are_all_possible) {
  const ptx::Module module = module_of(KERNELS_PTX);
  const KernelAccess got = of(module, "pointers_in_local_array");
  expect_covered({"pointers_in_local_array", "0:r 8:r 16:r 24:w", kNoEffect}, got);
  EXPECT_TRUE(got.bounded()) << got.reason;
}

TEST(nvcc, masked_pointers_stay_pointers) {
  const ptx::Module module = module_of(KERNELS_PTX);
  const KernelAccess got = of(module, "aligned_pointer");
  expect_covered({"aligned_pointer", "0:w", kNoEffect}, got);
  EXPECT_TRUE(got.bounded()) << got.reason;
}

KernelAccess of_body(const std::string& body, const std::string& declarations = "") {
  const ptx::Module module = ptx::parse(
      ".version 9.0\n.target sm_75\n.address_size 64\n" + declarations +
      "\n.visible .entry k(.param .u64 p, .param .u64 q, .param .u64 n, .param .align 8 .b8 s[24]) {\n"
      ".reg .b64 %rd<19>; .reg .b32 %r<19>; .reg .f32 %f<9>; .reg .pred %p<9>; .reg .b16 %rs<9>;\n"
      "ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; ld.param.u64 %rd3, [n];\n" +
      body + "\nret; }\n");
  return analyse(module, *module.find_function("k"));
}

struct Case {
  const char* body;
  const char* pointers;
  std::uint32_t effects;
};
class Body : public testing::TestWithParam<Case> {};
TEST_P(Body, facts) {
  const KernelAccess got = of_body(GetParam().body);
  EXPECT_EQ(shown(got), GetParam().pointers) << GetParam().body << '\n' << got.reason;
  EXPECT_EQ(got.effects, GetParam().effects) << GetParam().body << '\n' << got.reason;
}
INSTANTIATE_TEST_SUITE_P(
    ptx, Body,
    testing::Values(
        // Generic addresses, also without a conversion.
        Case{"ld.u32 %r1, [%rd1]; st.u32 [%rd2], %r1;", "0:r 8:w", kNoEffect},
        Case{"cvta.to.global.u64 %rd4, %rd1; add.s64 %rd5, %rd4, %rd3; ld.global.u32 %r1, [%rd5];", "0:r",
             kNoEffect},
        Case{"add.s64 %rd5, %rd1, %rd3; ld.u32 %r1, [%rd5];", "0:r 16:r", kNoEffect},
        Case{"sub.s64 %rd5, %rd1, %rd2; add.s64 %rd6, %rd5, %rd2; ld.u32 %r1, [%rd6];", "0:r 8:r", kNoEffect},
        // Halves of an address.
        Case{"mov.b64 {%r1, %r2}, %rd1; mov.b64 %rd4, {%r1, %r2}; st.u32 [%rd4], 1;", "0:w", kNoEffect},
        Case{"cvt.u32.u64 %r1, %rd1; shr.u64 %rd4, %rd1, 32; cvt.u64.u32 %rd5, %r1; shl.b64 %rd6, %rd4, 32; "
             "or.b64 %rd7, %rd5, %rd6; st.u32 [%rd7], 1;",
             "", kUnknownPointer},
        Case{"mov.b64 {%r1, %r2}, %rd1; shfl.sync.idx.b32 %r3, %r1, 0, 31, -1; mov.b64 %rd4, {%r3, %r2}; "
             "st.u32 [%rd4], 1;",
             "0:w", kNoEffect},
        // Parameters by address.
        Case{"mov.b64 %rd4, s; ld.param.u64 %rd5, [%rd4+8]; st.u32 [%rd5], 1;", "0:w 8:w 16:w 24:w 32:w 40:w",
             kNoEffect},
        Case{"ld.param.u64 %rd5, [s+16]; cvta.to.global.u64 %rd6, %rd5; st.global.u32 [%rd6], 1;", "40:w",
             kNoEffect},
        Case{"ld.param.v2.u64 {%rd5, %rd6}, [s+8]; st.u32 [%rd6], 1;", "40:w", kNoEffect},
        // Addresses from nowhere.
        Case{"st.global.u32 [4096], 1;", "", kUnknownPointer},
        Case{"mul.lo.u64 %rd4, %rd1, 3; st.u32 [%rd4], 1;", "", kUnknownPointer},
        Case{"ld.u64 %rd4, [%rd1]; st.u32 [%rd4], 1;", "0:r", kIndirectPointer},
        Case{"ld.u64 %rd4, [%rd1]; cvta.to.global.u64 %rd5, %rd2; add.s64 %rd6, %rd5, %rd4; st.global.u32 "
             "[%rd6], 1;",
             "0:r 8:w", kNoEffect},
        // Spaces that are private to a launch.
        Case{".shared .b8 m[64]; .local .b8 l[64]; st.shared.u32 [m], 1; st.local.u32 [l], 1; mov.u64 %rd4, "
             "m; cvta.shared.u64 %rd5, %rd4; st.u32 [%rd5], 1;",
             "", kNoEffect},
        Case{".local .b8 l[64]; st.local.u64 [l+8], %rd2; ld.local.u64 %rd4, [l+8]; st.u32 [%rd4], 1;", "8:w",
             kNoEffect},
        Case{".local .b8 l[64]; mov.u64 %rd4, l; cvta.local.u64 %rd5, %rd4; st.u64 [%rd5], %rd2; "
             "ld.local.u64 %rd6, [l]; st.u32 [%rd6], 1;",
             "8:w", kNoEffect},
        Case{".shared .b8 m[64]; st.shared.u64 [m], %rd1; ld.shared.u64 %rd4, [m]; st.u32 [%rd4], 1;", "",
             kIndirectPointer},
        // Effects.
        Case{"red.global.add.u32 [%rd1], 1;", "0:rwa", kNoEffect},
        Case{"atom.global.add.u32 _, [%rd1], 1;", "0:rwa", kNoEffect},
        Case{"atom.global.add.u32 %r1, [%rd1], 1; st.u32 [%rd2], %r1;", "0:rwa 8:w", kIntegerAtomics},
        Case{"red.relaxed.gpu.global.add.f32 [%rd1], %f1;", "0:rwa", kFloatAtomics},
        Case{"ld.acquire.gpu.global.u32 %r1, [%rd1];", "0:r", kVolatile},
        Case{"mov.u32 %r1, %clock;", "", kClock}, Case{"mov.u32 %r1, %warpid;", "", kSmId},
        Case{"mov.u32 %r1, %laneid;", "", kNoEffect},
        Case{"frobnicate.u32 %r1, [%rd1];", "", kGenericInlineAsm},
        Case{"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2}];", "", kGenericInlineAsm},
        Case{".shared .b8 m[64]; cp.async.ca.shared.global [m], [%rd1], 16; cp.async.commit_group; "
             "cp.async.wait_all;",
             "0:r", kNoEffect},
        Case{"cp.async.bulk.prefetch.L2.global [%rd1], 64;", "", kGenericInlineAsm},
        Case{"prefetch.global.L2 [%rd1];", "", kNoEffect},
        Case{"selp.b64 %rd4, %rd1, %rd2, %p1; ld.u32 %r1, [%rd4];", "0:r 8:r", kNoEffect},
        Case{"max.u64 %rd4, %rd1, %rd2; ld.u32 %r1, [%rd4];", "0:r 8:r", kNoEffect}));

TEST(calls, unknown_functions_and_results_are_effects) {
  const std::string declarations =
      ".extern .func (.param .b64 r) malloc(.param .b64 size);\n.func (.param .b64 r) same(.param .b64 x) { "
      ".reg .b64 %a; ld.param.b64 %a, [x]; st.param.b64 [r], %a; ret; }\n";
  const std::string prologue = "{ .param .b64 a; .param .b64 b; st.param.b64 [a], %rd2; call.uni (b), ";
  const KernelAccess unknown =
      of_body(prologue + "malloc, (a); ld.param.b64 %rd4, [b]; st.u32 [%rd4], 1; }", declarations);
  EXPECT_EQ(unknown.effects, static_cast<std::uint32_t>(kCalls | kUnknownPointer));
  EXPECT_FALSE(unknown.bounded());
  const KernelAccess known =
      of_body(prologue + "same, (a); ld.param.b64 %rd4, [b]; st.u32 [%rd4], 1; }", declarations);
  EXPECT_EQ(shown(known), "8:w");
  EXPECT_TRUE(known.replayable()) << known.reason;
  const KernelAccess indirect = of_body(
      "{ .param .b64 a; .param .b64 b; proto: .callprototype (.param .b64 _) _ (.param .b64 _); call (b), "
      "%rd4, (a), proto; }",
      declarations);
  EXPECT_EQ(indirect.effects, static_cast<std::uint32_t>(kCalls));
}

TEST(calls, an_assertion_that_held_holds_again) {
  const std::string declarations = ".extern .func __assertfail (.param .b64 a);\n";
  EXPECT_TRUE(of_body("{ .param .b64 a; call.uni __assertfail, (a); }", declarations).replayable());
  const std::string other = ".extern .func vprintf (.param .b64 a);\n";
  EXPECT_FALSE(of_body("{ .param .b64 a; call.uni vprintf, (a); }", other).bounded());
}

TEST(variables, tables_of_the_compiler_are_constants_unless_written) {
  const std::string declarations =
      ".global .align 4 .b8 __cudart_table[8] = {1, 2, 3};\n.global .u32 mine = 3;\n";
  EXPECT_TRUE(of_body("ld.global.nc.u32 %r1, [__cudart_table];", declarations).replayable());
  EXPECT_EQ(of_body("ld.global.u32 %r1, [__cudart_table]; st.global.u32 [__cudart_table], 1;", declarations)
                .effects,
            static_cast<std::uint32_t>(kModuleVariableRead | kModuleVariableWrite));
  EXPECT_EQ(of_body("ld.global.u32 %r1, [mine];", declarations).effects,
            static_cast<std::uint32_t>(kModuleVariableRead));
  EXPECT_EQ(of_body("mov.u64 %rd4, mine; atom.global.add.u32 %r1, [%rd4], 1;", declarations).effects,
            static_cast<std::uint32_t>(kModuleVariableRead | kModuleVariableWrite));
}

TEST(reason, names_the_gravest_effect_and_its_line) {
  const KernelAccess got = of_body("mov.u32 %r1, %clock;\nst.global.u32 [64], 1;");
  EXPECT_NE(got.reason.find("k uses an address"), std::string::npos) << got.reason;
  EXPECT_NE(got.reason.find("line 9"), std::string::npos) << got.reason;
}

// p and q are parameters at 0 and 8; each of these writes through both, or through one that arithmetic hides.
TEST(arithmetic, pointers_survive_differences_products_and_shifts) {
  const std::string setup =
      "cvta.to.global.u64 %rd7, %rd1; cvta.to.global.u64 "
      "%rd8, %rd2;";
  EXPECT_EQ(
      shown(of_body(setup + "sub.s64 %rd9, %rd8, %rd7; mul.lo.s64 %rd9, %rd9, 1; add.s64 %rd9, %rd9, %rd7;"
                            "st.global.u32 [%rd9], 1;")),
      "0:w 8:w");
  EXPECT_EQ(shown(of_body(setup + "sub.s64 %rd9, %rd8, %rd7; neg.s64 %rd9, %rd9; add.s64 %rd9, %rd8, %rd9;"
                                  "st.global.u32 [%rd9], 1;")),
            "0:w 8:w");
  EXPECT_EQ(shown(of_body(setup + "sub.s64 %rd9, %rd8, %rd7; shl.b64 %rd9, %rd9, 1; add.s64 %rd9, %rd9, %rd7;"
                                  "st.global.u32 [%rd9], 1;")),
            "0:w 8:w");
}

TEST(arithmetic, an_index_made_from_pointers_is_no_base) {
  const KernelAccess got = of_body(
      "cvta.to.global.u64 %rd7, %rd1; cvta.to.global.u64 "
      "%rd8, %rd2;"
      "sub.s64 %rd9, %rd8, %rd7; ld.global.u64 %rd10, [%rd7]; add.s64 %rd10, %rd10, %rd9; st.global.u32 "
      "[%rd10], "
      "1;");
  EXPECT_FALSE(got.bounded()) << "the base was loaded from memory";
}

TEST(effects, order_that_nobody_fixes) {
  const std::string setup = "cvta.to.global.u64 %rd1, %rd1;";
  const auto effects = [&](const std::string& body) { return of_body(setup + body).effects; };
  EXPECT_EQ(effects("red.global.add.u32 [%rd1], 1;"), static_cast<std::uint32_t>(kNoEffect));
  EXPECT_NE(effects("red.global.add.u32 [%rd1], 1; ld.global.u32 %r1, [%rd1];") & kIntegerAtomics, 0u);
  EXPECT_NE(effects("red.global.add.u32 [%rd1], 1; red.global.max.u32 [%rd1], 1;") & kIntegerAtomics, 0u);
  EXPECT_NE(effects("red.global.min.u32 [%rd1], 1; red.global.min.s32 [%rd1], 1;") & kIntegerAtomics, 0u);
  EXPECT_NE(effects("ld.global.cv.u32 %r1, [%rd1];") & kVolatile, 0u);
  EXPECT_NE(effects("activemask.b32 %r1;") & kSmId, 0u);
  EXPECT_NE(effects("add.s64 %rd2, %rd1, 8; st.global.u64 [%rd1], %rd2;") & kAddressStored, 0u);
}

}  // namespace
}  // namespace refrain::access
