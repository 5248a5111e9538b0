// The checker finds every kind of wrong prediction, and counts.
#include "checker.hpp"

#include <gtest/gtest.h>

namespace refrain::access::test {
namespace {

TEST(ranges, without_cuts_at_both_ends_and_inside) {
  const Ranges from{{0, 10}, {20, 30}, {40, 50}};
  EXPECT_EQ(without(from, {}), from);
  EXPECT_EQ(without(from, {{0, 50}}), Ranges{});
  EXPECT_EQ(without(from, {{5, 25}, {28, 29}, {45, 60}}), (Ranges{{0, 5}, {25, 28}, {29, 30}, {40, 45}}));
  EXPECT_EQ(without({{0, 100}}, from), (Ranges{{10, 20}, {30, 40}, {50, 100}}));
  EXPECT_EQ(without({{0, 100}, {100, 200}}, {{90, 110}}), (Ranges{{0, 90}, {110, 200}}));
}

TEST(ranges, joined_sorts_and_joins) {
  EXPECT_EQ(joined({{20, 30}, {0, 10}, {10, 12}, {25, 40}, {50, 50}}), (Ranges{{0, 12}, {20, 40}}));
}

// Allocations [1000, 1100) and [2000, 2100); the first is read, of the second the first half written.
const Truth kTruth{{{1000, 1100}}, {{2000, 2050}}, {{1000, 1100}, {2000, 2100}}, {}};

Prediction::Pointer pointer(std::uint64_t address, Ranges reads, Ranges writes, Ranges must = {}) {
  return {0, address, std::move(reads), std::move(writes), std::move(must), false, false};
}

Score score_of(std::vector<Prediction::Pointer> pointers, const Truth& truth = kTruth, bool barrier = false) {
  Score score;
  check({barrier, std::move(pointers)}, truth, "k", score);
  return score;
}

TEST(check, accepts_what_is_exact) {
  const Score score =
      score_of({pointer(1000, {{1000, 1100}}, {}), pointer(2000, {}, {{2000, 2050}}, {{2000, 2050}})});
  EXPECT_EQ(score.violations, 0u) << score.messages[0];
  EXPECT_EQ(score.exact, 1u);
  EXPECT_EQ(score.true_bytes, 150u);
  EXPECT_EQ(score.predicted_bytes, 150u);
  EXPECT_EQ(score.must_bytes, score.written_bytes);
}

TEST(check, accepts_more_than_is_touched_but_not_as_exact) {
  const Score score = score_of({pointer(1000, {{900, 1200}}, {}), pointer(2000, {}, {{2000, 2060}})});
  EXPECT_EQ(score.violations, 0u) << score.messages[0];
  EXPECT_EQ(score.exact, 0u);
  EXPECT_EQ(score.predicted_bytes, 360u);
}

TEST(check, knows_what_anywhere_means) {
  Prediction::Pointer in = pointer(1050, {}, {}), out = pointer(2099, {}, {});
  in.reads_anywhere = out.writes_anywhere = true;
  EXPECT_EQ(score_of({in, out}).violations, 0u);
  EXPECT_EQ(score_of({in, out}).predicted_bytes, 200u);
  out.address = 2100;
  EXPECT_EQ(score_of({in, out}).violations, 1u);
}

TEST(check, finds_a_byte_that_was_not_predicted) {
  const auto out = pointer(2000, {}, {{2000, 2050}});
  EXPECT_EQ(score_of({pointer(1000, {{1000, 1100}}, {}), out}).violations, 0u);
  EXPECT_EQ(score_of({pointer(1000, {{1001, 1100}}, {}), out}).violations, 1u);
  EXPECT_EQ(score_of({pointer(1000, {{1000, 1050}, {1051, 1100}}, {}), out}).violations, 1u);
  EXPECT_EQ(score_of({pointer(1000, {{1000, 1100}}, {}), pointer(2000, {{2000, 2050}}, {})}).violations, 1u);
  EXPECT_EQ(score_of({}).violations, 1u);
  EXPECT_EQ(score_of({}).messages.at(0).substr(0, 3), "k: ");
}

TEST(check, finds_what_was_not_written_though_it_must_be) {
  const auto in = pointer(1000, {{1000, 1100}}, {});
  EXPECT_EQ(score_of({in, pointer(2000, {}, {{2000, 2100}}, {{2000, 2050}})}).violations, 0u);
  EXPECT_EQ(score_of({in, pointer(2000, {}, {{2000, 2100}}, {{2000, 2051}})}).violations, 1u);
}

TEST(check, expects_nothing_of_a_barrier_but_what_it_promises) {
  EXPECT_EQ(score_of({}, kTruth, true).violations, 0u);
  EXPECT_EQ(score_of({}, kTruth, true).barriers, 1u);
  EXPECT_EQ(score_of({pointer(2000, {}, {}, {{2000, 2100}})}, kTruth, true).violations, 1u);
}

TEST(check, holds_no_prediction_to_what_a_program_does_outside_its_allocations) {
  Truth truth = kTruth;
  truth.writes.push_back({3000, 3004});
  const auto in = pointer(1000, {{1000, 1100}}, {}), out = pointer(2000, {}, {{2000, 2050}});
  EXPECT_EQ(score_of({in, out}, truth).violations, 0u);
  EXPECT_EQ(score_of({in, out}, truth).astray, 1u);
  EXPECT_EQ(score_of({in, out}).astray, 0u);
  EXPECT_EQ(score_of({in}, truth).violations, 1u);
}

TEST(check, leaves_variables_aside) {
  Truth truth = kTruth;
  truth.reads.push_back({5000, 5004});
  const auto in = pointer(1000, {{1000, 1100}}, {}), out = pointer(2000, {}, {{2000, 2050}});
  EXPECT_EQ(score_of({in, out}, truth).exact, 0u);
  truth.variables = {{5000, 5064}};
  EXPECT_EQ(score_of({in, out}, truth).violations, 0u);
  EXPECT_EQ(score_of({in, out}, truth).exact, 1u);
}

TEST(check, counts_allocations_that_are_overwritten_as_a_whole) {
  Truth truth = kTruth;
  EXPECT_EQ(score_of({}, truth).overwritten, 0u);
  truth.writes = {{2000, 2100}};
  EXPECT_EQ(score_of({}, truth).overwritten, 1u);
  EXPECT_EQ(score_of({}, truth).overwritten_and_known, 0u);
  EXPECT_EQ(score_of({pointer(2000, {}, {}, {{2000, 2100}})}, truth).overwritten_and_known, 1u);
}

}  // namespace
}  // namespace refrain::access::test
