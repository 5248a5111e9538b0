// refrain simulate: what it accepts, and what it prints.
#include <gtest/gtest.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

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

TEST_F(SimulateCommand, DeviceTimeHasWhatCallsTake) {
  const auto rows = nlohmann::ordered_json::parse(
      run({log(), "--budget", "0.75", "--call-ns", "1000,100,10,1,0,0", "--json", "-"}));
  // w, a and b; c takes the pages of a, which takes those of b when it comes back.
  EXPECT_EQ(rows[0]["device_ns"], 600 + 3 * 1010 + 2 * 11) << rows[0];
  EXPECT_NE(run({log(), "--call-ns", "1,1,1,1,1,1"}).find(" device\n"), std::string::npos);
  for (const char* text : {"1", "1,2,3,4,5", "1,2,3,4,5,6,7", "1,2,3,4,5,x", "1,2,3,4,5,-6", "1,2,,4,5,6"})
    EXPECT_NE(refused({log(), std::string("--call-ns=") + text}).find("accepted: six numbers"),
              std::string::npos)
        << text;
  EXPECT_NE(refused({log(), "--call-ns", "1,1,1,1,1,1", "--advise"}).find("accepted without"),
            std::string::npos);
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

// Three times a matmul and a gelu, read again in reverse.
std::string network_log() {
  const auto line = [](const std::string& rest) { return "{\"INSTRUCTION\":" + rest + "}\n"; };
  const auto call = [&](const char* op, const std::string& reads, const std::string& result,
                        const char* time) {
    return line("\"CALL\",\"NAME\":\"" + std::string(op) + "\",\"ARGS\":[" + reads + "],\"RESULT\":[\"" +
                result + "\"],\"TIME\":\"" + time + "\"") +
           line("\"MEMORY\",\"NAME\":\"" + result + "\",\"MEMORY\":\"1000\"") +
           line("\"ALIAS\",\"NAME\":\"" + result + "\",\"ALIAS\":\"-1\"");
  };
  const auto release = [&](const std::string& name) { return line("\"RELEASE\",\"NAME\":\"" + name + "\""); };
  std::string text = line("\"ANNOTATE\",\"ANNOTATION\":\"START\"") + line("\"CONSTANT\",\"NAME\":\"x0\"") +
                     line("\"MEMORY\",\"NAME\":\"x0\",\"MEMORY\":\"1000\"");
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    text +=
        call("matmul", "\"x" + n + "\"", "a" + n, "300") + call("gelu", "\"a" + n + "\"", "x" + next, "10");
  }
  text += call("loss", "\"x3\"", "g", "30") + release("x3");
  std::string gradient = "g";
  for (int i = 3; i-- > 0;) {
    for (const std::string& kept : {"a" + std::to_string(i), "x" + std::to_string(i)}) {
      const std::string next = "g" + kept;
      text += call("back", "\"" + gradient + "\",\"" + kept + "\"", next, "100") + release(gradient);
      if (kept != "x0") text += release(kept);
      gradient = next;
    }
  }
  return text;
}

TEST_F(SimulateCommand, StaticSchemesAreARowOnPaperAndOneOfTheEngineInTheSameMemory) {
  std::ofstream(log()) << network_log();
  const auto rows = nlohmann::ordered_json::parse(
      run({log(), "--policy", "blocks", "selective", "revolve", "dtr", "--budget", "1", "--json", "-"}));
  ASSERT_EQ(rows.size(), 7u) << "two of each, whatever the budgets";
  EXPECT_EQ(rows[0]["policy"], "blocks");
  EXPECT_EQ(rows[0]["status"], "ok");
  const double base = 3 * 310 + 30 + 6 * 100;
  EXPECT_DOUBLE_EQ(rows[0]["total_over_base_compute"].get<double>(), (base + 3 * 300) / base);
  EXPECT_EQ(rows[0]["peak_bytes"], 6000) << "x0 to x2, a2, and two gradients";
  EXPECT_DOUBLE_EQ(rows[0]["budget_ratio"].get<double>(), 6.0 / 8);
  EXPECT_EQ(rows[2]["policy"], "selective");
  EXPECT_DOUBLE_EQ(rows[2]["total_over_base_compute"].get<double>(), (base + 2 * 10) / base);
  EXPECT_EQ(rows[4]["policy"], "revolve");
  EXPECT_EQ(rows[6]["policy"], "dtr");
  for (const std::size_t i : {0, 2, 4}) {
    EXPECT_EQ(rows[i]["account"], "paper");
    EXPECT_EQ(rows[i + 1]["account"], "engine");
    EXPECT_EQ(rows[i + 1]["policy"], rows[i]["policy"]);
    EXPECT_EQ(rows[i + 1]["budget_ratio"], rows[i]["budget_ratio"]);
    EXPECT_LE(rows[i + 1]["peak_bytes"], rows[i]["peak_bytes"]);
    // What there is room for stays there.
    EXPECT_LE(rows[i + 1]["total_over_base_compute"].get<double>(),
              rows[i]["total_over_base_compute"].get<double>())
        << rows[i]["policy"];
    EXPECT_GT(rows[i + 1]["rematerialisations"], 0);
  }
  const auto named =
      nlohmann::ordered_json::parse(run({log(), "--policy", "blocks", "--blocks", "^mat", "--json", "-"}));
  EXPECT_EQ(named[0]["total_over_base_compute"], rows[0]["total_over_base_compute"]);
  const auto counted =
      nlohmann::ordered_json::parse(run({log(), "--policy", "full", "--blocks", "1", "--json", "-"}));
  EXPECT_DOUBLE_EQ(counted[0]["total_over_base_compute"].get<double>(), (base + 3 * 300 + 2 * 10) / base);
}

