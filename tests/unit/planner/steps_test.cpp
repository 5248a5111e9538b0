// Steps and turns are found from the graph alone.
#include "planner/steps.hpp"

#include <gtest/gtest.h>

#include "networks.hpp"
#include "planner/repetition.hpp"

namespace refrain::planner {
namespace {

std::vector<Step> steps_of(const Network& network) {
  EXPECT_EQ(problem_of(network.iteration), "");
  return planner::steps_of(network.iteration, network.names, Uses(network.iteration));
}

TEST(Steps, OneStepTurnsBehindTheLoss) {
  const std::vector<Step> steps = steps_of(network({.blocks = 5}));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].begin, 0u);
  EXPECT_EQ(steps[0].turn, 1u + 5 * 3 + 1);
  EXPECT_EQ(steps[0].end, steps[0].turn + 5 * 4);
}

// Whatever the parameters take: their gradients are kept longer than most.
TEST(Steps, SeveralStepsEndBehindTheirUpdates) {
  for (const std::int64_t weight_bytes : {1, 1000}) {
    const std::vector<Step> steps =
        steps_of(network({.blocks = 4, .steps = 5, .updates = true, .weight_bytes = weight_bytes}));
    const OpIndex length = 1 + 4 * 3 + 1 + 4 * 4 + 4;
    EXPECT_EQ(
        steps_of(network({.blocks = 4, .steps = 2, .updates = true, .weight_bytes = weight_bytes})).size(),
        2u);
    ASSERT_EQ(steps.size(), 5u) << weight_bytes;
    for (OpIndex i = 0; i < 5; ++i) {
      EXPECT_EQ(steps[i].begin, i * length);
      EXPECT_EQ(steps[i].turn, i * length + 1 + 4 * 3 + 1);
      EXPECT_EQ(steps[i].end, (i + 1) * length);
    }
  }
}

// What comes before the first step is none of it; the first step may begin otherwise than the others.
TEST(Steps, PreparationsAndAnOddFirstStep) {
  Network net;
  ValueIndex start = add_value(net.iteration, 10);
  net.iteration.values[start].constant = true;
  for (int i = 0; i < 7; ++i) net.add(kEmbed, 0, {start}, 1);
  const Network steps = network({.blocks = 4, .steps = 4, .updates = true});
  const auto offset = static_cast<ValueIndex>(net.iteration.values.size());
  for (Op op : steps.iteration.ops) {
    for (auto* list : {&op.reads, &op.writes})
      for (ValueIndex& value : *list) value += offset;
    net.iteration.ops.push_back(op);
  }
  net.iteration.values.insert(net.iteration.values.end(), steps.iteration.values.begin(),
                              steps.iteration.values.end());
  net.names.insert(net.names.end(), steps.names.begin(), steps.names.end());
  net.names[7 + 1] = kNames;
  const std::vector<Step> found = steps_of(net);
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[0].end, 7u);
  EXPECT_EQ(found[0].turn, 7u) << "nothing is kept";
  for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ(found[i].turn - found[i].begin, 1u + 4 * 3 + 1);
}

// A recurrent network repeats within its one step: 20 times the same ops forward, then others backward.
TEST(Steps, TimeStepsAreNoSteps) {
  const std::vector<Step> steps = steps_of(network({.blocks = 20}));
  ASSERT_EQ(steps.size(), 1u);
}

TEST(Steps, WithoutAWayBackNothingIsKept) {
  Network inference;
  ValueIndex x = add_value(inference.iteration, 10);
  inference.iteration.values[x].constant = true;
  for (int i = 0; i < 6; ++i) x = inference.add(i % 2 ? kGelu : kMatmul, 5, {x}, 10);
  inference.iteration.values[x].wanted = true;
  const std::vector<Step> steps = steps_of(inference);
  for (const Step& step : steps) EXPECT_EQ(step.turn, step.end);
}

TEST(Repetition, AllOfEachPeriodAndMostCoveredFirst) {
  const std::vector<std::uint64_t> keys = {9, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 7, 5, 5, 5, 5};
  const std::vector<Repetition> found = repetitions(keys);
  ASSERT_GE(found.size(), 2u);
  EXPECT_EQ(found[0].begin, 1u);
  EXPECT_EQ(found[0].end, 11u);
  EXPECT_EQ(found[0].period, 3u);
  EXPECT_EQ(found[0].repeats(), 3u);
  EXPECT_EQ(found[1].period, 1u);
  EXPECT_EQ(found[1].begin, 12u);
  EXPECT_EQ(found[1].covered(), 4u);
  const std::vector<std::uint64_t> twice = {1, 2, 1, 2, 8, 1, 2, 1, 2, 1};
  const std::vector<Repetition> both = repetitions(twice);
  ASSERT_EQ(both.size(), 2u) << "and not once, over the 8";
  EXPECT_EQ(both[0].begin, 0u);
  EXPECT_EQ(both[0].end, 4u);
  EXPECT_EQ(both[1].begin, 5u);
  EXPECT_EQ(both[1].end, 10u);
  EXPECT_TRUE(repetitions(std::vector<std::uint64_t>{1, 2, 3, 4}).empty());
  EXPECT_TRUE(repetitions({}).empty());
}

}  // namespace
}  // namespace refrain::planner
