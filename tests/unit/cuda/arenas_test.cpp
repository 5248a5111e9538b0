// Which part of an allocation lies where: parts never overlap, whole pages inside are their own, outermost
// ones shared.
#include "cuda/arenas.hpp"

#include <gtest/gtest.h>

namespace refrain::cuda {
namespace {

constexpr CUdeviceptr kBase = 0x100000;
constexpr std::uint64_t kPage = 0x1000;

class Arenas : public testing::Test {
 protected:
  std::vector<Part> cover(CUdeviceptr begin, CUdeviceptr end) {
    std::vector<Part> out;
    const auto make = [&](Part& part) {
      part.buffer = {next_++};
      return true;
    };
    EXPECT_TRUE(arena_.cover(kBase + begin, kBase + end, make, out));
    return out;
  }
  static std::vector<std::pair<CUdeviceptr, CUdeviceptr>> places(const std::vector<Part>& parts) {
    std::vector<std::pair<CUdeviceptr, CUdeviceptr>> out;
    for (const Part& part : parts) out.emplace_back(part.begin - kBase, part.end - kBase);
    return out;
  }
  using Places = std::vector<std::pair<CUdeviceptr, CUdeviceptr>>;

  Arena arena_{kBase, 10 * kPage + 100, kPage, {7}};
  std::uint32_t next_ = 20;
};

TEST_F(Arenas, a_range_becomes_a_part_once) {
  EXPECT_EQ(places(cover(100, 9000)), (Places{{100, 9000}}));
  EXPECT_EQ(places(cover(200, 300)), (Places{{100, 9000}}));
  EXPECT_EQ(next_, 21u);
}

TEST_F(Arenas, what_lies_between_parts_becomes_parts) {
  cover(5000, 6000);
  cover(8000, 9000);
  EXPECT_EQ(places(cover(4000, 10000)),
            (Places{{4000, 5000}, {5000, 6000}, {6000, 8000}, {8000, 9000}, {9000, 10000}}));
}

TEST_F(Arenas, nothing_outside_of_the_allocation) {
  EXPECT_EQ(places(cover(10 * kPage, 20 * kPage)), (Places{{10 * kPage, 10 * kPage + 100}}));
}

TEST_F(Arenas, own_pages_are_whole_ones) {
  const Part part{kBase + 100, kBase + 3 * kPage + 1, {1}};
  const CudaDevice::Placement at = arena_.placement(part);
  EXPECT_EQ(at.base, kBase);
  EXPECT_EQ(at.bytes, 4 * kPage);
  EXPECT_EQ(at.own_base, kBase + kPage);
  EXPECT_EQ(at.own_bytes, 2 * kPage);
  EXPECT_EQ(at.skip_bytes, 100u);
  EXPECT_EQ(at.content_bytes, 3 * kPage + 1 - 100);
  EXPECT_EQ(arena_.missing_pages(part), (std::vector<CUdeviceptr>{kBase, kBase + 3 * kPage}));
  arena_.add_shared_page(kBase, {9});
  EXPECT_EQ(arena_.missing_pages(part), (std::vector<CUdeviceptr>{kBase + 3 * kPage}));
}

TEST_F(Arenas, a_part_inside_one_page_has_none) {
  const Part part{kBase + 100, kBase + 200, {1}};
  EXPECT_EQ(arena_.placement(part).own_bytes, 0u);
  EXPECT_EQ(arena_.missing_pages(part), (std::vector<CUdeviceptr>{kBase}));
}

TEST_F(Arenas, the_rest_of_the_last_page_is_the_last_parts) {
  const Part part{kBase + 8 * kPage, kBase + 10 * kPage + 100, {1}};
  EXPECT_EQ(arena_.placement(part).own_bytes, 3 * kPage);
  EXPECT_TRUE(arena_.missing_pages(part).empty());
}

TEST_F(Arenas, no_memory_leaves_it_as_it_was) {
  std::vector<Part> out;
  EXPECT_FALSE(arena_.cover(
      kBase, kBase + 10, [](Part&) { return false; }, out));
  EXPECT_TRUE(arena_.parts().empty());
}

TEST_F(Arenas, a_freed_one_goes_with_its_last_part) {
  cuda::Arenas all;
  Arena& arena = all.add(Arena(kBase, 10 * kPage, kPage, {7}));
  all.watch({1}, arena);
  all.watch({2}, arena);
  EXPECT_FALSE(all.released({3}));
  all.freed(arena);
  EXPECT_TRUE(all.live().empty());
  EXPECT_TRUE(all.released({1}));
  EXPECT_EQ(all.finished(), nullptr);
  EXPECT_TRUE(all.released({2}));
  ASSERT_EQ(all.finished(), &arena);
  all.forget(arena);
  EXPECT_EQ(all.finished(), nullptr);
}

}  // namespace
}  // namespace refrain::cuda
