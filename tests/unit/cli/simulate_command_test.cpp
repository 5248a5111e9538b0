// refrain simulate: what it accepts, and what it prints.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"

namespace refrain::cli {
namespace {

// Two values from one constant, read in turn: at 0.75 of the peak one of them has to go.
const char* const kLog = R"({"INSTRUCTION":"ANNOTATE","ANNOTATION":"START"}
{"INSTRUCTION":"CONSTANT","NAME":"w"}
{"INSTRUCTION":"MEMORY","NAME":"w","MEMORY":"1000"}
{"INSTRUCTION":"CALL","NAME":"f","ARGS":["w"],"RESULT":["a"],"TIME":"100"}
{"INSTRUCTION":"MEMORY","NAME":"a","MEMORY":"1000"}
{"INSTRUCTION":"ALIAS","NAME":"a","ALIAS":"-1"}
{"INSTRUCTION":"CALL","NAME":"f","ARGS":["w"],"RESULT":["b"],"TIME":"100"}
{"INSTRUCTION":"MEMORY","NAME":"b","MEMORY":"1000"}
{"INSTRUCTION":"ALIAS","NAME":"b","ALIAS":"-1"}
{"INSTRUCTION":"CALL","NAME":"g","ARGS":["b"],"RESULT":["c"],"TIME":"300"}
{"INSTRUCTION":"MEMORY","NAME":"c","MEMORY":"1000"}
{"INSTRUCTION":"ALIAS","NAME":"c","ALIAS":"-1"}
{"INSTRUCTION":"RELEASE","NAME":"b"}
{"INSTRUCTION":"RELEASE","NAME":"c"}
)";

class SimulateCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("refrain-simulate-test-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder_);
    std::ofstream(log()) << kLog;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string log() const { return (folder_ / "tiny.log").string(); }

  // Standard output, until it is asked for or thrown away.
  class Captured {
   public:
    Captured() { testing::internal::CaptureStdout(); }
    ~Captured() {
      if (!taken_) testing::internal::GetCapturedStdout();
    }
    std::string text() const {
      taken_ = true;
      return testing::internal::GetCapturedStdout();
    }

   private:
    mutable bool taken_ = false;
  };

  // Standard output; throws what main turns into one line.
  static std::string run(std::vector<std::string> words) {
    CLI::App app;
    const Action action = add_simulate(app);
    words.insert(words.begin(), {"simulate", "--format", "dtr"});
    std::reverse(words.begin(), words.end());
    app.parse(words);
    const Captured captured;
    EXPECT_EQ(action(), 0);
    return captured.text();
  }
  static std::string refused(const std::vector<std::string>& words) {
    try {
      run(words);
    } catch (const UsageError& error) {
      EXPECT_EQ(error.exit_code(), kBadInput);
      return error.what();
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    return "accepted";
  }
  std::filesystem::path folder_;
};

TEST_F(SimulateCommand, RowsHaveEveryFieldAndTheirOrder) {
  const auto rows = nlohmann::ordered_json::parse(
      run({log(), "--policy", "dtr", "lru", "--budget", "1", "0.75", "--json", "-"}));
  ASSERT_EQ(rows.size(), 4u);
  std::string fields;
  for (const auto& [name, value] : rows[1].items()) fields += name + " ";
  EXPECT_EQ(fields,
            "model policy budget_ratio status total_over_base_compute peak_bytes evictions "
            "rematerialisations decision_ns_p50 decision_ns_p99 ");
  EXPECT_EQ(rows[0]["model"], "tiny");
  EXPECT_EQ(rows[0]["total_over_base_compute"], 1.0);
  EXPECT_EQ(rows[0]["evictions"], 0);
  EXPECT_EQ(rows[1]["budget_ratio"], 0.75);
  EXPECT_EQ(rows[1]["status"], "ok");
  EXPECT_EQ(rows[1]["total_over_base_compute"], 1.2) << "a went, and is wanted at the end";
  EXPECT_EQ(rows[1]["peak_bytes"], 3000);
  EXPECT_EQ(rows[1]["evictions"], 1);
  EXPECT_EQ(rows[1]["rematerialisations"], 1);
  EXPECT_GT(rows[1]["decision_ns_p50"], 0);
  EXPECT_EQ(rows[2]["policy"], "lru");
}

TEST_F(SimulateCommand, ARunThatDoesNotEndHasNoOverhead) {
  const auto rows = nlohmann::ordered_json::parse(run({log(), "--limit", "1500B", "--json", "-"}));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["status"], "out_of_memory");
  EXPECT_TRUE(rows[0]["total_over_base_compute"].is_null());
  EXPECT_EQ(rows[0]["budget_ratio"], 0.375);
}

TEST_F(SimulateCommand, WithoutABudgetThereAreTenOfEachPolicy) {
  const std::string table = run({log(), "--policy", "all", "--plan-seconds", "0"});
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 1 + 8 * 10 + 1);
  EXPECT_NE(table.find("planned: the plan's own account of one iteration"), std::string::npos) << table;
  EXPECT_NE(table.find("1.200x"), std::string::npos) << table;
  const std::string json_path = (folder_ / "rows.json").string();
  run({log(), "--runtime", "published", "--json", json_path});
  std::ifstream file(json_path);
  EXPECT_EQ(nlohmann::json::parse(file).size(), 10u);
}

