// The published runtime against the scores that the authors' own simulator gives on the published logs.
#include <gtest/gtest.h>

#include <cmath>

#include "dtr_data.hpp"
#include "simulate/dtr_log.hpp"
#include "simulate/published.hpp"

namespace refrain::simulate {
namespace {

using engine::PolicyKind;

std::string status_of(Outcome outcome) {
  return outcome == Outcome::kOk ? "ok" : outcome == Outcome::kThrashed ? "over_2x" : "out_of_memory";
}

std::optional<PolicyKind> policy_called(const std::string& published) {
  const std::map<std::string, PolicyKind> known = {
      {"h_DTR", PolicyKind::kDtr}, {"h_DTR_eq", PolicyKind::kDtrEq}, {"h_DTR_local", PolicyKind::kDtrLocal},
      {"h_LRU", PolicyKind::kLru}, {"h_size", PolicyKind::kSize},    {"h_MSPS", PolicyKind::kMsps}};
  const auto it = known.find(published);
  return it == known.end() ? std::nullopt : std::optional(it->second);
}

class Models {
 public:
  struct Model {
    OperatorLog log;
    std::uint64_t peak_bytes;
  };
  const Model& operator[](const std::string& name) {
    const auto it = models_.find(name);
    if (it != models_.end()) return it->second;
    std::ifstream file(dtr_data() / (name + ".log"));
    Model model{.log = read_dtr_log(file, name), .peak_bytes = 0};
    model.peak_bytes = totals_of(lower(model.log)).peak_bytes;
    return models_.emplace(name, std::move(model)).first->second;
  }

 private:
  std::map<std::string, Model> models_;
};

TEST(Published, EveryScoreIsTheAuthors) {
  NEED_DTR_DATA();
  Models models;
  std::size_t cells = 0;
  for (auto& row : read_csv(dtr_data() / "simrd-scores.csv")) {
    const std::optional<PolicyKind> policy = policy_called(row["heuristic"]);
    if (!policy) continue;  // random: another generator
    SCOPED_TRACE(row["model"] + " " + row["heuristic"] + " " + row["budget_ratio"]);
    const Models::Model& model = models[row["model"]];
    const double ratio = std::stod(row["budget_ratio"]);
    const PublishedResult result =
        run_published(model.log, {.policy = *policy,
                                  .budget_bytes = static_cast<std::uint64_t>(
                                      std::floor(static_cast<double>(model.peak_bytes) * ratio))});
    EXPECT_EQ(status_of(result.outcome), row["status"]) << result.total_over_base();
    if (row["status"] == "ok") {
      EXPECT_NEAR(result.total_over_base(), std::stod(row["total_over_base_compute"]), 0.000001);
    }
    ++cells;
  }
  EXPECT_EQ(cells, 455u);
}

}  // namespace
}  // namespace refrain::simulate
