// The checker finds what is wrong with a schedule.
#include "planner/check.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"

namespace refrain::planner {
namespace {

constexpr auto kRun = Action::Kind::kRun, kRecompute = Action::Kind::kRecompute, kDrop = Action::Kind::kDrop;

// Chain of two: x0 (constant) -op0- x1 -op1- x2, op2: g3 of x2, op3: g4 of x1, g3; op4: g5 of x0, g4.
Schedule plain() {
  return {
      .actions = {{kRun, 0}, {kRun, 1}, {kRun, 2}, {kDrop, 2}, {kRun, 3}, {kDrop, 1}, {kDrop, 3}, {kRun, 4}}};
}

TEST(Check, AcceptsAndAddsUp) {
  const Checked checked = check_schedule(chain(2), plain(), 4);
  EXPECT_EQ(checked.problem, "");
  EXPECT_EQ(checked.total_ns, 5);
  EXPECT_EQ(checked.peak_bytes, 4);
  Schedule schedule = plain();
  schedule.actions.insert(schedule.actions.begin() + 2, {{kDrop, 1}, {kRecompute, 0}});
  EXPECT_EQ(check_schedule(chain(2), schedule, 4).problem, "");
  EXPECT_EQ(check_schedule(chain(2), schedule, 4).total_ns, 6);
}

TEST(Check, FindsWhatIsWrong) {
  const Iteration iteration = chain(2);
  const auto problem = [&](Schedule schedule, std::int64_t cap = 100) {
    return check_schedule(iteration, schedule, cap).problem;
  };
  EXPECT_EQ(problem(plain(), 3), "action 2: op 2 needs 4 bytes of 3");
  Schedule schedule = plain();
  schedule.actions.erase(schedule.actions.begin());
  EXPECT_EQ(problem(schedule), "action 0: op 1 runs out of order");
  schedule = plain();
  schedule.actions.pop_back();
  EXPECT_EQ(problem(schedule), "op 4 never runs");
  schedule = plain();
  schedule.actions.insert(schedule.actions.begin() + 2, {kDrop, 2});
  EXPECT_EQ(problem(schedule), "action 3: op 2 misses value 2");
  schedule = plain();
  schedule.actions.push_back({kDrop, 5});
  EXPECT_EQ(problem(schedule), "value 5 is not there at the end");
  schedule.actions.back() = {kDrop, 0};
  EXPECT_EQ(problem(schedule), "action 8: value 0 is constant");
  schedule.actions.back() = {kDrop, 1};
  EXPECT_EQ(problem(schedule), "action 8: value 1 is dropped and not there");
  schedule.actions.back() = {kRecompute, 99};
  EXPECT_EQ(problem(schedule), "action 8: no such index: 99");
  schedule.actions.insert(schedule.actions.begin(), {kRecompute, 0});
  EXPECT_EQ(problem(schedule), "action 0: op 0 is recomputed before it has run");
}

TEST(Check, WhatIsRestoredHasACopyAndAPrice) {
  constexpr auto kOffload = Action::Kind::kOffload, kRestore = Action::Kind::kRestore;
  Iteration iteration = chain(2);
  Schedule schedule = plain();
  schedule.actions.insert(schedule.actions.begin() + 2, {{kOffload, 1}, {kRestore, 1}});
  EXPECT_EQ(check_schedule(iteration, schedule, 4).problem, "action 2: value 1 cannot be restored");
  iteration.values[1].restore_ns = 7;
  EXPECT_EQ(check_schedule(iteration, schedule, 4).problem, "");
  EXPECT_EQ(check_schedule(iteration, schedule, 4).total_ns, 12);
  EXPECT_EQ(check_schedule(iteration, schedule, 2).problem, "action 1: op 1 needs 3 bytes of 2");
  schedule.actions[2].kind = kDrop;
  EXPECT_EQ(check_schedule(iteration, schedule, 4).problem, "action 3: value 1 is restored without a copy");
  schedule.actions[3].index = 99;
  EXPECT_EQ(check_schedule(iteration, schedule, 4).problem, "action 3: no such index: 99");
}

TEST(Check, RefusesToRecomputeWhatMayNotBe) {
  Iteration iteration = chain(2);
  iteration.ops[0].replayable = false;
  Schedule schedule = plain();
  schedule.actions.insert(schedule.actions.begin() + 2, {kRecompute, 0});
  EXPECT_EQ(check_schedule(iteration, schedule, 100).problem, "action 2: op 0 may not be recomputed");
}

TEST(Check, UnplannedPeakFollowsTheProgramsFrees) {
  Iteration iteration = chain(2);
  EXPECT_EQ(unplanned_peak_bytes(iteration), 6);  // nothing freed
  iteration.values[2].freed_after = 2;
  iteration.values[3].freed_after = iteration.values[1].freed_after = 3;
  EXPECT_EQ(unplanned_peak_bytes(iteration), 4);
}

}  // namespace
}  // namespace refrain::planner
