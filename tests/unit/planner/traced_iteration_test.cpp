// Buffers that are written over become values, one for each version.
#include <gtest/gtest.h>

#include "planner/check.hpp"
#include "planner/planner.hpp"
#include "simulate/iteration.hpp"

namespace refrain::simulate {
namespace {

void add_op(Trace& trace, bool replayable, double cost_ns, std::vector<TraceUse> uses) {
  trace.steps.push_back({TraceStep::Kind::kOp, static_cast<std::uint32_t>(trace.ops.size())});
  trace.ops.push_back({.name = 0,
                       .replayable = replayable,
                       .cost_ns = cost_ns,
                       .first_use = trace.all_uses.size(),
                       .use_count = static_cast<std::uint32_t>(uses.size())});
  trace.all_uses.insert(trace.all_uses.end(), uses.begin(), uses.end());
}

TraceUse reads(std::uint32_t buffer) {
  return {.buffer = buffer, .read = true};
}
TraceUse writes(std::uint32_t buffer, bool whole = true) {
  return {.buffer = buffer, .written = true, .whole = whole};
}

TEST(TracedIteration, VersionsAreValues) {
  Trace trace;
  trace.buffers = {{.bytes = 8}, {.bytes = 20}, {.bytes = 3}, {.bytes = 5, .wanted = true}};
  add_op(trace, false, 0, {writes(0)});                      // a constant
  add_op(trace, true, 10, {reads(0), writes(1)});            // op 0
  add_op(trace, true, 11, {writes(1, false)});               // op 1: part of it, so what was there matters
  add_op(trace, false, 0, {writes(2)});                      // op 2: a copy from the host, later
  add_op(trace, true, 12, {reads(1), reads(2), writes(3)});  // op 3
  trace.steps.push_back({TraceStep::Kind::kFree, 1});
  add_op(trace, true, 13, {{.buffer = 3, .read = true, .written = true}});  // op 4

  const planner::Iteration iteration = iteration_of(trace);
  ASSERT_EQ(planner::problem_of(iteration), "");
  ASSERT_EQ(iteration.ops.size(), 5u);
  ASSERT_EQ(iteration.values.size(), 6u);
  EXPECT_TRUE(iteration.values[0].constant);
  EXPECT_EQ(iteration.ops[1].reads, (std::vector<planner::ValueIndex>{1}));
  EXPECT_EQ(iteration.ops[1].writes, (std::vector<planner::ValueIndex>{2}));
  EXPECT_EQ(iteration.ops[1].cost_ns, 11);
  EXPECT_EQ(iteration.values[1].freed_after, 1u);  // written over
  EXPECT_FALSE(iteration.ops[2].replayable);
  EXPECT_FALSE(iteration.values[3].wanted);
  trace.constants_stay = true;
  EXPECT_TRUE(iteration_of(trace).values[3].wanted);
  EXPECT_EQ(iteration.ops[3].reads, (std::vector<planner::ValueIndex>{2, 3}));
  EXPECT_EQ(iteration.values[2].freed_after, 3u);
  EXPECT_FALSE(iteration.values[4].wanted);  // an older version
  EXPECT_TRUE(iteration.values[5].wanted);
  EXPECT_EQ(iteration.values[5].freed_after, 5u);
  EXPECT_EQ(planner::unplanned_peak_bytes(iteration), 8 + 20 + 20);
}

TEST(TracedIteration, WhatIsReadAndWasNeverWrittenIsConstant) {
  Trace trace;
  trace.buffers = {{.bytes = 8}, {.bytes = 20}};
  add_op(trace, true, 10, {reads(0), writes(1)});
  const planner::Iteration iteration = iteration_of(trace);
  ASSERT_EQ(planner::problem_of(iteration), "");
  EXPECT_TRUE(iteration.values[iteration.ops[0].reads[0]].constant);
}

TEST(TracedIteration, AWorkspaceTakesMemoryAndIsNoInput) {
  Trace trace;
  trace.buffers = {{.bytes = 8}, {.bytes = 20}};
  const TraceUse workspace{.buffer = 1, .written = true, .undefined = true};
  add_op(trace, true, 10, {writes(0), workspace});
  add_op(trace, true, 10, {reads(0), workspace});
  const planner::Iteration iteration = iteration_of(trace);
  ASSERT_EQ(planner::problem_of(iteration), "");
  EXPECT_EQ(iteration.ops[1].reads, (std::vector<planner::ValueIndex>{0}));
  EXPECT_EQ(iteration.ops[1].writes.size(), 1u);
  EXPECT_EQ(planner::least_bytes(iteration), 28);
}

}  // namespace
}  // namespace refrain::simulate
