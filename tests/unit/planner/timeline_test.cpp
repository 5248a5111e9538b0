// After every change, the memory at each run is what the list of runs says it is.
#include "planner/timeline.hpp"

#include <gtest/gtest.h>

#include "iterations.hpp"
#include "planner/editor.hpp"

namespace refrain::planner {
namespace {

std::vector<RunId> all_runs(const Timeline& timeline) {
  std::vector<RunId> runs;
  for (std::uint32_t stage = 0; stage <= timeline.end(); ++stage)
    for (RunId run : timeline.runs_of(stage)) runs.push_back(run);
  return runs;
}

// From the definition: value by value, from each write to the last read before the next.
std::vector<std::int64_t> memory(const Iteration& iteration, const Timeline& timeline) {
  const std::vector<RunId> runs = all_runs(timeline);
  std::vector<std::int64_t> bytes(runs.size());
  for (ValueIndex value = 0; value < iteration.values.size(); ++value) {
    const auto touches = [&](RunId run, bool write) {
      if (timeline.op_of(run) == timeline.end()) return !write && iteration.values[value].wanted;
      const Op& op = iteration.ops[timeline.op_of(run)];
      const auto& list = write ? op.writes : op.reads;
      return std::find(list.begin(), list.end(), value) != list.end();
    };
    bool later =
        iteration.values[value].constant;  // backwards: read by a later run, before it is written again
    for (std::size_t i = runs.size(); i-- > 0;) {
      const bool writes = touches(runs[i], true);
      if (touches(runs[i], false)) later = true;
      if (later || writes) bytes[i] += iteration.values[value].bytes;
      if (writes) later = false;
    }
  }
  return bytes;
}

void expect_exact(const Iteration& iteration, const Timeline& timeline) {
  const std::vector<RunId> runs = all_runs(timeline);
  const std::vector<std::int64_t> bytes = memory(iteration, timeline);
  for (std::size_t i = 0; i < runs.size(); ++i)
    ASSERT_EQ(timeline.bytes_at(runs[i]), bytes[i]) << "run " << i;
  EXPECT_EQ(timeline.peak_bytes(), *std::max_element(bytes.begin(), bytes.end()));
  EXPECT_EQ(timeline.bytes_at(timeline.peak_run()), timeline.peak_bytes());
}

TEST(Timeline, WithoutRecomputationsKeepsToTheLastRead) {
  const Iteration iteration = chain(3);
  const Timeline timeline(iteration);
  expect_exact(iteration, timeline);
  EXPECT_EQ(timeline.bytes_at(3), 5);  // the loss: all states and its gradient
  EXPECT_EQ(timeline.recomputed_ns(), 0);
}

TEST(Timeline, RandomChangesKeepTheMemoryExact) {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    std::minstd_rand random(seed);
    const Iteration iteration = random_iteration(seed, 25);
    Timeline timeline(iteration);
    for (int step = 0; step < 60; ++step) {
      const std::vector<RunId> runs = all_runs(timeline);
      const auto recomputations = timeline.recomputations();
      if (random() % 3 == 0 && !recomputations.empty()) {
        timeline.remove(recomputations[random() % recomputations.size()]);
      } else {
        const RunId before = runs[random() % runs.size()];
        if (timeline.stage_of(before) > 0)
          timeline.insert(static_cast<OpIndex>(random() % timeline.stage_of(before)), before);
      }
      ASSERT_NO_FATAL_FAILURE(expect_exact(iteration, timeline));
    }
  }
}

TEST(Timeline, NextGoesThroughAllRuns) {
  const Iteration iteration = random_iteration(9, 30);
  Timeline timeline(iteration);
  for (OpIndex op = 4; op < 30; op += 2) timeline.insert(op - 3, op), timeline.insert(op - 2, op);
  const std::vector<RunId> runs = all_runs(timeline);
  for (std::size_t i = 0; i + 1 < runs.size(); ++i) ASSERT_EQ(timeline.next(runs[i]), runs[i + 1]) << i;
}

TEST(Timeline, PeakBetweenIsTheHighestStrictlyBetween) {
  const Iteration iteration = random_iteration(7, 40);
  Timeline timeline(iteration);
  for (OpIndex op = 3; op < 30; op += 3) timeline.insert(op - 2, op);
  const std::vector<RunId> runs = all_runs(timeline);
  for (std::size_t a = 0; a < runs.size(); ++a) {
    std::int64_t highest = kLeastBytes;
    for (std::size_t b = a + 1; b < runs.size(); ++b) {
      ASSERT_EQ(timeline.peak_between(runs[a], runs[b]), highest) << a << " to " << b;
      highest = std::max(highest, timeline.bytes_at(runs[b]));
    }
  }
}

TEST(Editor, UndoBringsEverythingBack) {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    std::minstd_rand random(seed);
    const Iteration iteration = random_iteration(seed, 40);
    Editor editor(iteration, 100);
    const Timeline& timeline = editor.timeline();
    const auto change = [&] {
      const auto value = static_cast<ValueIndex>(random() % iteration.values.size());
      const auto events = timeline.events(value);
      if (random() % 4 == 0 && !timeline.recomputations().empty()) {
        editor.remove(timeline.recomputations()[random() % timeline.recomputations().size()]);
      } else if (events.size() >= 2 && iteration.ops[timeline.producer_of(value)].replayable) {
        const auto& event = events[1 + random() % (events.size() - 1)];
        if (!event.write) editor.recompute(value, event.run);
      }
    };
    for (int i = 0; i < 10; ++i) change();
    const std::vector<RunId> runs = all_runs(timeline);
    const std::int64_t cost_ns = timeline.recomputed_ns();
    const std::size_t start = editor.mark();
    for (int i = 0; i < 20; ++i) change();
    ASSERT_NO_FATAL_FAILURE(expect_exact(iteration, timeline));
    editor.undo(start);
    EXPECT_EQ(all_runs(timeline), runs);
    EXPECT_EQ(timeline.recomputed_ns(), cost_ns);
    ASSERT_NO_FATAL_FAILURE(expect_exact(iteration, timeline));
  }
}

