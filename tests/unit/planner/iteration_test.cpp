// What is wrong with an iteration is said.
#include <gtest/gtest.h>

#include "iterations.hpp"

namespace refrain::planner {
namespace {

TEST(Iteration, ChainsAndRandomOnesHaveNoProblem) {
  EXPECT_EQ(problem_of(chain(5)), "");
  for (std::uint32_t seed = 1; seed <= 20; ++seed) EXPECT_EQ(problem_of(random_iteration(seed, 30)), "");
}

TEST(Iteration, NamesTheOpAndTheValue) {
  Iteration early = chain(2);
  early.ops[0].reads = {2};
  EXPECT_EQ(problem_of(early), "op 0: value 2 is read before it is written");
  Iteration twice = chain(2);
  twice.ops[1].writes = {1};
  EXPECT_EQ(problem_of(twice), "op 1: value 1 is constant or written before");
  Iteration unknown = chain(2);
  unknown.ops[1].reads = {99};
  EXPECT_EQ(problem_of(unknown), "op 1: no such value 99");
  Iteration listed = chain(2);
  listed.ops[3].reads = {1, 3, 1};
  EXPECT_EQ(problem_of(listed), "op 3: a value is listed twice");
  Iteration negative = chain(2);
  negative.ops[1].recompute_ns = -1;
  EXPECT_EQ(problem_of(negative), "op 1: a negative cost");
  negative = chain(2);
  negative.values[1].bytes = -1;
  EXPECT_EQ(problem_of(negative), "value 1: negative bytes");
  Iteration nobody = chain(2);
  add_value(nobody, 1);
  EXPECT_EQ(problem_of(nobody), "value 6: neither constant nor written");
}

}  // namespace
}  // namespace refrain::planner
