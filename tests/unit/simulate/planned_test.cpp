// A plan's own account as a row: what is counted, what runs out, and the published scores as the bar.
#include "simulate/planned.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>

#include "dtr_data.hpp"
#include "planner/check.hpp"
#include "simulate/dtr_log.hpp"
#include "simulate/iteration.hpp"

namespace refrain::simulate {
namespace {

// Advances by a thousandth of a second at each look, so that the same is found on every machine.
std::function<double()> counted_seconds() {
  return [now = 0.0]() mutable { return now += 1e-3; };
}

// A chain forward, read again backward: 6 values of 10 bytes, each from the one before it, 10 ns an op.
planner::Iteration chain() {
  planner::Iteration out;
  constexpr std::uint32_t kLength = 6;
  out.values.push_back({.bytes = 10, .constant = true});
  for (std::uint32_t i = 0; i < kLength; ++i) {
    out.values.push_back({.bytes = 10});
    out.ops.push_back({.cost_ns = 10, .recompute_ns = 10, .reads = {i}, .writes = {i + 1}});
  }
  out.values.push_back({.bytes = 1});
  out.ops.push_back({.cost_ns = 10, .recompute_ns = 10, .reads = {kLength}, .writes = {kLength + 1}});
  for (std::uint32_t i = kLength; i-- > 1;) {
    const auto gradient = static_cast<planner::ValueIndex>(out.values.size());
    out.values.push_back({.bytes = 1});
    out.ops.push_back({.cost_ns = 10, .recompute_ns = 10, .reads = {i, gradient - 1}, .writes = {gradient}});
    out.values[i].freed_after = static_cast<planner::OpIndex>(out.ops.size() - 1);
  }
  out.values[kLength].freed_after = kLength;
  for (planner::ValueIndex v = kLength + 1; v < out.values.size(); ++v)
    out.values[v].freed_after = static_cast<planner::OpIndex>(v + 1 < out.values.size() ? v : out.ops.size());
  out.values[0].freed_after = static_cast<planner::OpIndex>(out.ops.size());
  out.values.back().wanted = true;
  return out;
}

PlanSettings under(std::uint64_t cap_bytes, double base_ns) {
  return {.cap_bytes = cap_bytes, .seconds = counted_seconds(), .base_ns = base_ns};
}

TEST(Planned, WhereAllFitsNothingIsRecomputed) {
  const planner::Iteration iteration = chain();
  ASSERT_EQ(planner::problem_of(iteration), "");
  const Result result = run_planned(
      iteration, under(static_cast<std::uint64_t>(planner::unplanned_peak_bytes(iteration)), 120));
  EXPECT_EQ(result.outcome, Outcome::kOk);
  EXPECT_EQ(result.total_over_base(), 1.0);
  EXPECT_EQ(result.peak_bytes, 71u);
  EXPECT_EQ(result.evictions, 0u);
  EXPECT_EQ(result.rematerialisations, 0u);
}

TEST(Planned, CountsWhatRunsAgainAndWhatItBringsBack) {
  const Result result = run_planned(chain(), under(61, 120));
  EXPECT_EQ(result.outcome, Outcome::kOk);
  EXPECT_EQ(result.rematerialisations, 1u) << "one value of ten bytes has to go, and each costs one op";
  EXPECT_EQ(result.evictions, 1u);
  EXPECT_DOUBLE_EQ(result.total_ns, 130);
  EXPECT_LE(result.peak_bytes, 61u);
  EXPECT_EQ(result.decisions.count(), 1u);
  EXPECT_GT(result.decisions.quantile_ns(0.5), 0);
}

TEST(Planned, TheBaseMayCountMoreThanIsPlanned) {
  const Result result = run_planned(chain(), under(61, 1000));
  EXPECT_DOUBLE_EQ(result.total_over_base(), 1.01);
}

TEST(Planned, NoPlanIsOutOfMemoryAndOneAboveTheMultipleIsThrashed) {
  const Result none = run_planned(chain(), under(20, 120));
  EXPECT_EQ(none.outcome, Outcome::kOutOfMemory);
  EXPECT_EQ(none.peak_bytes, 30u) << "the constant, an input and an output";
  PlanSettings strict = under(61, 120);
  strict.most_total_over_base = 1.05;
  EXPECT_EQ(run_planned(chain(), strict).outcome, Outcome::kThrashed);
}

TEST(Planned, NeverAboveTheBestPublished) {
  NEED_DTR_DATA();
  const std::string model = "resnet32";
  std::ifstream file(dtr_data() / (model + ".log"));
  const Trace trace = lower(read_dtr_log(file, model));
  const planner::Iteration iteration = iteration_of(trace);
  const TraceTotals totals = totals_of(trace);
  ASSERT_EQ(planner::unplanned_peak_bytes(iteration), static_cast<std::int64_t>(totals.peak_bytes));
  for (const std::string budget : {"0.7", "0.4"}) {
    double best = 2;
    for (auto& row : read_csv(dtr_data() / "simrd-scores.csv"))
      if (row["model"] == model && row["budget_ratio"] == budget && row["status"] == "ok")
        best = std::min(best, std::stod(row["total_over_base_compute"]));
    ASSERT_LT(best, 2) << budget;
    const auto cap_bytes =
        static_cast<std::uint64_t>(std::floor(std::stod(budget) * static_cast<double>(totals.peak_bytes)));
    const Result first = run_planned(iteration, {.cap_bytes = cap_bytes,
                                                 .seconds = counted_seconds(),
                                                 .improvement_seconds = 0,
                                                 .base_ns = totals.compute_ns});
    const Result better = run_planned(iteration, under(cap_bytes, totals.compute_ns));
    EXPECT_EQ(first.outcome, Outcome::kOk) << budget;
    EXPECT_LE(first.total_over_base(), best) << budget;
    EXPECT_LE(better.total_ns, first.total_ns) << budget;
    EXPECT_LE(better.peak_bytes, cap_bytes) << budget;
    EXPECT_GT(better.total_over_base(), 1) << "not all fits at " << budget;
  }
}

}  // namespace
}  // namespace refrain::simulate