TEST(Editor, TakesUpAListOfRuns) {
  const Iteration iteration = random_iteration(4, 40);
  Editor editor(iteration, 100);
  const Timeline& timeline = editor.timeline();
  const auto ops = [&] {
    std::vector<OpIndex> list;
    for (const RunId run : all_runs(timeline)) list.push_back(timeline.op_of(run));
    list.pop_back();  // the end
    return list;
  };
  const std::vector<OpIndex> bare = ops();
  for (ValueIndex value = 0; value < iteration.values.size(); ++value)
    if (const auto events = timeline.events(value); events.size() > 1 && !events.back().write)
      editor.recompute(value, events.back().run);
  const std::vector<OpIndex> full = ops();
  const std::int64_t cost_ns = timeline.recomputed_ns();
  ASSERT_GT(full.size(), bare.size() + 3);
  editor.clear();
  EXPECT_EQ(ops(), bare);
  editor.take_up(full);
  EXPECT_EQ(ops(), full);
  EXPECT_EQ(timeline.recomputed_ns(), cost_ns);
  ASSERT_NO_FATAL_FAILURE(expect_exact(iteration, timeline));
}

TEST(Editor, RecomputesAncestorsThatAreNotThere) {
  const Iteration iteration = chain(6);
  Editor editor(iteration, 0);
  editor.set_ns_per_byte(1e9);  // keeping is out of the question
  // State 5 before the step backward that reads it (op 7): states 1 to 4 are kept for later, so one run.
  editor.recompute(5, 7);
  EXPECT_EQ(editor.timeline().recomputed_ns(), 1);
  // State 2 before op 10, states 1 and 3 too: from the constant input.
  editor.recompute(1, 11);
  editor.recompute(2, 10);
  EXPECT_EQ(editor.timeline().runs_of(10).size(), 3u);  // ops 0, 1 and the program's
}

TEST(Editor, RemovingTakesAlongWhatNobodyElseReads) {
  const Iteration iteration = chain(6);
  Editor editor(iteration, 0);
  editor.set_ns_per_byte(1e9);
  editor.recompute(1, 11);
  editor.recompute(2, 10);
  const RunId of_two = editor.timeline().runs_of(10)[1];
  ASSERT_EQ(editor.timeline().op_of(of_two), 1u);
  editor.remove(of_two);
  for (RunId run : editor.timeline().runs_of(10)) EXPECT_FALSE(editor.timeline().op_of(run) == 1);
}

}  // namespace
}  // namespace refrain::planner
