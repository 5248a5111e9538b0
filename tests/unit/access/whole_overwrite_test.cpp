// Which pointers can be known to be overwritten whole: kernels whose source shows it, compiled by nvcc, and
// hand-written PTX for each way in which something loaded may decide.
#include "access/whole_overwrite.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "access/access.hpp"
#include "access/footprint.hpp"

namespace refrain::access {
namespace {

// "8 16": byte offsets of the parameters.
std::string shown(const ptx::Module& module, const std::string& name) {
  const ptx::Function* kernel = module.find_function(name);
  if (kernel == nullptr) return "no such kernel";
  std::vector<std::uint32_t> offsets;
  for (const PointerAccess& pointer : analyse(module, *kernel).pointers)
    offsets.push_back(pointer.offset_bytes);
  const std::optional<Slice> slice = slice_of(module, *kernel, offsets);
  if (!slice) return "no slice";
  const std::vector<bool> whole = whole_overwrites(*slice);
  EXPECT_EQ(whole.size(), offsets.size());
  std::string text;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (whole[i]) text += fmt::format("{}{}", text.empty() ? "" : " ", offsets[i]);
  }
  return text;
}

TEST(whole_overwrites, kernels_whose_source_shows_it) {
  std::ifstream file(KERNELS_PTX);
  const ptx::Module module = ptx::parse(std::string{std::istreambuf_iterator<char>(file), {}});
  const std::pair<const char*, const char*> expected[] = {
      {"elementwise", "16"},
      {"in_place", ""},
      {"restricted", "8"},
      {"by_struct", "16"},
      {"either", "0"},
      {"walking", "8"},
      {"through_functions", "8"},
      {"returned_pointer", "16"},
      {"recursive", "no slice"},
      {"values_through_shared", "8"},
      {"count", ""},
      {"ticket", "8"},
      {"gather", "16"},
      {"bytes", "16"},
      {"copies_vectors", "8"},
  };
  for (const auto& [name, pointers] : expected) EXPECT_EQ(shown(module, name), pointers) << name;
}

// The two must agree: where nothing unknown decides what is stored, following a launch leaves nothing open.
TEST(whole_overwrites, what_a_launch_may_write_it_then_writes) {
  std::ifstream file(KERNELS_PTX);
  const ptx::Module module = ptx::parse(std::string{std::istreambuf_iterator<char>(file), {}});
  int checked = 0;
  for (const ptx::Function& kernel : module.functions) {
    if (!kernel.is_entry) continue;
    const KernelAccess facts = analyse(module, kernel);
    std::vector<std::uint32_t> offsets;
    for (const PointerAccess& pointer : facts.pointers) offsets.push_back(pointer.offset_bytes);
    const std::optional<Slice> slice = slice_of(module, kernel, offsets);
    // Where in its buffer that one writes depends on the address itself, which no footprint knows.
    if (!facts.bounded() || !slice || kernel.name == "aligned_pointer") continue;
    const std::vector<bool> whole = whole_overwrites(*slice);
    if (std::find(whole.begin(), whole.end(), true) == whole.end()) continue;
    std::vector<std::byte> params(kernel.param_bytes + 8);
    for (std::size_t at = 0; at + 4 <= kernel.param_bytes; at += 4) params[at] = std::byte{17};
    for (const std::uint32_t offset : offsets) params[offset + 5] = std::byte{1};
    const Footprint footprint =
        Footprints(slice, offsets).of({.grid = {3, 1, 1}, .block = {64, 1, 1}, .params = params});
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      if (!whole[i] || !footprint.complete) continue;
      const Footprint::Pointer& pointer = footprint.pointers[i];
      ++checked;
      EXPECT_FALSE(facts.pointers[i].read) << kernel.name;
      EXPECT_TRUE(pointer.reads.empty()) << kernel.name;
      EXPECT_FALSE(pointer.writes_anywhere) << kernel.name;
      EXPECT_EQ(pointer.writes, pointer.must_write) << kernel.name;
    }
  }
  EXPECT_GT(checked, 10);
}

// Parameters: p at 0, q at 8, n (no address) at 16, i (no address) at 24.
std::string of_body(const std::string& body) {
  const ptx::Module module = ptx::parse(
      ".version 9.0\n.target sm_75\n.address_size 64\n"
      ".visible .entry k(.param .u64 p, .param .u64 q, .param .u64 n, .param .u32 i) {\n"
      ".reg .b64 %rd<19>; .reg .b32 %r<19>; .reg .f32 %f<9>; .reg .pred %p<9>;\n"
      "ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd1, %rd1; ld.param.u64 %rd2, [q]; cvta.to.global.u64 "
      "%rd2, %rd2;\n"
      "ld.param.u64 %rd3, [n]; ld.param.u32 %r1, [i]; mov.u32 %r2, %tid.x; mul.wide.u32 %rd4, %r2, 4;\n"
      "add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4; setp.lt.u32 %p1, %r2, %r1;\n" +
      body + "\nret; }\n");
  return shown(module, "k");
}

