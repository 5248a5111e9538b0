// What is known of memory that the host has written, and how anybody else's use of it ends that.
#include "cuda/known_contents.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace refrain::cuda {
namespace {

constexpr CUdeviceptr kBase = 0x100000;

class Known : public testing::Test {
 protected:
  bool copy(CUdeviceptr to, const std::vector<int>& from) {
    const KnownContents::Ticket ticket = contents_.await(kBase + to, from.size() * sizeof(int));
    if (ticket != 0) contents_.arrived(ticket, from.data());
    return ticket != 0;
  }
  // The first of the numbers that are known around an address; -1: none.
  int at(CUdeviceptr address) const {
    const access::Contents* contents = contents_.around(kBase + address);
    if (contents == nullptr) return -1;
    int out = 0;
    std::memcpy(&out, contents->bytes().data(), sizeof out);
    return out;
  }
  void used(CUdeviceptr begin, CUdeviceptr end, bool written) {
    contents_.used(kBase + begin, kBase + end, written);
  }
  KnownContents contents_;
};

TEST_F(Known, until_it_is_written) {
  copy(0, {1, 2, 3});
  EXPECT_EQ(at(0), 1);
  EXPECT_EQ(at(11), 1);
  EXPECT_EQ(at(12), -1);
  used(0, 100, false);
  used(12, 100, true);
  EXPECT_EQ(at(0), 1);
  used(11, 12, true);
  EXPECT_EQ(at(0), -1);
  EXPECT_TRUE(contents_.empty());
}

TEST_F(Known, the_last_copy_counts) {
  copy(0, {1, 2});
  copy(8, {3, 4});
  copy(16, {5, 6});
  EXPECT_EQ(at(4), 1);
  EXPECT_EQ(at(8), 3);
  copy(4, {7, 8});
  EXPECT_EQ(at(0), -1);
  EXPECT_EQ(at(4), 7);
  EXPECT_EQ(at(12), -1);
  EXPECT_EQ(at(16), 5);
}

TEST_F(Known, not_where_somebody_came_in_between) {
  const int number = 1;
  for (const bool written : {false, true}) {
    const KnownContents::Ticket ticket = contents_.await(kBase, sizeof number);
    used(3, 4, written);
    contents_.arrived(ticket, &number);
    EXPECT_EQ(at(0), -1);
  }
  const KnownContents::Ticket first = contents_.await(kBase, sizeof number);
  const KnownContents::Ticket other = contents_.await(kBase + 64, sizeof number);
  used(4, 64, true);
  contents_.failed(other);
  contents_.arrived(first, &number);
  EXPECT_EQ(at(0), 1);
  EXPECT_EQ(at(64), -1);
}

TEST_F(Known, nothing_while_anything_may_be_written) {
  const int number = 1;
  copy(0, {1});
  contents_.forget_all();
  EXPECT_EQ(at(0), -1);
  const KnownContents::Ticket ticket = contents_.await(kBase, sizeof number);
  contents_.suspend();
  contents_.arrived(ticket, &number);
  EXPECT_EQ(at(0), -1);
  EXPECT_FALSE(copy(0, {1}));
  contents_.resume();
  EXPECT_TRUE(copy(0, {1}));
  EXPECT_EQ(at(0), 1);
}

TEST_F(Known, never_where_unseen_writers_are_until_it_is_freed) {
  copy(0, {1});
  contents_.never(kBase, kBase + 8);
  EXPECT_EQ(at(0), -1);
  EXPECT_FALSE(copy(4, {1, 2}));
  EXPECT_TRUE(copy(8, {1}));
  contents_.freed(kBase, kBase + 16);
  EXPECT_EQ(at(8), -1);
  EXPECT_TRUE(copy(4, {1, 2}));
}

TEST_F(Known, bounded_in_all_and_each) {
  const std::vector<int> most(KnownContents::kMostBytes / sizeof(int), 7);
  const std::size_t room = KnownContents::kMostTotalBytes / KnownContents::kMostBytes;
  for (std::size_t i = 0; i <= room; ++i) EXPECT_TRUE(copy(i * KnownContents::kMostBytes, most));
  EXPECT_EQ(at(0), -1);  // the oldest went
  for (std::size_t i = 1; i <= room; ++i) EXPECT_EQ(at(i * KnownContents::kMostBytes), 7);
  std::vector<int> more(most.size() + 1, 7);
  EXPECT_FALSE(copy(0, more));
  for (std::size_t i = 0; i < 2 * KnownContents::kMostEntries; ++i) copy(0x10000000 + 8 * i, {1});
  EXPECT_EQ(at(0x10000000 + 8 * (KnownContents::kMostEntries - 1)), -1);
  EXPECT_EQ(at(0x10000000 + 8 * KnownContents::kMostEntries), 1);
}

}  // namespace
}  // namespace refrain::cuda
