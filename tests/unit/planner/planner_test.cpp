// Plans hold, are as good as what is known to be best on chains, and say when there is none.
#include "planner/planner.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "iterations.hpp"
#include "planner/check.hpp"

namespace refrain::planner {
namespace {

Progress moves(int most) {
  return [most, asked = 0]() mutable { return static_cast<double>(asked++) / most; };
}

std::int64_t base_ns(const Iteration& iteration) {
  std::int64_t sum = 0;
  for (const Op& op : iteration.ops) sum += op.cost_ns;
  return sum;
}

TEST(Planner, RevolveIsWhatThePaperSays) {
  // Griewank and Walther 2000: t(l, c) = r l - beta(c + 1, r - 1) steps; here the last step of each part is
  // free.
  EXPECT_EQ(revolve(10, 1), 45);
  EXPECT_EQ(revolve(4, 3), 3);
}

class Chain : public testing::TestWithParam<int> {};

// 64 steps. Beside the places: the constant input, the state that is being made, the gradient.
TEST_P(Chain, CloseToRevolve) {
  const int places = GetParam(), steps = 64;
  const Iteration iteration = chain(steps);
  const std::int64_t optimum = revolve(steps + 1, places) - steps;
  Planner planner(iteration, places + 3, 1);
  ASSERT_TRUE(planner.start(moves(100000)));
  const std::int64_t first = planner.recomputed_ns();
  planner.improve(moves(4000));
  const Checked checked = check_schedule(iteration, planner.schedule(), places + 3);
  ASSERT_EQ(checked.problem, "");
  EXPECT_EQ(checked.total_ns, base_ns(iteration) + planner.recomputed_ns());
  EXPECT_LE(planner.recomputed_ns(), first);
  RecordProperty("optimum", static_cast<int>(optimum));
  RecordProperty("first", static_cast<int>(first));
  RecordProperty("found", static_cast<int>(planner.recomputed_ns()));
  EXPECT_LE(static_cast<double>(planner.recomputed_ns()), 1.1 * static_cast<double>(optimum));
}

INSTANTIATE_TEST_SUITE_P(Places, Chain, testing::Values(2, 3, 4, 6, 8, 16, 32));

TEST(Planner, RecomputesNothingWhereEverythingFits) {
  const Iteration iteration = chain(20);
  Planner planner(iteration, unplanned_peak_bytes(iteration), 1);
  ASSERT_TRUE(planner.start(moves(1000)));
  EXPECT_EQ(planner.recomputed_ns(), 0);
  planner.improve(moves(1000));
  EXPECT_EQ(check_schedule(iteration, planner.schedule(), unplanned_peak_bytes(iteration)).problem, "");
}

TEST(Planner, SaysThatThereIsNone) {
  const Iteration iteration = chain(20);
  EXPECT_EQ(least_bytes(iteration), 4);  // a step backward in the middle: input, state, two gradients
  Planner below(iteration, 3, 1);
  EXPECT_FALSE(below.start(moves(1000)));
  Iteration stuck = chain(20);
  for (Op& op : stuck.ops) op.replayable = false;
  Planner unplayable(stuck, 20, 1);
  EXPECT_FALSE(unplayable.start(moves(100)));
}

// u is large, v small and made of u alone. Neither can stay over the wide op. u comes back for its own
// reader; right before v's reader there is no room for it beside b. So v has to be made early, while u is
// there.
TEST(Planner, ComputesEarlierWhatTakesMoreMemoryLater) {
  Iteration iteration;
  const auto value = [&](std::int64_t bytes) { return add_value(iteration, bytes); };
  const ValueIndex u = value(10), v = value(1), wide = value(12), a = value(1), b = value(9), last = value(1);
  add_op(iteration, 10, {}, {u});
  add_op(iteration, 1, {u}, {v});
  add_op(iteration, 1, {}, {wide});
  add_op(iteration, 1, {u}, {a});
  add_op(iteration, 20, {a}, {b});
  add_op(iteration, 1, {v, b}, {last});
  iteration.values[last].wanted = true;
  for (const std::uint32_t seed : {1, 2, 3}) {
    Planner planner(iteration, 12, seed);
    ASSERT_TRUE(planner.start(moves(1000)));
    EXPECT_EQ(planner.recomputed_ns(), 41);  // u; then u, v and b again
    planner.improve(moves(1000));
    EXPECT_EQ(planner.recomputed_ns(), 11);
    EXPECT_EQ(check_schedule(iteration, planner.schedule(), 12).problem, "");
  }
}

TEST(Planner, RandomIterationsAreCarriedOutAsPredicted) {
  int solved = 0;
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Iteration iteration = random_iteration(seed, 60);
    if (seed % 2 == 0) make_restorable(iteration, seed);
    const std::int64_t low = least_bytes(iteration), high = unplanned_peak_bytes(iteration);
    const std::int64_t cap = low + static_cast<std::int64_t>(seed % 10) * (high - low) / 10;
    Planner planner(iteration, cap, seed);
    if (!planner.start(moves(40))) continue;
    ++solved;
    planner.improve(moves(200));
    const Schedule schedule = planner.schedule();
    const Checked checked = check_schedule(iteration, schedule, cap);
    ASSERT_EQ(checked.problem, "");
    EXPECT_EQ(checked.total_ns, schedule.total_ns);
    EXPECT_EQ(checked.total_ns, base_ns(iteration) + planner.recomputed_ns());
    EXPECT_EQ(checked.peak_bytes, schedule.peak_bytes);
  }
  EXPECT_GE(solved, 40);
}

// Every state is copied out and back where that costs as much as one step, whatever it would take to compute
// it.
TEST(Planner, RestoresWhatIsDearerToCompute) {
  constexpr int kSteps = 30;
  for (const bool replayable : {true, false}) {
    Iteration iteration = chain(kSteps);
    for (Value& value : iteration.values) value.restore_ns = 1;
    for (Op& op : iteration.ops) op.replayable = replayable;
    Planner planner(iteration, 5, 1);
    ASSERT_TRUE(planner.start(moves(1000)));
    planner.improve(moves(1000));
    const Schedule schedule = planner.schedule();
    EXPECT_EQ(check_schedule(iteration, schedule, 5).problem, "");
    EXPECT_LE(planner.recomputed_ns(), kSteps);
    const auto restores = std::count_if(schedule.actions.begin(), schedule.actions.end(),
                                        [](const Action& a) { return a.kind == Action::Kind::kRestore; });
    EXPECT_GT(restores, kSteps / 2);
    for (Value& value : iteration.values) value.restore_ns = kNoRestore;
    Planner without(iteration, 5, 1);
    EXPECT_EQ(without.start(moves(1000)), replayable) << "there is no other way";
    if (replayable) {
      EXPECT_GT(without.recomputed_ns(), 2 * kSteps);
    }
  }
}

TEST(Planner, RestoresNothingThatIsCheaperToCompute) {
  Iteration iteration = chain(30);
  for (Value& value : iteration.values) value.restore_ns = 1000;
  Planner planner(iteration, 12, 1);
  ASSERT_TRUE(planner.start(moves(1000)));
  for (const Action& action : planner.schedule().actions) EXPECT_NE(action.kind, Action::Kind::kRestore);
}

// Whoever stops it says 1 from then on, and waits.
TEST(Planner, StopsWheneverItIsToldTo) {
  const Iteration iteration = chain(40);
  constexpr std::int64_t kCap = 8;
  for (const double reached : {0.0, 0.05, 0.12, 0.5, 0.97}) {
    for (const int most : {0, 1, 7, 40, 300}) {
      int asked = 0, late = 0;
      const auto progress = [&] {
        if (asked++ < most) return reached;
        if (++late > 1000) throw std::runtime_error("it does not stop");
        return 1.0;
      };
      Planner planner(iteration, kCap, 1);
      ASSERT_TRUE(planner.start(moves(1000)));
      ASSERT_GT(planner.recomputed_ns(), 0) << "there is something to improve";
      ASSERT_NO_THROW(planner.improve(progress)) << reached << " " << most;
      EXPECT_EQ(check_schedule(iteration, planner.schedule(), kCap).problem, "");
    }
  }
}

// Also in the middle of a first plan, which asks for no time.
TEST(Planner, EndsAtOnceForACallerWhoCannotWait) {
  const Iteration iteration = chain(400);
  for (const int drops : {0, 3, 50}) {
    int asked = 0;
    Planner planner(iteration, 8, 1, [&] { return asked++ >= drops; });
    int looks = 0;
    EXPECT_FALSE(planner.start([&] { return ++looks > 100 ? 1.0 : 0.0; }));
    EXPECT_GT(asked, drops);
    EXPECT_LT(asked, drops + 101 * 330) << "one for each move of the searches between two looks";
    EXPECT_LE(looks, 101);
  }
}

TEST(Planner, TheSameSeedGivesTheSamePlan) {
  const Iteration iteration = random_iteration(5, 80);
  const std::int64_t cap = (least_bytes(iteration) + unplanned_peak_bytes(iteration)) / 2;
  const auto plan = [&](std::uint32_t seed) {
    Planner planner(iteration, cap, seed);
    EXPECT_TRUE(planner.start(moves(1000)));
    planner.improve(moves(500));
    std::vector<std::uint64_t> actions;
    for (const Action& action : planner.schedule().actions)
      actions.push_back(static_cast<std::uint64_t>(action.kind) << 32 | action.index);
    return actions;
  };
  EXPECT_EQ(plan(3), plan(3));
}

}  // namespace
}  // namespace refrain::planner