TEST_F(SimulateCommand, PlannedIsARowOfTheSameFields) {
  for (const char* runtime : {"engine", "published"}) {
    const auto rows = nlohmann::ordered_json::parse(
        run({log(), "--runtime", runtime, "--policy", "planned", "dtr", "--budget", "0.75", "--limit",
             "1500B", "--plan-seconds", "0.01", "--json", "-"}));
    ASSERT_EQ(rows.size(), 4u);
    EXPECT_EQ(rows[0]["policy"], "dtr");
    EXPECT_EQ(rows[2]["policy"], "planned");
    EXPECT_EQ(rows[2]["status"], "ok");
    EXPECT_EQ(rows[2]["total_over_base_compute"], 1.2) << "a is computed again at the end";
    EXPECT_EQ(rows[2]["peak_bytes"], 3000);
    EXPECT_EQ(rows[2]["account"], "paper");
    EXPECT_EQ(rows[2]["evictions"], 1);
    EXPECT_EQ(rows[2]["rematerialisations"], 1);
    EXPECT_EQ(rows[3]["status"], "out_of_memory");
    EXPECT_TRUE(rows[3]["total_over_base_compute"].is_null());
    EXPECT_EQ(rows[3]["peak_bytes"], 3000) << "the constant, what the largest op reads and what it writes";
  }
  const auto ignoring =
      nlohmann::ordered_json::parse(run({log(), "--runtime", "published", "--deallocation", "ignore",
                                         "--policy", "all", "--budget", "1", "--json", "-"}));
  EXPECT_EQ(ignoring.size(), 7u) << "a plan has no such rule";
}

