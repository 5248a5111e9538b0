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
    if (!policy || left_out(row["model"])) continue;  // no policy is random: another generator
    SCOPED_TRACE(row["model"] + " " + row["heuristic"] + " " + row["budget_ratio"]);
    const Models::Model& model = models[row["model"]];
    const double ratio = std::stod(row["budget_ratio"]);
    const Result result = run_published(model.log, {.policy = *policy,
                                                    .budget_bytes = static_cast<std::uint64_t>(std::floor(
                                                        static_cast<double>(model.peak_bytes) * ratio))});
    EXPECT_EQ(status_of(result.outcome), row["status"]) << result.total_over_base();
    if (row["status"] == "ok") {
      EXPECT_NEAR(result.total_over_base(), std::stod(row["total_over_base_compute"]), 0.000001);
    }
    ++cells;
  }
  EXPECT_EQ(cells, kEveryModel ? 455u : 120u);
}

// What the authors' simulator gives for the other two rules of deallocation, at budgets 1.0, 0.9 ... 0.1, to
// three digits; "-": not known.
struct Row {
  const char* model;
  Deallocation deallocation;
  std::vector<std::string> cells;
};
const Row kRows[] = {
    {"tv_densenet121", Deallocation::kBanish, {"1.000", "1.019", "1.067", "M", "M", "M", "M", "M", "M", "M"}},
    {"tv_densenet121",
     Deallocation::kIgnore,
     {"1.221", "1.239", "1.254", "1.269", "1.302", "1.342", "1.467", "1.688", "2", "M"}},
    {"inceptionv4",
     Deallocation::kBanish,
     {"1.000", "1.008", "1.025", "1.048", "1.077", "1.139", "M", "M", "M", "M"}},
    {"inceptionv4",
     Deallocation::kIgnore,
     {"1.164", "1.180", "1.255", "1.302", "1.370", "1.568", "1.989", "2", "2", "M"}},
    {"resnet32",
     Deallocation::kBanish,
     {"1.000", "1.013", "1.025", "1.046", "1.077", "1.106", "1.141", "1.178", "1.230", "M"}},
    {"resnet32",
     Deallocation::kIgnore,
     {"1.139", "1.165", "1.208", "1.261", "1.363", "1.515", "1.626", "1.830", "2", "2"}},
    {"transformer",
     Deallocation::kBanish,
     {"1.000", "1.009", "1.022", "1.036", "1.049", "1.064", "1.078", "M", "M", "M"}},
    {"transformer",
     Deallocation::kIgnore,
     {"1.139", "1.157", "1.178", "1.192", "1.211", "1.243", "1.288", "1.359", "1.790", "M"}},
    {"unet", Deallocation::kBanish, {"1.000", "1.012", "M", "M", "M", "M", "M", "M", "M", "M"}},
    {"unet", Deallocation::kIgnore, {"1.150", "1.183", "1.323", "1.483", "1.560", "M", "M", "M", "M", "M"}},
    {"treelstm", Deallocation::kBanish, {"-", "1.010", "-", "-", "-", "1.137", "-", "M", "-", "-"}},
    {"treelstm", Deallocation::kIgnore, {"1.208", "1.235", "1.282", "1.349", "-", "-", "-", "-", "-", "-"}},
    {"lstm", Deallocation::kBanish, {"-", "1.007", "-", "-", "-", "1.084", "-", "M", "-", "-"}},
    {"unroll_gan", Deallocation::kBanish, {"-", "1.005", "-", "-", "-", "M", "-", "M", "-", "-"}},
};

TEST(Published, BanishingAndIgnoringReleasesAreTheAuthorsToo) {
  NEED_DTR_DATA();
  Models models;
  for (const Row& row : kRows) {
    if (left_out(row.model)) continue;
    const bool banish = row.deallocation == Deallocation::kBanish;
    const Models::Model& model = models[row.model];
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (row.cells[i] == "-") continue;
      const double ratio = std::stod("0." + std::to_string(10 - i)) * (i == 0 ? 10 : 1);
      SCOPED_TRACE(std::string(row.model) + (banish ? " banish " : " ignore ") + std::to_string(ratio));
      const Result result = run_published(
          model.log,
          {.policy = banish ? PolicyKind::kDtr : PolicyKind::kDtrEq,
           .deallocation = row.deallocation,
           .budget_bytes = static_cast<std::uint64_t>(static_cast<double>(model.peak_bytes) * ratio)});
      const std::string status = row.cells[i] == "M"   ? "out_of_memory"
                                 : row.cells[i] == "2" ? "over_2x"
                                                       : "ok";
      EXPECT_EQ(status_of(result.outcome), status) << result.total_over_base();
      if (status != "ok") continue;
      EXPECT_NEAR(result.total_over_base(), std::stod(row.cells[i]), 0.0005001);
    }
  }
}

}  // namespace
}  // namespace refrain::simulate
