// Address look-up and small allocations.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "cuda/addresses.hpp"
#include "cuda/slabs.hpp"

namespace refrain::cuda {
namespace {

TEST(Addresses, FindsInsideAndNothingOutside) {
  Addresses addresses;
  addresses.insert({.base = 0x2000, .bytes = 0x100, .buffer = {2}});
  addresses.insert({.base = 0x1000, .bytes = 0x80, .buffer = {1}});
  EXPECT_EQ(addresses.find(0x1000)->buffer.index, 1u);
  EXPECT_EQ(addresses.find(0x107f)->buffer.index, 1u);
  EXPECT_EQ(addresses.find(0x1080), nullptr);
  EXPECT_EQ(addresses.find(0xfff), nullptr);
  EXPECT_EQ(addresses.find(0x20ff)->buffer.index, 2u);
  EXPECT_EQ(addresses.find(0x2100), nullptr);
  addresses.erase(0x1000);
  EXPECT_EQ(addresses.find(0x1000), nullptr);
  addresses.erase(0x2001);  // not a base
  EXPECT_NE(addresses.find(0x2000), nullptr);
}

TEST(Slabs, HandsOutDisjointAlignedRangesAndMergesThemAgain) {
  Slabs slabs;
  slabs.add(0x10000, 64 * 1024);
  std::mt19937 random(1);
  std::map<CUdeviceptr, std::uint64_t> taken;
  for (int i = 0; i < 20000; ++i) {
    if (taken.size() < 40 && random() % 2 == 0) {
      const std::uint64_t bytes = 1 + random() % 2000;
      const CUdeviceptr base = slabs.take(bytes);
      if (!base) continue;
      EXPECT_EQ(base % Slabs::kAlignment, 0u);
      EXPECT_LE(base + bytes, 0x10000u + 64 * 1024);
      const auto next = taken.lower_bound(base);
      if (next != taken.end()) {
        EXPECT_LE(base + bytes, next->first);
      }
      if (next != taken.begin()) {
        EXPECT_GE(base, std::prev(next)->first + std::prev(next)->second);
      }
      taken[base] = bytes;
    } else if (!taken.empty()) {
      const auto it = std::next(taken.begin(), static_cast<std::ptrdiff_t>(random() % taken.size()));
      slabs.give_back(it->first);
      taken.erase(it);
    }
  }
  for (const auto& [base, bytes] : taken) slabs.give_back(base);
  EXPECT_EQ(slabs.take(64 * 1024), 0x10000u) << "free neighbours were not merged";
  EXPECT_EQ(slabs.take(1), 0u);
}

}  // namespace
}  // namespace refrain::cuda
