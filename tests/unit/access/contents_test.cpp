// Launches whose accesses numbers in memory decide that are known: bounded by the least and the greatest of
// them, and never where those numbers may be others by the time they are loaded.
#include "launched.hpp"

namespace refrain::access {
namespace {

using Ints = std::vector<int>;
constexpr std::array<std::uint32_t, 3> kOne{1, 1, 1};

const std::string& compiled() {
  static const auto* text = new std::string(text_of(CONTENTS_PTX));
  return *text;
}

// What a kernel with the parameters (out, in, index, ...) reads through `in`, at offset 8.
template <class... More>
std::string read_from(Kernel& kernel, std::uint32_t threads, More... more) {
  const Footprint& footprint = kernel.launch(kOne, {threads, 1, 1}, kSome, kSome, kSome, more...);
  const Footprint::Pointer& in = footprint.pointers.at(1);
  if (in.reads_anywhere) return "anywhere";
  std::string out;
  for (const Range& range : in.reads) out += fmt::format("[{},{})", range.begin, range.end);
  return out;
}

TEST(Contents, interval_of_what_an_aligned_load_can_find) {
  const std::vector<std::int16_t> numbers{7, -3, 300, 2};
  Contents contents;
  const auto bytes = std::as_bytes(std::span(numbers));
  contents.assign(0x1002, bytes);
  EXPECT_EQ(contents.interval({2, true}), (Interval{-3, 300}));
  EXPECT_EQ(contents.interval({2, false}), (Interval{2, 65533}));
  EXPECT_EQ(contents.interval({4, true}), (Interval{0x012cfffd, 0x012cfffd}));
  EXPECT_EQ(contents.interval({8, true}), std::nullopt);  // the only aligned place is behind the end
  EXPECT_EQ(contents.interval({1, false}), (Interval{0, 255}));
  contents.assign(0x1002, bytes.first(2));
  EXPECT_EQ(contents.interval({2, true}), (Interval{7, 7}));
  EXPECT_EQ(contents.interval({4, true}), std::nullopt);
}

TEST(KnownContents, an_index_bounds_what_it_chooses) {
  Kernel kernel(compiled(), "chosen");
  EXPECT_EQ(kernel.said({4, 1, 1}, {32, 1, 1}, kSome, kSome, kSome, 100), "0:w[0,16)m[0,16) 8:r* 16:r[0,16)");
  kernel.hold(2, Ints{5, 9, 7, 5});
  EXPECT_EQ(kernel.said({4, 1, 1}, {32, 1, 1}, kSome, kSome, kSome, 100),
            "0:w[0,16)m[0,16) 8:r[20,40)[420,440)[820,840)[1220,1240) 16:r[0,16)");
}

TEST(KnownContents, rows_of_an_embedding) {
  Kernel kernel(compiled(), "embed");
  kernel.hold(2, Ints{3, 1});
  EXPECT_EQ(kernel.said({2, 1, 1}, {16, 1, 1}, kSome, kSome, kSome),
            "0:w[0,128)m[0,128) 8:r[64,256) 16:r[0,8)");
  Kernel back(compiled(), "add_rows");
  back.hold(2, Ints{3, 1});
  EXPECT_EQ(back.said({2, 1, 1}, {16, 1, 1}, kSome, kSome, kSome),
            "0:r[64,256)w[64,256) 8:r[0,128) 16:r[0,8)");  // not certain: some row may be left out
}

TEST(KnownContents, one_number_is_as_good_as_an_argument) {
  Kernel kernel(compiled(), "add_rows");
  kernel.hold(2, Ints{3, 3});
  EXPECT_EQ(kernel.said({2, 1, 1}, {16, 1, 1}, kSome, kSome, kSome),
            "0:r[192,256)w[192,256)m[192,256) 8:r[0,128) 16:r[0,8)");
  Kernel loop(compiled(), "count_of");
  loop.hold(1, Ints{9});
  EXPECT_EQ(loop.said(kOne, {1, 1, 1}, kSome, kSome), "0:w[0,36)m[0,36) 8:r[0,4)");
  Kernel flag(compiled(), "if_set");
  flag.hold(1, Ints{1});
  EXPECT_EQ(flag.said(kOne, {8, 1, 1}, kSome, kSome), "0:w[0,32)m[0,32) 8:r[0,4)");
}

TEST(KnownContents, every_size_and_sign) {
  const auto reads = [](const char* name, const auto& numbers) {
    Kernel kernel(compiled(), name);
    kernel.hold(2, numbers);
    return read_from(kernel, 2, 10, 1);
  };
  EXPECT_EQ(reads("take_s8", std::vector<std::int8_t>{-2, 100}), "[-76,4008)");
  EXPECT_EQ(reads("take_u8", std::vector<std::uint8_t>{254, 100}), "[4004,10168)");
  EXPECT_EQ(reads("take_s16", std::vector<std::int16_t>{-2, 100}), "[-76,4008)");
  EXPECT_EQ(reads("take_u16", std::vector<std::uint16_t>{65534, 100}), "[4004,2621368)");
  EXPECT_EQ(reads("take_u32", std::vector<std::uint32_t>{0xffffffff, 100}), "[4004,171798691808)");
  EXPECT_EQ(reads("take_s64", std::vector<std::int64_t>{-2, 100}), "[-76,4008)");
  EXPECT_EQ(reads("take_s64", std::vector<std::int64_t>{-(1ll << 50), 1ll << 50}), "anywhere");
}

TEST(KnownContents, negative_factors_turn_the_interval) {
  Kernel kernel(compiled(), "take_s16");
  kernel.hold(2, std::vector<std::int16_t>{2, 7});
  EXPECT_EQ(read_from(kernel, 2, -3, 0), "[-84,-20)");
}

TEST(KnownContents, sums_that_may_wrap_are_not_bounded) {
  Kernel kernel(compiled(), "wraps");
  kernel.hold(2, Ints{0, 10});
  EXPECT_EQ(read_from(kernel, 2, 0x7ffffff0), fmt::format("[{},{})", 0x7ffffff0ll * 4, 0x7ffffffbll * 4));
  EXPECT_EQ(read_from(kernel, 2, 0x7ffffff8), "anywhere");
}

TEST(KnownContents, what_arithmetic_makes_of_them) {
  const auto reads = [](const Ints& numbers, int how) {
    Kernel kernel(compiled(), "mixed");
    kernel.hold(2, numbers);
    return read_from(kernel, 2, how);
  };
  const Ints some{2, 9};
  EXPECT_EQ(reads(some, 0), "[364,396)");
  EXPECT_EQ(reads(some, 1), "[12,28)");
  EXPECT_EQ(reads(some, 2), "[0,12)");
  EXPECT_EQ(reads(some, 3), "[0,32)");
  EXPECT_EQ(reads({9, 11}, 3), "[4,16)");
  EXPECT_EQ(reads({-9, 11}, 3), "[-28,32)");
  EXPECT_EQ(reads({-9, 11}, 4), "[-12,12)");
  EXPECT_EQ(reads(some, 5), "[0,40)");
  EXPECT_EQ(reads({-9, 11}, 5), "anywhere");
  EXPECT_EQ(reads(some, 6), "[64,292)");
  EXPECT_EQ(reads(some, 7), "[8,40)");
  EXPECT_EQ(reads(some, 8), "[80,124)");
  EXPECT_EQ(reads(some, 9), "anywhere");
  EXPECT_EQ(reads(some, 10), "anywhere");
}

TEST(KnownContents, an_index_into_indices) {
  Kernel kernel(compiled(), "twice");
  const auto reads = [&] {
    return kernel.launch(kOne, {4, 1, 1}, kSome, kSome, kSome, kSome).pointers.at(1);
  };
  kernel.hold(2, Ints{5, 6, 7, 8});
  EXPECT_TRUE(reads().reads_anywhere);
  kernel.hold(3, Ints{0, 3, 1, 1});
  EXPECT_EQ(reads().reads, (std::vector<Range>{{20, 36}}));
  kernel.hold(3, Ints{0, 4, 1, 1});  // one beyond what is known
  EXPECT_TRUE(reads().reads_anywhere);
}

TEST(KnownContents, only_where_all_that_may_be_loaded_is_known) {
  Kernel kernel(compiled(), "wraps");
  kernel.hold(2, Ints{1, 2, 3});
  EXPECT_EQ(read_from(kernel, 3, 0), "[4,16)");
  EXPECT_EQ(read_from(kernel, 4, 0), "anywhere");
  // The pointer may lie inside of what is known.
  kernel.hold(2, Ints{1, 2, 3}, 1);
  EXPECT_EQ(read_from(kernel, 2, 0), "[4,16)");
  EXPECT_EQ(read_from(kernel, 3, 0), "anywhere");
}

TEST(KnownContents, vectors_are_loaded_element_by_element) {
  Kernel kernel(compiled(), "quad");
  kernel.hold(2, Ints{1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(read_from(kernel, 2), "[4,36)");
}

TEST(KnownContents, what_the_kernel_itself_overwrites_is_not_known) {
  Kernel kernel(compiled(), "moved_first");
  kernel.hold(2, Ints{1, 2});
  EXPECT_EQ(read_from(kernel, 2), "anywhere");
}

TEST(KnownContents, nor_what_it_overwrites_through_another_pointer) {
  Kernel kernel(compiled(), "two_names");
  kernel.hold(2, Ints{1, 2});
  EXPECT_EQ(read_from(kernel, 2, kSome), "[4,12)");
  kernel.same_address(3, 2);
  EXPECT_EQ(read_from(kernel, 2, kSome), "anywhere");
}

TEST(KnownContents, nor_what_others_may_change_meanwhile) {
  Kernel kernel(compiled(), "waits");
  kernel.hold(2, Ints{1, 2});
  EXPECT_EQ(read_from(kernel, 2), "anywhere");
}

TEST(KnownContents, other_numbers_are_never_mistaken_for_those_before) {
  Kernel kernel(compiled(), "wraps");
  for (const int first : {10, 700, 12, 10, 700}) {
    kernel.hold(2, Ints{first, first + 2});
    EXPECT_EQ(read_from(kernel, 2, 0), fmt::format("[{},{})", 4 * first, 4 * first + 12));
  }
  EXPECT_EQ(kernel.computed(), 3u);
  kernel.hold(2, Ints{11, 12});  // between those before
  EXPECT_EQ(read_from(kernel, 2, 0), "[44,52)");
  kernel.move_memory();
  EXPECT_EQ(read_from(kernel, 2, 0), "[44,52)");
  EXPECT_EQ(kernel.computed(), 4u);
}

TEST(KnownContents, numbers_that_differ_every_time_are_soon_taken_together) {
  Kernel kernel(compiled(), "wraps");
  std::uint64_t before = 0;
  for (int launch = 0; launch < 100; ++launch) {
    before = kernel.computed();
    const int low = 50 + launch % 7 * 3 - launch % 3, high = 90 - launch % 11 + launch % 5 * 2;
    kernel.hold(2, Ints{low, high});
    const Footprint& footprint = kernel.launch(kOne, {2, 1, 1}, kSome, kSome, kSome, 0);
    const Range& reads = footprint.pointers.at(1).reads.at(0);
    EXPECT_LE(reads.begin, 4 * low);
    EXPECT_GE(reads.end, 4 * high + 4);
    EXPECT_GE(reads.begin, 4 * 48);
    EXPECT_LE(reads.end, 4 * 98 + 4);
  }
  EXPECT_EQ(kernel.computed(), before);
  EXPECT_LT(before, 20u);
  kernel.hold(2, Ints{10, 2000});
  EXPECT_EQ(read_from(kernel, 2, 0), "[40,8004)");
}

}  // namespace
}  // namespace refrain::access
