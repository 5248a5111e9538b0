// On the published logs: never worse than the best published heuristic, and much better where memory is
// short.
#include <gtest/gtest.h>

#include <cmath>

#include "../simulate/dtr_data.hpp"
#include "planner/check.hpp"
#include "planner/planner.hpp"
#include "simulate/dtr_log.hpp"
#include "simulate/iteration.hpp"

namespace refrain::planner {
namespace {

using simulate::dtr_data;
using simulate::kEveryModel;
using simulate::left_out;

constexpr std::int64_t kFirstSteps = 100'000, kSteps = 4'000;

// A planner that is asked for so many steps gives the same plan on every machine.
Progress steps(std::int64_t most) {
  return [done = std::int64_t{0}, most]() mutable {
    return static_cast<double>(done++) / static_cast<double>(most);
  };
}

Iteration read(const std::string& model) {
  std::ifstream file(dtr_data() / (model + ".log"));
  return simulate::iteration_of(simulate::lower(simulate::read_dtr_log(file, model)));
}

TEST(PublishedPlans, PeakAndComputeAreThePublishedOnes) {
  NEED_DTR_DATA();
  for (auto& row : simulate::read_csv(dtr_data() / "models.csv")) {
    const Iteration iteration = read(row["model"]);
    ASSERT_EQ(problem_of(iteration), "") << row["model"];
    std::int64_t compute_ns = 0;
    for (const Op& op : iteration.ops) compute_ns += op.cost_ns;
    EXPECT_EQ(unplanned_peak_bytes(iteration), std::stoll(row["peak_bytes_no_eviction"])) << row["model"];
    EXPECT_LE(std::abs(compute_ns - std::stoll(row["base_compute"])), 1)
        << row["model"];  // its clock starts at 1
  }
}

// Best published score by budget.
std::map<std::string, double> published(const std::string& model) {
  std::map<std::string, double> best;
  for (auto& row : simulate::read_csv(dtr_data() / "simrd-scores.csv")) {
    if (row["model"] != model || row["status"] != "ok") continue;
    const double score = std::stod(row["total_over_base_compute"]);
    const auto [place, fresh] = best.try_emplace(row["budget_ratio"], score);
    place->second = std::min(place->second, score);
  }
  return best;
}

// The sum of the logarithms of ours over published, and how many.
std::pair<double, int> compare(const std::string& model) {
  const Iteration iteration = read(model);
  std::int64_t base_ns = 0;
  for (const Op& op : iteration.ops) base_ns += op.cost_ns;
  std::pair<double, int> sum{0, 0};
  for (const auto& [budget, best] : published(model)) {
    SCOPED_TRACE(model + " at " + budget);
    const double ratio = std::stod(budget);
    const auto cap =
        static_cast<std::int64_t>(std::floor(ratio * static_cast<double>(unplanned_peak_bytes(iteration))));
    Planner planner(iteration, cap, 1);
    const bool found = planner.start(steps(kFirstSteps));
    EXPECT_TRUE(found);
    if (!found) continue;
    planner.improve(steps(kSteps));
    const Checked checked = check_schedule(iteration, planner.schedule(), cap);
    EXPECT_EQ(checked.problem, "");
    const double ours = static_cast<double>(checked.total_ns) / static_cast<double>(base_ns);
    EXPECT_LE(ours, best + 1e-6);
    if (ratio > 0.5) continue;
    sum.first += std::log((ours - 1) / (best - 1));
    ++sum.second;
  }
  return sum;
}

TEST(PublishedPlans, NeverWorseAndMuchBetterWhereMemoryIsShort) {
  NEED_DTR_DATA();
  std::pair<double, int> sum{0, 0};
  for (auto& row : simulate::read_csv(dtr_data() / "models.csv")) {
    if (left_out(row["model"])) continue;
    const auto [logarithms, cells] = compare(row["model"]);
    sum.first += logarithms;
    sum.second += cells;
  }
  EXPECT_EQ(sum.second, kEveryModel ? 29 : 7);
  if (kEveryModel) {
    EXPECT_LE(std::exp(sum.first / sum.second), 0.65);  // more time does better: docs/planning.md
  }
}

// Where every published heuristic gives up.
TEST(PublishedPlans, PlansWherePublishedHeuristicsRunOut) {
  NEED_DTR_DATA();
  for (const auto& [model, budget] : std::map<std::string, double>{
           {"inceptionv4", 0.2}, {"lstm", 0.1}, {"resnet32", 0.1}, {"treelstm", 0.1}, {"unroll_gan", 0.2}}) {
    if (left_out(model)) continue;
    const Iteration iteration = read(model);
    const auto cap =
        static_cast<std::int64_t>(std::floor(budget * static_cast<double>(unplanned_peak_bytes(iteration))));
    Planner planner(iteration, cap, 1);
    ASSERT_TRUE(planner.start(steps(kFirstSteps))) << model;
    EXPECT_EQ(check_schedule(iteration, planner.schedule(), cap).problem, "") << model;
  }
}

}  // namespace
}  // namespace refrain::planner
