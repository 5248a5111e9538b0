// The length of what repeats, from shapes alone.
#include "guide/period.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string_view>

namespace refrain::guide {
namespace {

const auto kAny = [](std::size_t) { return true; };

void add(Period& period, std::string_view shapes) {
  for (const char shape : shapes) period.add(static_cast<std::uint64_t>(shape));
}

TEST(Period, IsFoundAtTheEndOfTheSecond) {
  Period period(100);
  add(period, "setup");
  add(period, "abcabda");  // a b c a b d a: the seventh begins the second
  EXPECT_EQ(period.find(1, kAny), 0u);
  add(period, "bcabd");
  EXPECT_EQ(period.find(1, kAny), 6u);
}

TEST(Period, AShorterOneInsideIsPassedOverWhereAsked) {
  Period period(100);
  add(period,
      "ababab"
      "xyz"
      "ababab"
      "xyz");
  EXPECT_EQ(period.find(1, kAny), 9u);
  Period inner(100);
  add(inner, "qababab");
  EXPECT_EQ(inner.find(1, kAny), 2u);
  EXPECT_EQ(inner.find(3, kAny), 0u);
  EXPECT_EQ(inner.find(1, [](std::size_t length) { return length != 2; }), 0u);
}

TEST(Period, OfWhatNeverRepeatsIsNone) {
  Period period(50);
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    period.add(random() % 7);
    EXPECT_EQ(period.find(20, kAny), 0u) << i;
  }
}

TEST(Period, NoneIsLongerThanAllowedAndNoneReachesBackBehindWhatIsForgotten) {
  std::mt19937_64 random(5);
  std::vector<std::uint64_t> shapes(40);
  for (std::uint64_t& shape : shapes) shape = random();
  for (const std::size_t most : {39u, 40u}) {
    Period period(most);
    std::size_t found = 0;
    for (int repeat = 0; repeat < 3; ++repeat) {
      for (const std::uint64_t shape : shapes) {
        period.add(shape);
        found = std::max(found, period.find(1, kAny));
      }
    }
    EXPECT_EQ(found, most == 40 ? 40u : 0u);
  }
  Period period(100);
  add(period, "abcdefgh");
  period.forget();
  add(period, "abcdefgh");
  EXPECT_EQ(period.find(1, kAny), 0u);
  add(period, "abcdefgh");
  EXPECT_EQ(period.find(1, kAny), 8u);
}

// Against what the words mean, for every length.
TEST(Period, IsTheShortestThatThereIs) {
  std::mt19937_64 random(7);
  for (int repeat = 0; repeat < 200; ++repeat) {
    Period period(64);
    std::vector<std::uint64_t> all;
    for (int i = 0; i < 120; ++i) {
      const std::uint64_t shape =
          i > 10 && random() % 8 != 0 ? all[all.size() - 1 - repeat % 9] : random() % 3;
      all.push_back(shape);
      period.add(shape);
      std::size_t expected = 0;
      for (std::size_t length = 64; length > 0; --length) {
        if (all.size() >= 2 * length && std::equal(all.end() - static_cast<std::ptrdiff_t>(length), all.end(),
                                                   all.end() - static_cast<std::ptrdiff_t>(2 * length)))
          expected = length;
      }
      ASSERT_EQ(period.find(1, kAny), expected);
    }
  }
}

}  // namespace
}  // namespace refrain::guide