TEST_F(SimulateCommand, StaticSchemesThatCannotBeAreRefused) {
  EXPECT_EQ(refused({log(), "--policy", "sqrt"}), "--policy=sqrt cannot be computed for " + log() +
                                                      ": nothing of a forward pass is read again after it");
  EXPECT_EQ(refused({log(), "--policy", "dtr", "--blocks", "x"}),
            "--blocks is of two policies; accepted with --policy full and blocks");
  EXPECT_NE(refused({log(), "--policy", "blocks", "--blocks", "0"}).find("accepted: 1 or more blocks"),
            std::string::npos);
  EXPECT_NE(refused({log(), "--policy", "blocks", "--blocks", "(x"}).find("a pattern for the names of ops"),
            std::string::npos);
  EXPECT_NE(refused({log(), "--policy", "full", "--advise"}).find("has the memory that it takes"),
            std::string::npos);
  EXPECT_NE(refused({log(), "--runtime", "published", "--deallocation", "banish", "--policy", "full"})
                .find("accepted with it is eager"),
            std::string::npos);
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
  EXPECT_NE(text.find("largest batch in 3.9 KiB: 1.50 times the recorded one, overhead 14.3 %; without "
                      "recomputation 1.00 times\n"),
            std::string::npos)
      << "w is constant and a wanted; w, b and c fit together: " << text;
  EXPECT_NE(text.find("  assumed: "), std::string::npos);
  std::ifstream svg(svg_path);
  const std::string picture((std::istreambuf_iterator<char>(svg)), {});
  EXPECT_EQ(picture.find("<svg xmlns="), 0u);
  EXPECT_NE(picture.find("<path class=\"curve\" d=\"M"), std::string::npos);
  EXPECT_NE(picture.find("lowest that works: 2.9 KiB (3000B"), std::string::npos);
  EXPECT_EQ(picture.find("href"), std::string::npos) << "self-contained";
  EXPECT_NE(picture.find("and against the batch"), std::string::npos);
  EXPECT_NE(picture.find("largest that works: "), std::string::npos);
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

TEST_F(SimulateCommand, TheLargestBatchIsOneThatRuns) {
  std::ofstream(log()) << network_log();
  const auto advice = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {log(), "--advise", "--json", "-"});
    return nlohmann::ordered_json::parse(run(words));
  };
  const auto all = advice({"--limit", "16000B"})["largest_batch"];
  EXPECT_EQ(all["memory_bytes"], 16000);
  // x0 and the last gradient stay: 1000 and 1000 of 8000.
  EXPECT_NEAR(all["growing_part"].get<double>(), 0.875, 0.001);
  EXPECT_NEAR(all["without_recomputation"].get<double>(), 15.0 / 7, 0.03);
  const double factor = all["largest"]["factor"];
  EXPECT_GT(factor, 15.0 / 7);
  EXPECT_GT(all["largest"]["overhead"], 0.0);
  EXPECT_LE(all["largest_within"]["overhead"], 0.1);
  for (const auto& point : all["curve"])
    EXPECT_EQ(point["status"] == "ok", point["factor"].get<double>() <= factor) << point;
  EXPECT_EQ(advice({})["largest_batch"]["memory_bytes"], 8000) << "what it takes";
  EXPECT_TRUE(advice({"--runtime", "published"})["largest_batch"].is_null());
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
  EXPECT_NE(refused({log(), "--advise", "--limit", "1M", "--limit", "2M"}).find("with one --limit"),
            std::string::npos);
  EXPECT_NE(refused({log(), "--advise", "--limit", "1"}).find("a number with a unit"), std::string::npos);
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
