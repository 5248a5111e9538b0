// What repeats in the values too, where an iteration begins, and what the planner is told of it.
#include "guide/observed.hpp"

#include <gtest/gtest.h>

#include "planner/check.hpp"

namespace refrain::guide {
namespace {

constexpr BufferId kWeight{0}, kInput{1}, kHidden{2}, kOutput{3}, kOther{4};

BufferUse reads(BufferId buffer) {
  return {.buffer = buffer, .read = true};
}
BufferUse writes(BufferId buffer) {
  return {.buffer = buffer, .written = true, .whole = true};
}
BufferUse changes(BufferId buffer) {
  return {.buffer = buffer, .read = true, .written = true};
}

class Observing : public ::testing::Test {
 protected:
  Observing() {
    for (const BufferId buffer : {kWeight, kInput, kHidden, kOutput, kOther})
      history_.buffer(buffer, bytes(buffer), false);
    op({writes(kOther)}, 0, false);
    op({writes(kWeight)}, 0, false);
  }
  static Bytes bytes(BufferId buffer) { return 10 + buffer.index; }
  void op(std::vector<BufferUse> uses, std::uint32_t cost_class, bool replayable = true) {
    history_.op(uses, replayable, cost_class, 0);
  }
  void end_of_step() {
    for (const BufferId buffer : {kHidden, kOutput}) {
      history_.free(buffer);
      history_.buffer(buffer, bytes(buffer), false);
    }
  }
  void step() {
    op({writes(kInput)}, 1, false);
    op({reads(kInput), reads(kWeight), writes(kHidden)}, 2);
    op({reads(kHidden), writes(kOutput)}, 3);
    op({reads(kHidden), reads(kOutput), changes(kWeight)}, 4);
    end_of_step();
  }
  static constexpr std::size_t kLength = 4;
  History history_{1000};
};

TEST_F(Observing, ASecondStepIsARepeat) {
  step();
  EXPECT_FALSE(repeats(history_, kLength));
  step();
  EXPECT_TRUE(repeats(history_, kLength));
  EXPECT_FALSE(repeats(history_, kLength - 1));
}

TEST_F(Observing, TheSameOpsOnOtherValuesAreNone) {
  step();
  op({writes(kInput)}, 1, false);
  op({reads(kInput), reads(kWeight), writes(kHidden)}, 2);
  op({reads(kHidden), writes(kOutput)}, 3);
  history_.buffer(kInput, bytes(kHidden), false);  // as large as the hidden one: the same shape
  op({reads(kInput), reads(kOutput), changes(kWeight)}, 4);
  EXPECT_EQ(history_.at(history_.end() - 1).shape, history_.at(history_.end() - 1 - kLength).shape);
  EXPECT_FALSE(repeats(history_, kLength));
}

TEST_F(Observing, StepsThatLeaveMoreBehindAreNone) {
  step();
  op({writes(kInput)}, 1, false);
  op({reads(kInput), reads(kWeight), writes(kHidden)}, 2);
  op({reads(kHidden), writes(kOutput)}, 3);
  history_.buffer(BufferId{5}, 100, false);
  op({writes(BufferId{5})}, 9, false);
  for (int i = 0; i < 2; ++i) {
    op({writes(kInput)}, 1, false);
    op({reads(kInput), writes(BufferId{6u + static_cast<std::uint32_t>(i)})}, 2);
  }
  EXPECT_TRUE(history_.at(history_.end() - 1).live_bytes == history_.at(history_.end() - 3).live_bytes)
      << "buffers of no size";
  history_.buffer(BufferId{8}, 50, false);
  history_.buffer(BufferId{9}, 50, false);
  for (const std::uint32_t made : {8u, 9u}) {
    op({writes(kInput)}, 1, false);
    op({reads(kInput), writes(BufferId{made})}, 2);
  }
  EXPECT_EQ(history_.at(history_.end() - 1).shape, history_.at(history_.end() - 3).shape);
  EXPECT_FALSE(repeats(history_, 2)) << "a loop in a step that keeps what it makes";
}

TEST_F(Observing, AnIterationBeginsWhereLeastIsHandedOn) {
  for (int i = 0; i < 2; ++i) step();
  const std::uint64_t begin = boundary(history_, kLength);
  EXPECT_EQ((begin - 2) % kLength, 0u) << "two ops of the setup";
}

TEST_F(Observing, ThePlannerIsToldWhatIsConstantAndWhatIsWanted) {
  for (int i = 0; i < 3; ++i) step();
  const Observed seen = observe(history_, 2 + kLength, kLength,
                                {.op_ns = [](std::uint32_t cost_class) { return 100.0 * cost_class; }});
  const planner::Iteration& iteration = seen.iteration;
  ASSERT_EQ(planner::problem_of(iteration), "");
  ASSERT_EQ(iteration.ops.size(), kLength);
  EXPECT_EQ(iteration.ops[2].recompute_ns, 300);
  const auto value = [&](std::size_t op, std::size_t use) { return seen.ops[op].uses[use]; };
  const auto& values = iteration.values;
  const planner::ValueIndex weight = value(1, 1).input;
  EXPECT_TRUE(values[weight].constant);
  EXPECT_EQ(values[weight].bytes, 10);
  EXPECT_EQ(value(3, 2).input, weight);
  const planner::ValueIndex changed = value(3, 2).output;
  EXPECT_TRUE(values[changed].wanted) << "the next step reads it";
  EXPECT_EQ(values[changed].bytes, 0) << "in the memory of the constant, which is counted already";
  EXPECT_FALSE(iteration.ops[3].replayable);
  const planner::ValueIndex hidden = value(1, 2).output;
  EXPECT_EQ(value(2, 0).input, hidden);
  EXPECT_EQ(value(3, 0).input, hidden);
  EXPECT_FALSE(values[hidden].wanted);
  EXPECT_TRUE(iteration.ops[1].replayable);
  EXPECT_FALSE(iteration.ops[0].replayable);
  EXPECT_EQ(value(0, 0).output, value(1, 0).input);
  EXPECT_EQ(seen.other_leaf_bytes, bytes(kOther)) << "nobody reads it, and it cannot go";
}

TEST_F(Observing, WhatMayGoToTheHostHasThePriceOfBothWays) {
  for (int i = 0; i < 3; ++i) step();
  const auto restore_ns = [&](engine::Offload offload, std::size_t op, std::size_t use) {
    const Observed seen = observe(history_, 2 + kLength, kLength,
                                  {.op_ns = [](std::uint32_t) { return 1.0; },
                                   .mapping_ns = 64,
                                   .transfer = {.fixed_ns = 100, .ns_per_byte = 2},
                                   .offload = offload});
    return seen.iteration.values[seen.ops[op].uses[use].output].restore_ns;
  };
  const std::int64_t hidden_ns = 64 + 2 * (100 + 2 * static_cast<std::int64_t>(bytes(kHidden)));
  const std::int64_t input_ns = 64 + 2 * (100 + 2 * static_cast<std::int64_t>(bytes(kInput)));
  EXPECT_EQ(restore_ns(engine::Offload::kAuto, 1, 2), hidden_ns);
  EXPECT_EQ(restore_ns(engine::Offload::kLeaves, 1, 2), planner::kNoRestore) << "it can be computed";
  EXPECT_EQ(restore_ns(engine::Offload::kLeaves, 0, 0), input_ns);
  EXPECT_EQ(restore_ns(engine::Offload::kOff, 0, 0), planner::kNoRestore);
  EXPECT_EQ(restore_ns(engine::Offload::kAuto, 3, 2), planner::kNoRestore) << "changed in place";
}

TEST_F(Observing, WhatComesBackTakesItsPagesToo) {
  for (int i = 0; i < 3; ++i) step();
  const Observed seen =
      observe(history_, 2 + kLength, kLength,
              {.op_ns = [](std::uint32_t cost_class) { return 100.0 * cost_class; }, .mapping_ns = 64});
  const planner::Iteration& iteration = seen.iteration;
  EXPECT_EQ(iteration.ops[2].cost_ns, 300) << "the program's own run";
  EXPECT_EQ(iteration.ops[2].recompute_ns, 364);
  EXPECT_EQ(iteration.ops[3].recompute_ns, 400) << "what is changed in place keeps its pages";
}

// Wanted values are seen in the step behind the one that is planned, or, where that is not over, in the one
// before.
TEST_F(Observing, WhatTheNextStepReadsIsWantedWhereverTheIterationEnds) {
  for (int i = 0; i < 2; ++i) step();
  for (const std::uint64_t first : {2u, 6u}) {
    const Observed seen = observe(history_, first, kLength, {.op_ns = [](std::uint32_t) { return 1.0; }});
    EXPECT_TRUE(seen.iteration.values[seen.ops[3].uses[2].output].wanted) << first;
  }
}

TEST(History, WhatIsPassedLeavesItsValuesBehind) {
  History history(4);
  const BufferId a{0}, b{1};
  history.buffer(a, 100, false);
  history.buffer(b, 10, false);
  const BufferUse make_a{.buffer = a, .written = true, .whole = true};
  const BufferUse a_to_b[] = {{.buffer = a, .read = true}, {.buffer = b, .written = true, .whole = true}};
  history.pass({&make_a, 1}, false);
  history.pass(a_to_b, true);
  EXPECT_EQ(history.end(), 2u);
  EXPECT_EQ(history.first(), 2u) << "nothing to look at";
  const Record& record = history.op(a_to_b, true, 1, 0);
  EXPECT_EQ(record.uses[0].input.number, 1u);
  EXPECT_EQ(record.uses[0].input.op, 0u);
  EXPECT_EQ(record.uses[1].output, 3u);
  EXPECT_EQ(record.live_bytes, 110u);
  EXPECT_EQ(history.first(), 2u);
  EXPECT_EQ(history.end(), 3u);
  Bytes leaf_bytes = 0;
  history.visit_leaves([&](const Known& leaf, Bytes bytes) { leaf_bytes += leaf.number == 1 ? bytes : 0; });
  EXPECT_EQ(leaf_bytes, 100u);
}

TEST(History, CountsWhatStaysOnceAndForgetsWhatABarrierMayHaveWritten) {
  History history(4);
  history.buffer(kWeight, 100, true);
  history.buffer(kInput, 10, false);
  EXPECT_EQ(history.stays_bytes(), 100u);
  const std::vector<BufferUse> both{writes(kWeight), writes(kInput)};
  history.op(both, true, 0, 0);
  EXPECT_EQ(history.at(0).live_bytes, 10u);
  EXPECT_NE(history.current(kInput).number, 0u);
  history.barrier();
  EXPECT_EQ(history.current(kInput).number, 0u);
  EXPECT_EQ(history.first(), history.end());
  for (int i = 0; i < 9; ++i) history.op(both, true, 0, 0);
  EXPECT_EQ(history.end() - history.first(), 4u);
  const std::uint64_t number = history.current(kInput).number;
  history.free(kInput);
  EXPECT_EQ(history.freed(kInput), number);
  history.buffer(kInput, 10, false);
  EXPECT_EQ(history.freed(kInput), 0u);
  history.free(kWeight);
  EXPECT_EQ(history.stays_bytes(), 0u);
}

}  // namespace
}  // namespace refrain::guide
