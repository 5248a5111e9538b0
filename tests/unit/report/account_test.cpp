// What a log adds up to: bounded steps of time, rows by cost, decisions, and the forms they are printed in.
#include "report/account.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "report/chart.hpp"
#include "report/json.hpp"
#include "report/metrics.hpp"
#include "report/page.hpp"
#include "report/perfetto.hpp"
#include "report/text.hpp"
#include "report/words.hpp"

namespace refrain::report {
namespace {

trace::Line evict(std::uint64_t seq, std::uint64_t t_ns, std::uint64_t buffer, std::uint64_t bytes,
                  const std::string& op = "_Z4nextPjS_i") {
  event::Evict e;
  e.buffer = buffer;
  e.bytes = bytes;
  e.op = op;
  e.leave = "drop";
  e.score = 1;
  e.runner_up_score = 4;
  e.candidates = 3;
  e.held_bytes = 1000;
  e.away_bytes = bytes;
  return {.seq = seq, .t_ns = t_ns, .event = e};
}

trace::Line back(std::uint64_t seq, std::uint64_t t_ns, std::uint64_t buffer, std::uint64_t bytes,
                 std::uint64_t cost_ns, const std::string& op = "_Z4nextPjS_i") {
  event::Rematerialise r;
  r.buffer = buffer;
  r.bytes = bytes;
  r.cost_ns = cost_ns;
  r.op = op;
  r.ops = 2;
  return {.seq = seq, .t_ns = t_ns, .event = r};
}

TEST(Timeline, StepsStayBoundedAndNothingIsLost) {
  Timeline timeline;
  constexpr std::uint64_t kEvents = 50'000;
  for (std::uint64_t i = 0; i < kEvents; ++i) {
    timeline.add({.t_ns = i * 1'000'000,
                  .held_bytes = i,
                  .away_bytes = 0,
                  .levels = true,
                  .eviction = true,
                  .rematerialisation = i % 2 == 0,
                  .lost_ns = 3});
  }
  const std::vector<Step> steps = timeline.steps();
  EXPECT_LE(steps.size(), kSteps);
  EXPECT_GT(steps.size(), kSteps / 4) << "coarser than needed";
  Step sum;
  for (const Step& s : steps) {
    sum.evictions += s.evictions;
    sum.rematerialisations += s.rematerialisations;
    sum.lost_ns += s.lost_ns;
    sum.held_bytes = std::max(sum.held_bytes, s.held_bytes);
  }
  EXPECT_EQ(sum.evictions, kEvents);
  EXPECT_EQ(sum.rematerialisations, kEvents / 2);
  EXPECT_EQ(sum.lost_ns, 3 * kEvents);
  EXPECT_EQ(sum.held_bytes, kEvents - 1);
}

TEST(Timeline, WhereNothingHappensLevelsStay) {
  Timeline timeline;
  timeline.add({.t_ns = 0, .held_bytes = 7, .away_bytes = 2, .levels = true});
  timeline.add({.t_ns = 5'000, .held_bytes = 9, .away_bytes = 0, .levels = true});
  const std::vector<Step> steps = timeline.steps();
  ASSERT_EQ(steps.size(), 6u);
  EXPECT_EQ(steps[3].held_bytes, 7u);
  EXPECT_EQ(steps[3].away_bytes, 2u);
  EXPECT_EQ(steps[5].held_bytes, 9u);
}

TEST(Account, RowsAreByTimeLost) {
  Account a("run.jsonl");
  a.add(evict(0, 10, 1, 4096));
  a.add(evict(1, 20, 2, 8192, ""));
  a.add(back(2, 30, 2, 8192, 100, ""));
  a.add(back(3, 40, 1, 4096, 900));
  const std::vector<Cost> tensors = a.tensors(10);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "buffer 1");
  EXPECT_EQ(tensors[0].lost_ns, 900u);
  EXPECT_EQ(tensors[1].first_seq, 1u);
  const std::vector<Cost> kernels = a.kernels(1);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "_Z4nextPjS_i");
  EXPECT_EQ(a.kernels(10)[1].name, "(leaf)");
  ASSERT_EQ(a.ways().size(), 1u);
  EXPECT_EQ(a.ways()[0].evictions, 2u);
  EXPECT_NEAR(std::exp(a.ways()[0].log_ratio_sum / 2), 4, 1e-9) << "the next candidate was four times dearer";
  EXPECT_EQ(a.sizes().at(12), 1u);
  EXPECT_EQ(a.sizes().at(13), 1u);
  EXPECT_EQ(a.largest().at(0).evict.bytes, 8192u);
}

TEST(Account, DifferentRowsAreBounded) {
  Account a("run.jsonl");
  for (std::uint64_t i = 0; i < 150'000; ++i) a.add(evict(i, i, i, 4096));
  for (int i = 0; i < 1000; ++i)
    a.add({.seq = 0, .t_ns = 0, .event = event::Note{.text = "note " + std::to_string(i)}});
  EXPECT_LE(a.tensors(1'000'000).size(), 100'001u);
  EXPECT_LE(a.notes().size(), 201u);
  std::uint64_t evictions = 0;
  for (const Cost& cost : a.tensors(1'000'000)) evictions += cost.evictions;
  EXPECT_EQ(evictions, 150'000u);
  EXPECT_LT(to_page({a}).size(), 1'000'000u);
}

TEST(Text, SparklineShowsTheMostOfEachColumn) {
  EXPECT_EQ(sparkline({0, 8, 0, 1}, 8, 2), "█▁");
  EXPECT_EQ(sparkline({0, 4, 8}, 8, 10), " ▄█");
  EXPECT_EQ(sparkline({}, 8, 10), "");
}

TEST(Text, TitlesAreNamesWithoutParameters) {
  EXPECT_EQ(title_of("_Z4nextPjS_i"), "next");
  EXPECT_EQ(title_of("memset"), "memset");
  EXPECT_EQ(title_of("_ZN3fooIiE3barEPFviE"), "foo<int>::bar");
  EXPECT_EQ(short_name("abcdefghijklmnop", 9), "abcd...op");
}

TEST(Text, NamesCannotSteerATerminal) {
  EXPECT_EQ(printable("a\x1b[31m\nb\x7f\xc2\x9b\xc3\xa9"), "a?[31m?b??\xc3\xa9");
  Account a("log");
  a.add({.seq = 0, .t_ns = 0, .event = event::Name{.buffer = 1, .text = "x\x1b]0;title\x07\ny"}});
  a.add({.seq = 1, .t_ns = 0, .event = event::Evict{.buffer = 1, .bytes = 8, .op = "k\x1b[2J"}});
  a.add({.seq = 2, .t_ns = 0, .event = event::Note{.text = "n\x1b[1m\rlines"}});
  for (const char c : to_text(a)) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

TEST(Page, NamesCannotBreakOutOfIt) {
  Account a("<script>alert(1)</script>.jsonl");
  a.set_header({{"argv", {"<b>&\"x\""}}, {"host", "</td><script>"}});
  a.add(evict(0, 1, 1, 4096, "<img src=x>"));
  a.add({.seq = 1, .t_ns = 2, .event = event::Note{.text = "</ul><script>x</script>"}});
  const std::string page = to_page({a});
  std::size_t scripts = 0;
  for (std::size_t at = page.find("<script"); at != std::string::npos; at = page.find("<script", at + 1))
    ++scripts;
  EXPECT_EQ(scripts, 1u) << "only its own";
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_NE(page.find("&lt;img src=x&gt;"), std::string::npos);
}

TEST(Page, ManyLogsAreATableAndAFewInFull) {
  std::vector<Account> accounts;
  for (int i = 0; i < 300; ++i) {
    accounts.emplace_back("rank" + std::to_string(i) + ".jsonl");
    for (std::uint64_t k = 0; k < 2000; ++k)
      accounts.back().add(evict(k, k * 1'000'000, k % 100, 4096 * (k % 7 + 1)));
  }
  const std::string page = to_page(accounts);
  EXPECT_LT(page.size(), 1'000'000u);
  EXPECT_NE(page.find("292 more logs are in the table above"), std::string::npos);
  EXPECT_NE(page.find("rank299.jsonl"), std::string::npos);
}

TEST(Metrics, EachNumberHasHelpTypeAndLabels) {
  event::End end;
  end.evictions = 7;
  end.peak_bytes = 4096;
  const std::string text = to_metrics({{{{"host", "a\"b\\c\n"}}, end}});
  EXPECT_NE(
      text.find("# HELP refrain_evictions_total values evicted\n# TYPE refrain_evictions_total counter\n"
                "refrain_evictions_total{host=\"a\\\"b\\\\c\\n\"} 7\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("# TYPE refrain_peak_bytes gauge\n"), std::string::npos);
  EXPECT_EQ(text.find("exit"), std::string::npos) << "words are no metrics";
  EXPECT_EQ(to_metrics({}), "");
}

TEST(Metrics, AreReadAsTheyWereWritten) {
  event::End end;
  end.evictions = 7;
  end.peak_bytes = 4096;
  event::End more = end;
  more.evictions = 9;
  std::istringstream text(to_metrics({{{{"program", "a {b} 5\n"}}, end}, {{{"program", "b"}}, more}}) +
                          "broken 1.5\nbare 3\n");
  const std::map<std::string, std::uint64_t> numbers = from_metrics(text);
  EXPECT_EQ(numbers.at("refrain_evictions_total"), 9u);
  EXPECT_EQ(numbers.at("refrain_peak_bytes"), 4096u);
  EXPECT_EQ(numbers.at("bare"), 3u);
  EXPECT_FALSE(numbers.contains("broken"));
}

TEST(Perfetto, IsOneDocumentOfKnownEvents) {
  std::ostringstream out;
  PerfettoWriter writer(out);
  writer.add(evict(0, 1000, 1, 4096));
  writer.add(back(1, 2500, 1, 4096, 900));
  writer.finish();
  const auto document = nlohmann::json::parse(out.str());
  std::map<std::string, int> phases;
  for (const auto& event : document["traceEvents"]) ++phases[event["ph"].get<std::string>()];
  EXPECT_EQ(phases, (std::map<std::string, int>{{"C", 1}, {"M", 3}, {"X", 1}, {"i", 1}}));
  const auto& slice = document["traceEvents"].back();
  EXPECT_EQ(slice["name"], "next");
  EXPECT_EQ(slice["ts"], 2.5);
  EXPECT_EQ(slice["dur"], 0.9);
}

}  // namespace
}  // namespace refrain::report
