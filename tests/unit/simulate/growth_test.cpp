// What is taken to grow with the batch, and the search for the largest.
#include "simulate/growth.hpp"

#include <gtest/gtest.h>

#include "simulate/batches.hpp"

namespace refrain::simulate {
namespace {

// Four steps of two layers: inputs from the host, a parameter each that is updated in place from a gradient.
struct Steps {
  enum Buffer : std::uint32_t { kW0, kW1, kInput, kA, kB, kGradA, kGradB, kGradW0, kGradW1, kScalar, kCount };
  Trace trace;

  Steps() {
    trace.names = {"make", "copy", "forward", "backward", "update"};
    trace.buffers = {{.bytes = 40},  {.bytes = 40},  {.bytes = 100}, {.bytes = 100}, {.bytes = 100},
                     {.bytes = 100}, {.bytes = 100}, {.bytes = 40},  {.bytes = 40},  {.bytes = 4}};
    trace.page_bytes = 4;
    op(0, true, {writes(kScalar)});
    for (const Buffer weight : {kW0, kW1}) op(1, false, {writes(weight)});
    for (int step = 0; step < 4; ++step) {
      op(1, false, {writes(kInput)});
      op(2, true, {reads(kInput), reads(kW0), writes(kA)});
      op(2, true, {reads(kA), reads(kW1), writes(kB)});
      op(3, true, {reads(kB), reads(kScalar), writes(kGradB)});
      op(3, true, {reads(kGradB), reads(kA), writes(kGradW1)});
      op(3, true, {reads(kGradB), reads(kW1), writes(kGradA)});
      op(3, true, {reads(kGradA), reads(kInput), writes(kGradW0)});
      op(4, true, {{.buffer = kW0, .read = true, .written = true}, reads(kGradW0)});
      op(4, true, {{.buffer = kW1, .read = true, .written = true}, reads(kGradW1)});
    }
  }
  static TraceUse reads(std::uint32_t buffer) { return {.buffer = buffer, .read = true}; }
  static TraceUse writes(std::uint32_t buffer) { return {.buffer = buffer, .written = true, .whole = true}; }
  void op(std::uint32_t name, bool replayable, std::vector<TraceUse> uses) {
    trace.steps.push_back({TraceStep::Kind::kOp, static_cast<std::uint32_t>(trace.ops.size())});
    trace.ops.push_back({.name = name,
                         .replayable = replayable,
                         .cost_ns = name == 1 ? 0.0 : 10.0,
                         .first_use = trace.all_uses.size(),
                         .use_count = static_cast<std::uint32_t>(uses.size()),
                         .cost_class = name});
    trace.all_uses.insert(trace.all_uses.end(), uses.begin(), uses.end());
  }
};

TEST(Growth, ActivationsGrowAndParametersWithTheirGradientsDoNot) {
  const std::vector<bool> grows = growing_buffers(Steps().trace);
  const std::vector<bool> expected = {false, false, true, true, true, true, true, false, false, false};
  EXPECT_EQ(grows, expected);
}

// Everything of one size: what stays must not draw activations after it.
TEST(Growth, EqualSizesAreNoUpdates) {
  Trace trace = Steps().trace;
  for (TraceBuffer& buffer : trace.buffers) buffer.bytes = 40;
  const std::vector<bool> expected = {false, false, true, true, true, true, true, false, false, false};
  EXPECT_EQ(growing_buffers(trace), expected);
}

TEST(Growth, AScaledTraceHasLargerBuffersAndLongerOps) {
  Steps steps;
  steps.trace.costs = {{.cost_class = 2, .ns = 10}, {.cost_class = 4, .ns = 10}};
  const Trace twice = scaled(steps.trace, growing_buffers(steps.trace), 1.51);
  EXPECT_EQ(twice.buffers[Steps::kA].bytes, 152u) << "whole pages";
  EXPECT_EQ(twice.buffers[Steps::kW0].bytes, 40u);
  EXPECT_DOUBLE_EQ(twice.ops[4].cost_ns, 15.1);
  EXPECT_DOUBLE_EQ(twice.ops.back().cost_ns, 10) << "the update";
  EXPECT_DOUBLE_EQ(twice.costs[0].ns, 15.1);
  EXPECT_DOUBLE_EQ(twice.costs[1].ns, 10);
  const Trace same = scaled(steps.trace, growing_buffers(steps.trace), 1);
  EXPECT_EQ(same.buffers[Steps::kA].bytes, 100u);
}

Result result(bool fits, double overhead) {
  Result out;
  out.base_ns = 1000;
  out.total_ns = 1000 * (1 + overhead);
  out.outcome = fits ? Outcome::kOk : Outcome::kOutOfMemory;
  return out;
}

TEST(Batches, LargestToTheStep) {
  int runs = 0;
  const Batches found = find_batches(
      1000, 0.2, [](double factor) { return static_cast<std::uint64_t>(1000 * factor); },
      [&](double factor) {
        ++runs;
        return result(factor <= 3.3, (factor - 1) / 10);
      });
  EXPECT_EQ(found.memory_bytes, 1000u);
  EXPECT_NEAR(found.plain, 1, 0.02);
  ASSERT_TRUE(found.largest && found.largest_within);
  EXPECT_LE(found.largest->factor, 3.3);
  EXPECT_GE(found.largest->factor, 3.3 * 0.98);
  EXPECT_NEAR(found.largest->overhead, 0.23, 0.01);
  EXPECT_LE(found.largest_within->overhead, 0.2);
  EXPECT_GE(found.largest_within->factor, 3 * 0.98);
  EXPECT_EQ(found.curve.size(), static_cast<std::size_t>(runs)) << "none twice";
  for (std::size_t i = 1; i < found.curve.size(); ++i)
    EXPECT_LT(found.curve[i - 1].factor, found.curve[i].factor);
}

TEST(Batches, SmallerThanRecordedOrNone) {
  const auto peak = [](double factor) { return static_cast<std::uint64_t>(1000 * factor); };
  const Batches small =
      find_batches(300, 0.1, peak, [](double factor) { return result(factor <= 0.4, 0.05); });
  ASSERT_TRUE(small.largest);
  EXPECT_NEAR(small.largest->factor, 0.4, 0.01);
  EXPECT_NEAR(small.plain, 0.3, 0.01);
  const Batches none = find_batches(10, 0.1, peak, [](double) { return result(false, 0); });
  EXPECT_FALSE(none.largest || none.largest_within);
  EXPECT_EQ(none.plain, 0);
  const Batches all = find_batches(
      10, 0.1, [](double) { return std::uint64_t{1}; }, [](double) { return result(true, 0); });
  EXPECT_EQ(all.largest->factor, kMostBatch);
}

}  // namespace
}  // namespace refrain::simulate
