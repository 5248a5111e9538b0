// A trace through the engine on the virtual device: by hand where it is small, beside the published runtime
// where it is not.
#include <gtest/gtest.h>

#include <random>

#include "dtr_data.hpp"
#include "planner/check.hpp"
#include "simulate/dtr_log.hpp"
#include "simulate/iteration.hpp"
#include "simulate/published.hpp"
#include "simulate/simulation.hpp"

namespace refrain::simulate {
namespace {

// A chain forwards and back: a leaf, `length` values made one from the other, then each is read again from
// the last to the first and freed. All of 10 bytes, each op of 100 ns.
Trace chain(std::uint32_t length) {
  Trace trace;
  trace.names = {"f"};
  const auto op = [&](std::vector<TraceUse> uses, double cost_ns, bool replayable = true) {
    trace.steps.push_back({TraceStep::Kind::kOp, static_cast<std::uint32_t>(trace.ops.size())});
    trace.ops.push_back({.name = 0,
                         .replayable = replayable,
                         .cost_ns = cost_ns,
                         .first_use = trace.all_uses.size(),
                         .use_count = static_cast<std::uint32_t>(uses.size())});
    trace.all_uses.insert(trace.all_uses.end(), uses.begin(), uses.end());
  };
  trace.buffers.assign(length + 1, {.bytes = 10, .wanted = false});
  op({{.buffer = 0, .written = true, .whole = true}}, 0, false);
  for (std::uint32_t i = 1; i <= length; ++i) {
    op({{.buffer = i - 1, .read = true}, {.buffer = i, .written = true, .whole = true}}, 100);
  }
  for (std::uint32_t i = length; i >= 1; --i) {
    op({{.buffer = i, .read = true}}, 100);
    trace.steps.push_back({TraceStep::Kind::kFree, i});
  }
  return trace;
}

Result run(const Trace& trace, std::uint64_t cap_bytes, const DeviceTimes& times = {}) {
  return simulate(trace, {.engine = {.cap_bytes = cap_bytes, .granularity_bytes = 1}, .times = times});
}

TEST(Simulation, WithoutPressureTheTotalIsTheBase) {
  const Result result = run(chain(10), 110);
  EXPECT_EQ(result.outcome, Outcome::kOk);
  EXPECT_EQ(result.base_ns, 2000);
  EXPECT_EQ(result.total_ns, 2000);
  EXPECT_EQ(result.peak_bytes, 110u);
  EXPECT_EQ(result.evictions, 0u);
  EXPECT_EQ(result.decisions.count(), 0u);
}

TEST(Simulation, WhatIsEvictedCostsItsOpsAgain) {
  // The leaf and all values but one fit: one goes, and comes back by one op.
  const Result result = run(chain(10), 100);
  EXPECT_EQ(result.outcome, Outcome::kOk);
  EXPECT_EQ(result.total_ns, 2100);
  EXPECT_EQ(result.peak_bytes, 100u);
  EXPECT_EQ(result.evictions, 1u);
  EXPECT_EQ(result.rematerialisations, 1u);
  EXPECT_EQ(result.decisions.count(), 1u);
}

// One value has to go: the one that the schedule says, whatever it costs.
TEST(Simulation, WhatASchedulePutsUpGoesAndWhatItComputesComesBack) {
  using Kind = planner::Action::Kind;
  constexpr std::uint32_t kLength = 10;
  Trace trace = chain(kLength);
  for (std::uint32_t i = 1; i <= kLength; ++i) trace.ops[i].cost_ns = 100.0 * i;
  for (std::uint32_t victim = 2; victim < kLength - 1; ++victim) {
    Directions directions;
    directions.iteration = iteration_of(trace, nullptr, &directions.buffers);
    const auto place = std::find(directions.buffers.begin(), directions.buffers.end(), victim);
    const auto value = static_cast<planner::ValueIndex>(place - directions.buffers.begin());
    ASSERT_EQ(directions.iteration.ops.size(), 2 * kLength) << "the leaf is constant";
    for (planner::OpIndex op = 0; op < 2 * kLength; ++op) {
      const planner::OpIndex reads_victim = 2 * kLength - victim;
      if (op == reads_victim) directions.schedule.actions.push_back({Kind::kRecompute, victim - 1});
      directions.schedule.actions.push_back({Kind::kRun, op});
      if (op == victim) directions.schedule.actions.push_back({Kind::kDrop, value});
    }
    ASSERT_EQ(planner::check_schedule(directions.iteration, directions.schedule, 1000).problem, "");
    const Result result =
        simulate(trace, {.engine = {.cap_bytes = 100, .granularity_bytes = 1}, .directions = &directions});
    EXPECT_EQ(result.account, Result::Account::kDirectedRun);
    EXPECT_EQ(result.evictions, 1u);
    EXPECT_EQ(result.total_ns, result.base_ns + 100 * victim);
  }
}

TEST(Simulation, WhatCannotBeHeldIsOutOfMemoryAndWhatComesToNothingIsStopped) {
  EXPECT_EQ(run(chain(10), 19).outcome, Outcome::kOutOfMemory);
  // With three at a time, each of forty values takes its whole chain again.
  const Result result = run(chain(40), 30);
  EXPECT_EQ(result.outcome, Outcome::kThrashed);
  EXPECT_GT(result.total_ns, result.base_ns);
}

TEST(Simulation, WhatIsWantedAtTheEndIsBroughtBack) {
  Trace trace = chain(4);
  trace.steps.clear();
  for (std::uint32_t i = 0; i <= 4; ++i) trace.steps.push_back({TraceStep::Kind::kOp, i});
  trace.buffers[1].wanted = true;
  trace.buffers[2].wanted = true;
  // 3 and 4 pushed 1 out, and 2 or 3 with it.
  const Result result = run(trace, 30);
  EXPECT_EQ(result.outcome, Outcome::kOk);
  EXPECT_GE(result.total_ns, result.base_ns + 100 - 400);
  EXPECT_GT(result.rematerialisations, 0u);
  trace.buffers[3].wanted = true;
  EXPECT_EQ(run(trace, 30).outcome, Outcome::kOutOfMemory) << "three wanted and the leaf are more than three";
}

TEST(Simulation, PageMappingTakesTheTimeItIsGiven) {
  const Result result = run(chain(10), 1000, {.mapping = {.create_ns = 7, .map_ns = 3}});
  EXPECT_EQ(result.total_ns, 2000);
  EXPECT_EQ(result.device_ns, 2000 + 11 * (7 + 3));
  // One goes and comes back: its pages twice in other places, and by a graph of one node instead of a launch.
  const Result again =
      run(chain(10), 100, {.mapping = {.map_ns = 3, .unmap_ns = 5}, .launch_ns = 50, .node_ns = 20});
  EXPECT_EQ(again.evictions, 1u);
  EXPECT_EQ(again.device_ns, 2000 + (100 - 50 + 20) + 50 + 12 * 3 + 2 * 5);
}

TEST(Simulation, WhatOpsAreThoughtToTakeMayComeLate) {
  Trace trace = chain(10);
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i) trace.ops[i].cost_class = i;
  for (std::uint32_t i = 1; i < trace.ops.size(); ++i) trace.costs.push_back({.cost_class = i, .ns = 1});
  const Result known = run(trace, 100);
  std::vector<TraceStep> steps;
  for (std::uint32_t i = 0; i < trace.costs.size(); ++i) steps.push_back({TraceStep::Kind::kCost, i});
  trace.steps.insert(trace.steps.begin(), steps.begin(), steps.end());
  const Result result = run(trace, 100);
  EXPECT_EQ(result.evictions, known.evictions);
  EXPECT_EQ(result.total_ns, 2100) << "what it really takes";
}

// A leaf on a shared page is written over while an evicted value needs it: kept aside, on a page of its own.
TEST(Simulation, CopiesOfWhatSharesPagesTakeWholeOnes) {
  Trace trace;
  trace.names = {"f"};
  trace.buffers = {
      {.bytes = 0, .wanted = false, .shared_bytes = 3}, {.bytes = 10}, {.bytes = 10}, {.bytes = 10}};
  const auto op = [&](std::vector<TraceUse> uses, bool replayable) {
    trace.steps.push_back({TraceStep::Kind::kOp, static_cast<std::uint32_t>(trace.ops.size())});
    trace.ops.push_back({.name = 0,
                         .replayable = replayable,
                         .cost_ns = 100,
                         .first_use = trace.all_uses.size(),
                         .use_count = static_cast<std::uint32_t>(uses.size())});
    trace.all_uses.insert(trace.all_uses.end(), uses.begin(), uses.end());
  };
  const auto write = [](std::uint32_t buffer) {
    return TraceUse{.buffer = buffer, .written = true, .whole = true};
  };
  op({write(0)}, false);
  for (std::uint32_t i = 1; i <= 3; ++i) op({{.buffer = 0, .read = true}, write(i)}, true);
  op({write(0)}, false);
  for (std::uint32_t i = 1; i <= 3; ++i) op({{.buffer = i, .read = true}}, true);
  const auto peak = [&](std::uint64_t page_bytes) {
    const Result result =
        simulate(trace, {.engine = {.cap_bytes = 25, .granularity_bytes = page_bytes}, .times = {}});
    EXPECT_EQ(result.outcome, Outcome::kOk) << page_bytes;
    return result.peak_bytes;
  };
  EXPECT_EQ(peak(1), 23u);
  EXPECT_EQ(peak(5), 25u);
}

TEST(DecisionTimes, QuantilesAreWithinASixteenth) {
  DecisionTimes times;
  EXPECT_EQ(times.quantile_ns(0.5), 0);
  for (int i = 1; i <= 1000; ++i) times.add(i);
  EXPECT_EQ(times.count(), 1000u);
  EXPECT_NEAR(times.quantile_ns(0.5), 500, 500 / 16.0);
  EXPECT_NEAR(times.quantile_ns(0.99), 990, 990 / 16.0);
}

// The engine decides by the same h_DTR, so that it can only gain from knowing no views, freeing what was
// computed on the way, and holding less of a chain at once. Where hardly anything is computed again the two
// are the same.
TEST(Simulation, TheEngineIsAsGoodAsThePublishedRuntime) {
  NEED_DTR_DATA();
  int solved = 0;
  int published_solved = 0;
  for (auto& row : read_csv(dtr_data() / "models.csv")) {
    if (left_out(row["model"])) continue;
    std::ifstream file(dtr_data() / row["log"]);
    const OperatorLog log = read_dtr_log(file, row["log"]);
    const Trace trace = lower(log);
    const std::uint64_t peak_bytes = totals_of(trace).peak_bytes;
    for (int tenths = 10; tenths > 0; --tenths) {
      SCOPED_TRACE(row["model"] + " " + std::to_string(tenths));
      const std::uint64_t cap_bytes = peak_bytes * static_cast<std::uint64_t>(tenths) / 10;
      const Result mine = run(trace, cap_bytes);
      EXPECT_LE(mine.peak_bytes, cap_bytes);
      const Result theirs = run_published(log, {.budget_bytes = cap_bytes});
      solved += mine.outcome == Outcome::kOk ? 1 : 0;
      published_solved += theirs.outcome == Outcome::kOk ? 1 : 0;
      if (theirs.outcome != Outcome::kOk) continue;
      ASSERT_EQ(mine.outcome, Outcome::kOk);
      EXPECT_LT(mine.total_over_base(), theirs.total_over_base() + (tenths >= 8 ? 0.002 : 0.03));
    }
  }
  EXPECT_GT(solved, published_solved);
}

// Steps of a chain each: forward, and back.
Trace steps(const std::vector<std::uint32_t>& lengths) {
  Trace all;
  all.names = {"f"};
  for (const std::uint32_t length : lengths) {
    const Trace step = chain(length);
    const auto first_buffer = static_cast<std::uint32_t>(all.buffers.size());
    const auto first_op = static_cast<std::uint32_t>(all.ops.size());
    all.buffers.insert(all.buffers.end(), step.buffers.begin(), step.buffers.end());
    for (TraceOp op : step.ops) {
      op.first_use += all.all_uses.size();
      all.ops.push_back(op);
    }
    for (TraceUse use : step.all_uses) {
      use.buffer += first_buffer;
      all.all_uses.push_back(use);
    }
    for (TraceStep one : step.steps) {
      one.index += one.kind == TraceStep::Kind::kFree ? first_buffer : first_op;
      all.steps.push_back(one);
    }
    all.steps.push_back({TraceStep::Kind::kFree, first_buffer});
  }
  return all;
}

Result run_guided(const Trace& trace, std::uint64_t cap_bytes) {
  guide::CountedPlanning planning({.improving = 500});
  return simulate(
      trace,
      {.engine = {.cap_bytes = cap_bytes, .granularity_bytes = 1}, .times = {}, .planning = &planning});
}

TEST(Simulation, StepsThatRepeatRunAsPlanned) {
  const Trace trace = steps(std::vector<std::uint32_t>(10, 30));
  for (const std::uint64_t cap_bytes : {250u, 150u, 100u}) {
    const Result dtr = run(trace, cap_bytes);
    const Result planned = run_guided(trace, cap_bytes);
    EXPECT_EQ(dtr.account, Result::Account::kRun);
    EXPECT_EQ(planned.account, Result::Account::kGuidedRun);
    EXPECT_EQ(planned.outcome, Outcome::kOk);
    EXPECT_GE(planned.plans, 1u);
    EXPECT_EQ(planned.ops, trace.ops.size());
    EXPECT_GT(planned.planned_ops * 2, planned.ops) << cap_bytes;
    EXPECT_LE(planned.peak_bytes, cap_bytes);
    EXPECT_GT(planned.total_ns, planned.base_ns);
    EXPECT_LE(planned.total_ns, dtr.total_ns * 1.005)
        << cap_bytes << ": on a chain h_DTR is as good as a plan";
    EXPECT_EQ(run_guided(trace, cap_bytes).total_ns, planned.total_ns) << "the same in every run";
  }
}

TEST(Simulation, StepsThatNeverRepeatAreDecidedByDtr) {
  const Trace trace = steps({20, 22, 23, 25, 26, 28, 30, 31, 33, 35});
  const Result dtr = run(trace, 150);
  const Result planned = run_guided(trace, 150);
  EXPECT_EQ(planned.planned_ops, 0u);
  EXPECT_GT(dtr.evictions, 50u);
  EXPECT_EQ(planned.total_ns, dtr.total_ns);
  EXPECT_EQ(planned.evictions, dtr.evictions);
}

// Parts of such steps may repeat by chance: what was planned for them is soon left.
TEST(Simulation, StepsOfRandomLengthsCostNoMoreThanWithDtr) {
  std::mt19937 random(3);
  double dtr_ns = 0, planned_ns = 0;
  for (int program = 0; program < 40; ++program) {
    std::vector<std::uint32_t> lengths;
    for (int step = 0; step < 20; ++step) lengths.push_back(20 + random() % 16);
    const Trace trace = steps(lengths);
    const Result dtr = run(trace, 150);
    const Result planned = run_guided(trace, 150);
    ASSERT_EQ(planned.outcome, dtr.outcome);
    dtr_ns += dtr.total_ns - dtr.base_ns;
    planned_ns += planned.total_ns - planned.base_ns;
  }
  EXPECT_LE(planned_ns, dtr_ns);
}

}  // namespace
}  // namespace refrain::simulate
