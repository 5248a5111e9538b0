// What a follower says, put together, is the schedule; a program that does something else is noticed at once.
#include "planner/follower.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"
#include "planner/check.hpp"
#include "planner/planner.hpp"

namespace refrain::planner {
namespace {

constexpr std::int64_t kCap = 8;

Schedule plan(const Iteration& iteration) {
  Planner planner(iteration, kCap, 1);
  EXPECT_TRUE(planner.start([] { return 0.0; }));
  return planner.schedule();
}

std::vector<std::uint64_t> identities(const Iteration& iteration) {
  std::vector<std::uint64_t> list;
  for (std::size_t op = 0; op < iteration.ops.size(); ++op) list.push_back(100 + op);
  return list;
}

TEST(Follower, SaysTheWholeScheduleIterationAfterIteration) {
  const Iteration iteration = chain(12);
  Follower follower(plan(iteration), identities(iteration));
  for (int repeat = 0; repeat < 3; ++repeat) {
    Schedule said;
    const auto add = [&](std::span<const Action> actions) {
      said.actions.insert(said.actions.end(), actions.begin(), actions.end());
    };
    for (OpIndex op = 0; op < iteration.ops.size(); ++op) {
      const auto first = follower.before(100 + op);
      ASSERT_TRUE(first.has_value()) << op;
      add(*first);
      said.actions.push_back({Action::Kind::kRun, op});
      EXPECT_EQ(follower.next_op(), op + 1);
      add(follower.after());
    }
    const Checked checked = check_schedule(iteration, said, kCap);
    EXPECT_EQ(checked.problem, "");
    EXPECT_EQ(checked.total_ns, plan(iteration).total_ns);
  }
}

TEST(Follower, DropsComeRightAfterTheOp) {
  const Iteration iteration = chain(12);
  Follower follower(plan(iteration), identities(iteration));
  std::size_t dropped = 0;
  for (OpIndex op = 0; op + 1 < iteration.ops.size(); ++op) {
    ASSERT_TRUE(follower.before(100 + op).has_value());
    for (const Action& action : follower.after()) {
      EXPECT_EQ(action.kind, Action::Kind::kDrop);
      ++dropped;
    }
  }
  EXPECT_GT(dropped, 0u);
}

TEST(Follower, IsLostAtTheFirstOtherOpUntilRestarted) {
  const Iteration iteration = chain(12);
  Follower follower(plan(iteration), identities(iteration));
  ASSERT_TRUE(follower.before(100).has_value());
  follower.after();
  EXPECT_FALSE(follower.before(102).has_value());
  EXPECT_TRUE(follower.lost());
  EXPECT_TRUE(follower.after().empty());
  EXPECT_FALSE(follower.before(101).has_value());  // it was that, but nobody knows what happened since
  follower.restart();
  EXPECT_FALSE(follower.lost());
  EXPECT_TRUE(follower.before(100).has_value());
}

TEST(Follower, OfNothingIsLost) {
  Follower follower({}, {});
  EXPECT_FALSE(follower.before(1).has_value());
}

}  // namespace
}  // namespace refrain::planner
