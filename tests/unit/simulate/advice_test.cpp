// The search for caps, over curves that are known: what it finds, and how close to the edge.
#include "simulate/advice.hpp"

#include <gtest/gtest.h>

#include <set>

namespace refrain::simulate {
namespace {

// Works from least_bytes on; overhead by cap.
std::function<Result(std::uint64_t)> runs(std::uint64_t least_bytes,
                                          const std::function<double(double)>& overhead,
                                          Outcome failure = Outcome::kOutOfMemory) {
  return [=](std::uint64_t cap_bytes) {
    Result result;
    result.base_ns = 1000;
    result.outcome = cap_bytes < least_bytes ? failure : Outcome::kOk;
    result.total_ns = 1000 * (1 + overhead(static_cast<double>(cap_bytes)));
    return result;
  };
}

double line(double cap_bytes) {
  return 1 - cap_bytes / 10000;
}

TEST(Advice, FindsTheLowestCapsToTheStep) {
  const Advice advice = advise(10000, 0.27, runs(3200, line));
  ASSERT_TRUE(advice.lowest && advice.lowest_within);
  EXPECT_GE(advice.lowest->cap_bytes, 3200u);
  EXPECT_LE(advice.lowest->cap_bytes, 3200u + 20);
  EXPECT_NEAR(advice.lowest->overhead, 0.679, 0.003);
  EXPECT_GE(advice.lowest_within->cap_bytes, 7300u);
  EXPECT_LE(advice.lowest_within->cap_bytes, 7300u + 20);
  EXPECT_LE(advice.lowest_within->overhead, 0.27);
  EXPECT_FALSE(advice.knee) << "a straight line has none";
  for (std::size_t i = 1; i < advice.curve.size(); ++i)
    EXPECT_GT(advice.curve[i - 1].cap_bytes, advice.curve[i].cap_bytes) << "highest first, each once";
  EXPECT_EQ(advice.curve.front().cap_bytes, 10000u);
}

TEST(Advice, TheKneeIsWhereTheCurveTurnsUp) {
  const Advice advice =
      advise(10000, 0.1, runs(1000, [](double cap) { return cap >= 4000 ? 0.0 : (4000 - cap) / 5000; }));
  ASSERT_TRUE(advice.knee);
  EXPECT_EQ(advice.knee->cap_bytes, 4000u);
  EXPECT_EQ(advice.knee->overhead, 0);
}

TEST(Advice, WhatNeverFailsGoesDownToTheStepAndWhatAlwaysFailsSaysNone) {
  const Advice all = advise(10000, 0.1, runs(0, [](double) { return 0.0; }));
  ASSERT_TRUE(all.lowest);
  EXPECT_LE(all.lowest->cap_bytes, 20u);
  EXPECT_FALSE(all.knee);
  const Advice none = advise(10000, 0.1, runs(20000, line, Outcome::kThrashed));
  EXPECT_FALSE(none.lowest || none.lowest_within || none.knee);
  ASSERT_EQ(none.curve.size(), 1u) << "lower ones are not tried";
  EXPECT_EQ(none.curve[0].outcome, Outcome::kThrashed);
}

TEST(Advice, NoneIsWithinWhereEvenThePeakCostsMore) {
  const Advice advice = advise(100, 0.1, runs(50, [](double) { return 0.2; }));
  EXPECT_TRUE(advice.lowest);
  EXPECT_FALSE(advice.lowest_within);
}

TEST(Advice, LooksBelowWhereAPolicyFailsAndGetsThroughAgain) {
  int runs_of_all = 0;
  std::set<std::uint64_t> caps;
  const Advice advice = advise(10000, 1, [&](std::uint64_t cap) {
    ++runs_of_all;
    caps.insert(cap);
    return runs(cap >= 4800 && cap <= 4850 ? 0 : 5000, line)(cap);
  });
  ASSERT_TRUE(advice.lowest);
  EXPECT_GE(advice.lowest->cap_bytes, 4800u);
  EXPECT_LE(advice.lowest->cap_bytes, 4850u);
  EXPECT_LE(advice.none_works_from_bytes, advice.lowest->cap_bytes * 91 / 100);
  EXPECT_EQ(caps.size(), static_cast<std::size_t>(runs_of_all)) << "none twice";
  EXPECT_TRUE(caps.contains(advice.none_works_from_bytes)) << "it was tried";
}

TEST(Advice, TinyPeaksEnd) {
  const Advice advice = advise(3, 0, runs(2, line));
  ASSERT_TRUE(advice.lowest);
  EXPECT_EQ(advice.lowest->cap_bytes, 2u);
}

}  // namespace
}  // namespace refrain::simulate
