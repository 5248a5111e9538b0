// The account of a run: verdicts, parts that add up, and the same numbers from a log as at exit.
#include "report/summary.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "trace/reader.hpp"

namespace refrain::report {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

event::End good_end() {
  event::End end;
  end.lookups = 400;
  end.hooks = 70;
  end.evictions = 10;
  end.evicted_bytes = 30 * kMiB;
  end.rematerialisations = 8;
  end.replayed_ops = 12;
  end.replayed_ns = 100;
  end.program_ns = 900;
  end.wanted_bytes = 12 * kMiB;
  end.peak_bytes = 8 * kMiB;
  end.limit_bytes = 8 * kMiB;
  return end;
}

TEST(Summary, VerdictComesFirst) {
  Summary s = from_totals(good_end(), "", 0);
  EXPECT_EQ(verdict(s), "ok");
  EXPECT_TRUE(to_text(s).starts_with("refrain: ok - program wanted 12.0 MiB at peak, ran inside 8.0 MiB\n"));
  s.totals.unmanaged_bytes = 1;
  EXPECT_EQ(verdict(s), "partial");
  s.totals.unmanaged_bytes = s.totals.peak_bytes = 0;
  EXPECT_EQ(verdict(s), "idle");
  s.totals.oom = 1;
  EXPECT_EQ(verdict(s), "oom");
  s.ended = false;
  EXPECT_EQ(verdict(s), "killed");
}

TEST(Summary, LedgerAddsUp) {
  const std::string text = to_text(from_totals(good_end(), "run.jsonl", 0));
  EXPECT_NE(text.find("live at peak            12.0 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("- not held then          4.0 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("= on the GPU at most     8.0 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("11.1 % of its own"), std::string::npos) << text;
  EXPECT_NE(text.find("next: refrain report run.jsonl"), std::string::npos) << text;
}

TEST(Summary, SaysHowMuchRanAsPlannedWhereSomethingDid) {
  event::End end = good_end();
  EXPECT_EQ(to_text(from_totals(end, "", 0)).find("as planned"), std::string::npos);
  end.plans = 2;
  end.ops = 400;
  end.planned_ops = 300;
  end.planning_ns = 2'000'000'000;
  end.plans_left = 3;
  const std::string text = to_text(from_totals(end, "", 0));
  EXPECT_NE(text.find("75.0 %   of 400 ops; 2 plans in "), std::string::npos) << text;
  EXPECT_NE(text.find(", left 3 times\n"), std::string::npos) << text;
}

TEST(Summary, FitsTheTerminal) {
  event::End end = good_end();
  end.barriers = end.unreplayable = end.launches = 123456789;
  end.rematerialisations = end.replayed_ops = 123456789;
  end.planned_ops = end.ops = 123456789;
  end.plans = end.plans_left = 12345;
  end.planning_ns = 123456789;
  end.offloads = end.compared = 123456789;
  end.unmanaged_bytes = end.evicted_bytes = ~std::uint64_t{0} / 2;
  end.costs = std::string(200, 'x');
  std::istringstream lines(to_text(from_totals(end, "l", 0)));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 100u) << line;
  EXPECT_LE(count, 13);
}

TEST(Summary, SaysWhereKernelDurationsComeFromWhereTheyWereOfUse) {
  event::End end = good_end();
  const auto text = [&] { return to_text(from_totals(end, "", 0)); };
  EXPECT_EQ(text().find("kernel durations"), std::string::npos) << "a log of an earlier version";
  end.costs = "events (CUPTI: not found)";
  EXPECT_NE(text().find("\n      kernel durations     events (CUPTI: not found)\n"), std::string::npos)
      << text();
  EXPECT_EQ(to_json(from_totals(end, "", 0))["costs"], end.costs);
  end.evictions = 0;
  EXPECT_EQ(text().find("kernel durations"), std::string::npos) << "nothing was evicted: nothing was weighed";
}

TEST(Summary, LogWithoutEndIsAddedUp) {
  std::istringstream in(
      "{\"kind\":\"header\",\"schema\":1}\n"
      "{\"seq\":0,\"t_ns\":5,\"kind\":\"evict\",\"bytes\":4096}\n"
      "{\"seq\":1,\"t_ns\":6,\"kind\":\"evict\",\"bytes\":4096}\n"
      "{\"seq\":2,\"t_ns\":9,\"kind\":\"rematerialise\",\"bytes\":4096,\"ops\":3,\"cost_ns\":50}\n"
      "{\"seq\":3,\"t_");
  const Summary s = from_log(in, "");
  EXPECT_FALSE(s.ended);
  EXPECT_EQ(s.totals.evictions, 2u);
  EXPECT_EQ(s.totals.evicted_bytes, 8192u);
  EXPECT_EQ(s.totals.rematerialisations, 1u);
  EXPECT_EQ(s.totals.replayed_ops, 3u);
  EXPECT_EQ(s.totals.replayed_ns, 50u);
  EXPECT_EQ(s.t_ns, 9u);
  EXPECT_NE(to_text(s).find("ends early"), std::string::npos);
}

TEST(Summary, JsonHasTheNamesOfTheLog) {
  const auto json = to_json(from_totals(good_end(), "", 17));
  EXPECT_EQ(json["verdict"], "ok");
  EXPECT_EQ(json["evictions"], 10);
  EXPECT_EQ(json["t_ns"], 17);
}

}  // namespace
}  // namespace refrain::report
