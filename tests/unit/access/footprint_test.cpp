// Which bytes launches touch: exact where nothing that is loaded decides, whole allocations where it does,
// and certain stores only where they are certain.
#include "launched.hpp"

namespace refrain::access {
namespace {

const std::string& compiled() {
  static const auto* text = new std::string(text_of(FOOTPRINTS_PTX));
  return *text;
}

TEST(Footprint, elementwise_ends_where_its_guard_says) {
  Kernel kernel(compiled(), "elementwise");
  EXPECT_EQ(kernel.said({4, 1, 1}, {256, 1, 1}, kSome, kSome, 1000), "0:w[0,4000)m[0,4000) 8:r[0,4000)");
  EXPECT_EQ(kernel.said({3, 1, 1}, {256, 1, 1}, kSome, kSome, 1000), "0:w[0,3072)m[0,3072) 8:r[0,3072)");
  EXPECT_EQ(kernel.said({4, 1, 1}, {256, 1, 1}, kSome, kSome, 0), "");
  EXPECT_EQ(kernel.said({4, 1, 1}, {256, 1, 1}, kSome, kSome, -5), "");
  EXPECT_EQ(kernel.said({500000, 1, 1}, {1024, 1, 1}, kSome, kSome, 511999999),
            "0:w[0,2047999996)m[0,2047999996) 8:r[0,2047999996)");
}

TEST(Footprint, grid_stride_covers_all) {
  Kernel kernel(compiled(), "grid_stride");
  EXPECT_EQ(kernel.said({3, 1, 1}, {64, 1, 1}, kSome, kSome, 10007), "0:w[0,40028)m[0,40028) 8:r[0,40028)");
  EXPECT_EQ(kernel.said({300, 1, 1}, {64, 1, 1}, kSome, kSome, 70), "0:w[0,280)m[0,280) 8:r[0,280)");
}

TEST(Footprint, a_tile_of_a_matrix_is_its_rows) {
  Kernel kernel(compiled(), "tile");
  EXPECT_EQ(kernel.said({2, 2, 1}, {16, 4, 1}, kSome, 3, 20, 100),
            "0:w[0,80)[400,480)[800,880)m[0,80)[400,480)[800,880)");
  EXPECT_EQ(kernel.said({2, 2, 1}, {16, 4, 1}, kSome, 5, 20, 20), "0:w[0,400)m[0,400)");
}

TEST(Footprint, quotients_and_remainders) {
  Kernel kernel(compiled(), "permute");
  EXPECT_EQ(kernel.said({12, 1, 1}, {128, 1, 1}, kSome, kSome, 2, 3, 17, 15),
            "0:w[0,6120)m[0,6120) 8:r[0,6120)");
}

TEST(Footprint, an_unrolled_loop) {
  Kernel kernel(compiled(), "rows");
  for (const int count : {1, 2, 3, 4, 5, 31}) {
    EXPECT_EQ(kernel.said({2, 1, 1}, {32, 1, 1}, kSome, kSome, count),
              fmt::format("0:w[0,256)m[0,256) 8:r[0,{})", 64 * count * 4));
  }
}

TEST(Footprint, what_loaded_data_decides_is_not_certain) {
  EXPECT_EQ(Kernel(compiled(), "where").said({4, 1, 1}, {32, 1, 1}, kSome, kSome, 100),
            "0:w[0,400) 8:r[0,400)");
  EXPECT_EQ(Kernel(compiled(), "gather").said({4, 1, 1}, {32, 1, 1}, kSome, kSome, kSome, 100),
            "0:w[0,400)m[0,400) 8:r* 16:r[0,400)");
  EXPECT_EQ(Kernel(compiled(), "scatter").said({4, 1, 1}, {32, 1, 1}, kSome, kSome, kSome, 100),
            "0:w* 8:r[0,400) 16:r[0,400)");
}

TEST(Footprint, what_is_stored_on_both_ways_is_certain) {
  EXPECT_EQ(Kernel(compiled(), "either_way").said({4, 1, 1}, {32, 1, 1}, kSome, kSome, 100),
            "0:w[0,1600)m[0,800) 8:r[0,400)");
  // Not if another thread makes the other of the two stores.
  EXPECT_EQ(Kernel(compiled(), "shifted").said({1, 1, 1}, {32, 1, 1}, kSome, kSome), "0:w[0,128) 8:r[0,128)");
  EXPECT_EQ(Kernel(compiled(), "until").said({1, 1, 1}, {1, 1, 1}, kSome, kSome), "0:w[0,4) 8:r*");
}

TEST(Footprint, what_only_some_threads_store_on_one_way_is_certain_for_those) {
  const std::string begin = R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry kernel(.param .u64 p, .param .u64 q) {
  .reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [p];
  ld.param.u64 %rd2, [q];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.u32 %r2, [%rd5];
  setp.gt.s32 %p1, %r2, 0;
  setp.lt.u32 %p2, %r1, 10;
)";
  const std::string first =
      "@%p1 bra $other; @%p2 st.global.u32 [%rd4], 1; bra $end;\n$other: st.global.u32 [%rd4], 2;\n";
  const std::string other =
      "@%p1 bra $other; st.global.u32 [%rd4], 1; bra $end;\n$other: @%p2 st.global.u32 [%rd4], 2;\n";
  for (const std::string& ways : {first, other}) {
    EXPECT_EQ(Kernel(begin + ways + "$end: ret; }", "kernel").said({1, 1, 1}, {32, 1, 1}, kSome, kSome),
              "0:w[0,128)m[0,40) 8:r[0,128)")
        << ways;
  }
}

TEST(Footprint, an_unknown_loop_forgets_what_it_changes_and_nothing_else) {
  EXPECT_EQ(Kernel(compiled(), "until_zero").said({1, 1, 1}, {1, 1, 1}, kSome, kSome, kSome),
            "0:w[0,4)m[0,4) 8:r* 16:w[4,8)m[4,8)");
}

TEST(Footprint, a_pointer_chosen_by_data_may_be_either) {
  EXPECT_EQ(Kernel(compiled(), "one_of").said({1, 1, 1}, {1, 1, 1}, kSome, kSome, kSome),
            "0:w* 8:w* 16:r[0,4)w*");  // that the third is never written, roles say
}

TEST(Footprint, null_pointers_are_told_apart) {
  Kernel kernel(compiled(), "optional");
  EXPECT_EQ(kernel.said({1, 1, 1}, {32, 1, 1}, kSome, kSome, 30), "0:w[0,120)m[0,120) 8:w[0,120)m[0,120)");
  EXPECT_EQ(kernel.said({1, 1, 1}, {32, 1, 1}, kSome, kNull, 30), "0:w[0,120)m[0,120)");
}

TEST(Footprint, counting_down_past_zero) {
  EXPECT_EQ(Kernel(compiled(), "backwards").said({1, 1, 1}, {1, 1, 1}, kSome, 7u), "0:w[0,28)m[0,28)");
  EXPECT_EQ(Kernel(compiled(), "backwards").said({1, 1, 1}, {1, 1, 1}, kSome, 0u), "");
}

TEST(Footprint, calls_are_followed) {
  EXPECT_EQ(Kernel(compiled(), "calls").said({1, 1, 1}, {8, 1, 1}, kSome, 3),
            "0:w[16,20)[24,28)[32,36)m[16,20)[24,28)[32,36)");
}

TEST(Footprint, what_is_read_first_or_added_to_is_read) {
  EXPECT_EQ(Kernel(compiled(), "in_place").said({1, 1, 1}, {32, 1, 1}, kSome, 30),
            "0:r[0,120)w[0,120)m[0,120)");
  EXPECT_EQ(Kernel(compiled(), "adds").said({5, 1, 1}, {32, 1, 1}, kSome, kSome),
            "0:r[0,20)w[0,20) 8:r[0,128)");
}

TEST(Footprint, a_structure_by_value) {
  struct Pair {
    std::uint64_t from;
    int offset, count;
  };
  EXPECT_EQ(Kernel(compiled(), "by_value").said({1, 1, 1}, {32, 1, 1}, kSome, Pair{0x5000, 10, 50}),
            "0:w[0,200)m[0,200) 8:r[40,240)");
  EXPECT_EQ(Kernel(compiled(), "by_value").said({1, 1, 1}, {32, 1, 1}, kSome, Pair{0x5000, -1, 2}),
            "0:w[0,8)m[0,8) 8:r[-4,4)");
}

TEST(Footprint, only_what_matters_is_computed_again) {
  Kernel kernel(compiled(), "elementwise");
  kernel.launch({4, 1, 1}, {256, 1, 1}, kSome, kSome, 1000);
  EXPECT_EQ(kernel.computed(), 1u);
  kernel.move_memory();
  kernel.launch({4, 1, 1}, {256, 1, 1}, kSome, kSome, 1000);
  EXPECT_EQ(kernel.computed(), 1u);
  kernel.launch({4, 1, 1}, {256, 1, 1}, kSome, kSome, 999);
  kernel.launch({5, 1, 1}, {256, 1, 1}, kSome, kSome, 1000);
  EXPECT_EQ(kernel.computed(), 3u);
}

TEST(Footprint, too_much_work_is_given_up) {
  Kernel kernel(compiled(), "endless");
  const Footprint& footprint = kernel.launch({1, 1, 1}, {1, 1, 1}, kSome, 1'000'000'000'000ll);
  EXPECT_FALSE(footprint.complete);
  EXPECT_NE(footprint.reason, "");
  ASSERT_EQ(footprint.pointers.size(), 1u);
  EXPECT_TRUE(footprint.pointers[0].writes_anywhere);
  EXPECT_TRUE(footprint.pointers[0].must_write.empty());
}

TEST(Footprint, arguments_that_never_come_again_have_a_budget) {
  Kernel kernel(compiled(), "endless");
  std::uint64_t complete = 0;
  for (long long n = 25'000; n < 25'200; ++n)
    complete += kernel.launch({1, 1, 1}, {1, 1, 1}, kSome, n).complete;
  EXPECT_GE(complete, 3u);
  EXPECT_LT(complete, 60u);
  // What was found before stays found.
  EXPECT_TRUE(kernel.launch({1, 1, 1}, {1, 1, 1}, kSome, 25'000ll).complete);
}

// nvcc writes no such guards.
TEST(Footprint, negated_guards_of_stores_and_branches) {
  const std::string ptx = R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry kernel(.param .u64 p, .param .u32 n) {
  .reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  setp.lt.u32 %p1, %r2, %r1;
  @!%p1 st.global.u32 [%rd3], %r2;
  @!%p1 bra $end;
  st.global.u32 [%rd3+400], %r2;
$end:
  ret;
})";
  EXPECT_EQ(Kernel(ptx, "kernel").said({1, 1, 1}, {8, 1, 1}, kSome, 3),
            "0:w[12,32)[400,412)m[12,32)[400,412)");
}

// What nobody has assigned is unknown, and so is what only some threads have.
TEST(Footprint, registers_without_a_value) {
  const std::string ptx = R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry kernel(.param .u64 p) {
  .reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r2, %tid.x;
  setp.lt.u32 %p1, %r2, 4;
  @%p1 mov.u64 %rd2, 8;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r2;
  ret;
})";
  EXPECT_EQ(Kernel(ptx, "kernel").said({1, 1, 1}, {8, 1, 1}, kSome), "0:w*m[8,12)");
}

TEST(ByteSet, runs_that_repeat_are_closed) {
  ByteSet set;
  set.add({0, 16}, {Repeat{16, 4}, Repeat{256, 3}, Repeat{}});
  set.add({64, 256}, {Repeat{256, 3}, Repeat{}, Repeat{}});
  EXPECT_EQ(set.ranges(true, 100), (std::vector<Range>{{0, 768}}));
  EXPECT_EQ(set.ranges(false, 100), (std::vector<Range>{{0, 768}}));
}

TEST(ByteSet, negative_strides_and_gaps) {
  ByteSet set;
  set.add({100, 104}, {Repeat{-8, 3}, Repeat{}, Repeat{}});
  EXPECT_EQ(set.ranges(true, 100), (std::vector<Range>{{84, 88}, {92, 96}, {100, 104}}));
  EXPECT_EQ(set.ranges(true, 2), (std::vector<Range>{{84, 104}}));
  EXPECT_EQ(set.ranges(false, 2), (std::vector<Range>{}));
}

}  // namespace
}  // namespace refrain::access
