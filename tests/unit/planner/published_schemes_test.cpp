// On the published logs: the turn is where the log says that backward begins, and the schemes hold.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "../simulate/dtr_data.hpp"
#include "planner/check.hpp"
#include "planner/schemes.hpp"
#include "planner/steps.hpp"
#include "simulate/dtr_log.hpp"
#include "simulate/iteration.hpp"

namespace refrain::planner {
namespace {

using simulate::dtr_data;

// Ops before the mark; -1: there is none.
int marked_turn(const std::string& model) {
  std::ifstream file(dtr_data() / (model + ".log"));
  bool started = false;
  int ops = 0;
  for (std::string line; std::getline(file, line);) {
    const auto instruction = nlohmann::json::parse(line);
    const auto& kind = instruction["INSTRUCTION"];
    if (kind == "ANNOTATE" && instruction["ANNOTATION"] == "START") started = true;
    if (kind == "ANNOTATE" && instruction["ANNOTATION"] == "BACKWARD") return ops;
    // A constant that comes later is an op too.
    if (started && (kind == "CALL" || kind == "MUTATE" || (kind == "CONSTANT" && ops > 0))) ++ops;
  }
  return -1;
}

TEST(PublishedSchemes, TurnsWhereTheLogSaysAndSchemesHold) {
  NEED_DTR_DATA();
  int marked = 0;
  for (auto& row : simulate::read_csv(dtr_data() / "models.csv")) {
    const std::string model = row["model"];
    if (simulate::left_out(model)) continue;
    SCOPED_TRACE(model);
    std::ifstream file(dtr_data() / (model + ".log"));
    std::vector<std::uint32_t> names;
    const Iteration iteration =
        simulate::iteration_of(simulate::lower(simulate::read_dtr_log(file, model)), &names);
    ASSERT_EQ(names.size(), iteration.ops.size());
    if (const int turn = marked_turn(model); turn >= 0) {
      ++marked;
      const std::vector<Step> steps = steps_of(iteration, names, Uses(iteration));
      ASSERT_EQ(steps.size(), 1u);
      EXPECT_NEAR(static_cast<double>(steps[0].turn), turn, 3 + 0.01 * static_cast<double>(names.size()));
    }
    for (const Scheme scheme :
         {Scheme::kFull, Scheme::kSqrt, Scheme::kBlocks, Scheme::kSelective, Scheme::kRevolve}) {
      const SchemeSchedule found = schedule_of(iteration, names, {.scheme = scheme});
      if (!found.refusal.empty()) continue;
      EXPECT_EQ(check_schedule(iteration, found.schedule, found.schedule.peak_bytes).problem, "");
      EXPECT_LE(found.schedule.peak_bytes, unplanned_peak_bytes(iteration)) << static_cast<int>(scheme);
    }
  }
  EXPECT_EQ(marked, simulate::kEveryModel ? 7 : 2);
}

}  // namespace
}  // namespace refrain::planner