TEST_F(SimulateCommand, AdviceIsACurveItsKneeAndTheLowestCaps) {
  const std::string svg_path = (folder_ / "curve.svg").string();
  const std::string text = run({log(), "--advise", "--max-overhead", "5%", "--svg", svg_path});
  EXPECT_EQ(text.substr(0, text.find('\n')), "tiny, policy dtr: 3.9 KiB where nothing limits it");
  EXPECT_NE(text.find("0.750     2.9 KiB ok               20.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("lowest cap that works: 2.9 KiB (3000B, 0.750 of the peak), overhead 20.0 %; none "
                      "tried below it, down to 2.6 KiB, does\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("lowest cap within 5.0 % overhead: 3.9 KiB (4000B, 1.000 of the peak), overhead 0.0 %"),
            std::string::npos)
      << text;
  std::ifstream svg(svg_path);
  const std::string picture((std::istreambuf_iterator<char>(svg)), {});
  EXPECT_EQ(picture.find("<svg xmlns="), 0u);
  EXPECT_NE(picture.find("<path class=\"curve\" d=\"M"), std::string::npos);
  EXPECT_NE(picture.find("lowest that works: 2.9 KiB (3000B"), std::string::npos);
  EXPECT_EQ(picture.find("href"), std::string::npos) << "self-contained";
}

TEST_F(SimulateCommand, AdviceAsJsonHasThePointsOfItsCurve) {
  const auto advice = nlohmann::ordered_json::parse(
      run({log(), "--advise", "--policy", "planned", "--plan-seconds", "0", "--json", "-"}));
  EXPECT_EQ(advice["policy"], "planned");
  EXPECT_EQ(advice["peak_bytes"], 4000);
  EXPECT_EQ(advice["max_overhead"], 0.1);
  EXPECT_EQ(advice["lowest"]["limit_bytes"], 3000);
  EXPECT_NEAR(advice["lowest"]["overhead"].get<double>(), 0.2, 1e-9);
  EXPECT_EQ(advice["lowest_within"]["limit_bytes"], 4000);
  EXPECT_EQ(advice["curve"][0]["overhead"], 0.0);
  EXPECT_EQ(advice["none_works_from_bytes"], 2713) << "ten times 1 % less than 3000";
  EXPECT_EQ(advice["curve"].back()["status"], "out_of_memory");
  EXPECT_TRUE(advice["curve"].back()["overhead"].is_null());
}

TEST_F(SimulateCommand, AdviceThatCannotBeGivenIsOneLine) {
  for (const char* most : {"10", "-1%", "ten%", "%", "nan%", "inf%", "1e999%"})
    EXPECT_NE(refused({log(), "--advise", std::string("--max-overhead=") + most}).find("0% or more: 10%"),
              std::string::npos)
        << most;
  EXPECT_EQ(refused({log(), "--max-overhead", "10%"}),
            "--max-overhead belongs to advice; accepted with --advise");
  EXPECT_EQ(refused({log(), "--svg", "x.svg"}), "--svg belongs to advice; accepted with --advise");
  EXPECT_NE(refused({log(), "--advise", "--budget", "0.5"}).find("accepted without --budget"),
            std::string::npos);
  EXPECT_NE(refused({log(), "--advise", "--policy", "all"}).find("about one policy"), std::string::npos);
  EXPECT_NE(refused({log(), "--advise", "--policy", "dtr", "lru"}).find("about one policy"),
            std::string::npos);
  EXPECT_NE(refused({log(), "--advise", "--svg", folder_.string()}).find("it is a folder"),
            std::string::npos);
  const std::string kept = (folder_ / "kept.svg").string();
  std::ofstream(kept) << "before";
  EXPECT_NE(refused({(folder_ / "none.log").string(), "--advise", "--svg", kept}).find("cannot be read"),
            std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(kept), 6u) << "nothing is overwritten";
}

TEST_F(SimulateCommand, BadInputIsOneLineThatSaysWhatIsAccepted) {
  EXPECT_EQ(refused({(folder_ / "none.log").string()}),
            "log " + (folder_ / "none.log").string() + " cannot be read: no such file, or no permission");
  EXPECT_NE(refused({folder_.string()}).find("cannot be read"), std::string::npos);
  for (const char* budget : {"0", "1.5", "-1", "half", "0.5x", "nan"}) {
    EXPECT_NE(refused({log(), std::string("--budget=") + budget}).find("accepted: above 0, at most 1"),
              std::string::npos)
        << budget;
  }
  EXPECT_NE(
      refused({log(), "--limit", "5"}).find("--limit=5 is not understood; accepted: a number with a unit"),
      std::string::npos);
  EXPECT_NE(refused({log(), "--policy", "best"}).find("dtr_local"), std::string::npos);
  EXPECT_NE(refused({log(), "--deallocation", "ignore"}).find("accepted with --runtime engine is eager"),
            std::string::npos);
  EXPECT_NE(refused({log(), "--runtime", "published", "--deallocation", "banish", "--policy", "all"})
                .find("accepted: dtr"),
            std::string::npos);
  EXPECT_NE(refused({log(), "--runtime", "published", "--deallocation", "ignore", "--policy", "planned"})
                .find("accepted with it is eager"),
            std::string::npos);
  for (const char* seconds : {"-1", "inf", "nan", "x", "2s"})
    EXPECT_NE(refused({log(), std::string("--plan-seconds=") + seconds}).find("accepted: 0 or more seconds"),
              std::string::npos)
        << seconds;
  EXPECT_NE(refused({log(), "--json", (folder_ / "no" / "rows.json").string()}).find("does not exist"),
            std::string::npos);
  std::ofstream(log(), std::ios::app) << "{\"INSTRUCTION\":\"RELEASE\",\"NAME\":\"b\"}\n";
  EXPECT_EQ(refused({log()}), log() + ":15: \"b\" is released again; accepted is once");
}

}  // namespace
}  // namespace refrain::cli
