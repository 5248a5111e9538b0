// Plans made in a thread beside the program: handed over once, given up at once.
#include "guide/planning.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "planner/check.hpp"

namespace refrain::guide {
namespace {

// Forward and backward over a chain, of which not all fits.
planner::Iteration chain(std::uint32_t length) {
  planner::Iteration out;
  out.values.push_back({.bytes = 10, .constant = true});
  for (std::uint32_t i = 0; i < length; ++i) {
    out.values.push_back({.bytes = 10});
    out.ops.push_back({.cost_ns = 10, .recompute_ns = 10 + i % 7, .reads = {i}, .writes = {i + 1}});
  }
  planner::ValueIndex gradient = length;
  for (std::uint32_t i = length; i-- > 0;) {
    const auto next = static_cast<planner::ValueIndex>(out.values.size());
    out.values.push_back({.bytes = 1, .wanted = i == 0});
    std::vector<planner::ValueIndex> reads{i};
    if (gradient != i) reads.push_back(gradient);
    out.ops.push_back({.cost_ns = 10, .recompute_ns = 10, .reads = reads, .writes = {next}});
    gradient = next;
  }
  for (planner::Value& value : out.values) value.freed_after = static_cast<planner::OpIndex>(out.ops.size());
  return out;
}

constexpr std::int64_t kCap = 200;

std::optional<MadePlan> wait_for(Planning& planning) {
  for (;;) {
    const bool busy = planning.busy();
    if (std::optional<MadePlan> made = planning.take()) return made;
    if (!busy) return std::nullopt;
    std::this_thread::yield();
  }
}

TEST(Planning, ByCountIsThereAtOnceAndTheSameEachTime) {
  const planner::Iteration iteration = chain(60);
  ASSERT_EQ(planner::problem_of(iteration), "");
  std::int64_t total_ns = 0;
  for (int repeat = 0; repeat < 2; ++repeat) {
    CountedPlanning planning({.improving = 500});
    planning.begin(iteration, kCap);
    const std::optional<MadePlan> made = planning.take();
    ASSERT_TRUE(made);
    EXPECT_EQ(planner::check_schedule(iteration, made->schedule, kCap).problem, "");
    EXPECT_FALSE(planning.take());
    EXPECT_TRUE(repeat == 0 || made->schedule.total_ns == total_ns);
    total_ns = made->schedule.total_ns;
  }
}

TEST(Planning, InAThreadHandsOverAPlanThatHolds) {
  const planner::Iteration iteration = chain(60);
  ThreadedPlanning planning({.first = 5, .improving = 0.05});
  planning.begin(iteration, kCap);
  const std::optional<MadePlan> first = wait_for(planning);
  ASSERT_TRUE(first);
  EXPECT_EQ(planner::check_schedule(iteration, first->schedule, kCap).problem, "");
  if (const std::optional<MadePlan> better = wait_for(planning)) {
    EXPECT_EQ(planner::check_schedule(iteration, better->schedule, kCap).problem, "");
    EXPECT_LT(better->schedule.total_ns, first->schedule.total_ns);
  }
  EXPECT_FALSE(planning.busy());
  EXPECT_FALSE(planning.take());
}

TEST(Planning, WhereThereIsNoneSaysSo) {
  ThreadedPlanning planning({.first = 5, .improving = 0.05});
  planning.begin(chain(60), 5);
  EXPECT_FALSE(wait_for(planning));
  CountedPlanning counted({.first = 100});
  counted.begin(chain(60), 5);
  EXPECT_FALSE(counted.take());
}

TEST(Planning, IsGivenUpAtOnce) {
  const auto began = std::chrono::steady_clock::now();
  ThreadedPlanning planning({.first = 1000, .improving = 1000});
  planning.begin(chain(400), kCap);
  ASSERT_TRUE(wait_for(planning));
  planning.begin(chain(300), kCap);  // before the other is through
  planning.stop();
  EXPECT_FALSE(planning.take());
  planning.begin(chain(200), kCap);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(300));
}

}  // namespace
}  // namespace refrain::guide