TEST(whole_overwrites, what_arguments_and_indices_decide_is_known) {
  EXPECT_EQ(of_body("st.global.u32 [%rd5], 1;"), "0");
  EXPECT_EQ(of_body("@%p1 st.global.u32 [%rd5], 1;"), "0");
  EXPECT_EQ(of_body("@%p1 bra end; st.global.u32 [%rd5], 1; end:"), "0");
  EXPECT_EQ(of_body("ld.global.u32 %r3, [%rd6]; st.global.u32 [%rd5], %r3;"), "0");
  EXPECT_EQ(of_body("again: st.global.u32 [%rd5], 1; add.s64 %rd5, %rd5, 128; setp.lt.u64 %p2, %rd5, %rd3; "
                    "@%p2 bra again;"),
            "0");
  EXPECT_EQ(of_body("st.global.u32 [%rd5], 1; st.global.u32 [%rd6], 1;"), "0 8");
}

TEST(whole_overwrites, a_pointer_that_is_read_is_not) {
  EXPECT_EQ(of_body("ld.global.u32 %r3, [%rd5]; st.global.u32 [%rd5], %r3;"), "");
  EXPECT_EQ(of_body("st.global.u32 [%rd5], 1; red.global.add.u32 [%rd5], 1;"), "");
  EXPECT_EQ(of_body("ld.global.u32 %r3, [%rd5];"), "");
}

TEST(whole_overwrites, an_address_that_was_loaded_is_not_known) {
  EXPECT_EQ(of_body("ld.global.u64 %rd7, [%rd6]; add.s64 %rd8, %rd5, %rd7; st.global.u32 [%rd8], 1;"), "");
  // Chosen by what was loaded, though each choice is known.
  EXPECT_EQ(of_body("ld.global.u32 %r3, [%rd6]; setp.eq.u32 %p2, %r3, 0; selp.b64 %rd7, 0, 4, %p2; "
                    "add.s64 %rd8, %rd5, %rd7; st.global.u32 [%rd8], 1;"),
            "");
  EXPECT_EQ(of_body("ld.global.u32 %r3, [%rd6]; setp.eq.u32 %p2, %r3, 0; @%p2 add.s64 %rd5, %rd5, 4; "
                    "st.global.u32 [%rd5], 1;"),
            "");
  // The same by a jump: the store itself is on every path.
  EXPECT_EQ(of_body("ld.global.u32 %r3, [%rd6]; setp.eq.u32 %p2, %r3, 0; @%p2 bra past; add.s64 %rd5, %rd5, "
                    "4; past: st.global.u32 [%rd5], 1;"),
            "");
  EXPECT_EQ(of_body("mov.u32 %r3, %smid; mul.wide.u32 %rd7, %r3, 4; add.s64 %rd8, %rd1, %rd7; st.global.u32 "
                    "[%rd8], 1;"),
            "");
}

TEST(whole_overwrites, a_condition_that_was_loaded_is_not_known) {
  const std::string load = "ld.global.u32 %r3, [%rd6]; setp.eq.u32 %p2, %r3, 0; ";
  EXPECT_EQ(of_body(load + "@%p2 st.global.u32 [%rd5], 1;"), "");
  EXPECT_EQ(of_body(load + "@%p2 bra end; st.global.u32 [%rd5], 1; end:"), "");
  EXPECT_EQ(of_body(load + "@%p2 ret; st.global.u32 [%rd5], 1;"), "");
  EXPECT_EQ(of_body(load + "@%p2 bra end; @%p1 bra end; st.global.u32 [%rd5], 1; end:"), "");
  EXPECT_EQ(of_body(load + "again: st.global.u32 [%rd5], 1; ld.global.u32 %r3, [%rd6]; "
                           "setp.eq.u32 %p2, %r3, 0; @%p2 bra again;"),
            "");
  // Where the paths have met again, it no longer matters.
  EXPECT_EQ(of_body(load + "@%p2 bra past; add.u32 %r4, %r4, 1; past: st.global.u32 [%rd5], 1;"), "0");
}

TEST(whole_overwrites, one_store_that_is_not_known_spoils_the_others) {
  EXPECT_EQ(of_body("st.global.u32 [%rd5], 1; ld.global.u64 %rd7, [%rd6]; add.s64 %rd8, %rd1, %rd7; "
                    "st.global.u32 [%rd8], 1;"),
            "");
}

TEST(whole_overwrites, an_address_of_two_pointers_belongs_to_neither) {
  EXPECT_EQ(of_body("selp.b64 %rd7, %rd5, %rd6, %p1; st.global.u32 [%rd7], 1;"), "");
}

TEST(whole_overwrites, an_access_through_no_known_pointer_spoils_all) {
  EXPECT_EQ(of_body("st.global.u32 [%rd5], 1; .local .b8 l[8]; st.local.u64 [l], %rd5; ld.local.u64 %rd7, "
                    "[l]; ld.global.u32 %r3, [%rd7];"),
            "");
}

}  // namespace
}  // namespace refrain::access
