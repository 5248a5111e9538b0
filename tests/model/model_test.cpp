// Random programs under random caps against the reference. A failure prints its seed and the shortest program
// that fails in the same way; REFRAIN_TEST_SEED repeats it.
#include <gtest/gtest.h>

#include <cstdlib>

#include "actions.hpp"

namespace refrain::engine::test {
namespace {

// Sanitised builds are slower; a full run has to fit its time.
#ifdef REFRAIN_CHECK_INVARIANTS
constexpr std::uint64_t kPrograms = 8'000;
#else
constexpr std::uint64_t kPrograms = 100'000;
#endif
constexpr std::size_t kActions = 120;

TEST(Model, EveryReadIsRightUnderRandomCaps) {
  const char* one = std::getenv("REFRAIN_TEST_SEED");
  const std::uint64_t first = one ? std::strtoull(one, nullptr, 10) : 1;
  const std::uint64_t last = one ? first : kPrograms;
  Outcome all;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const Outcome outcome = run_script(make_script(seed, kActions));
    if (!outcome.wrong.empty()) {
      FAIL() << "REFRAIN_TEST_SEED=" << seed << ": " << outcome.wrong << "\n"
             << to_text(shrink(make_script(seed, kActions)));
    }
    all.rematerialisations += outcome.rematerialisations;
    all.restores += outcome.restores;
    all.mismatches += outcome.mismatches;
    all.out_of_memory += outcome.out_of_memory;
    all.judged += outcome.judged;
    all.needless += outcome.needless;
  }
  if (one) return;
  EXPECT_GT(all.rematerialisations, kPrograms / 2) << "the programs are too easy to test anything";
  EXPECT_GT(all.restores, kPrograms / 4);
  EXPECT_GT(all.mismatches, kPrograms / 100);
  EXPECT_GT(all.judged, kPrograms / 10);
  EXPECT_LT(all.needless * 100, all.judged) << "more than 1 % of the out-of-memory answers were needless";
}

// Found by soaks of millions: a guard given up because what stood between was there for the length of a plan;
// the only copy of a value given up although somebody was about to make a leaf of it; a value computed on the
// way, by a kernel that lies, although there was a copy of it; two values given up
// in one op because each was thought to be a help to the other.
TEST(Model, ProgramsThatOnceFailed) {
  for (const std::uint64_t seed :
       {2404133u, 155766u, 137367u, 201278u, 21163035u, 22302441u, 501669500u, 29838453u}) {
    Script script = without_advice(make_script(seed, kActions));
    script.settings.policy = PolicyKind::kDtr;  // as it was then
    const Outcome outcome = run_script(script);
    EXPECT_EQ(outcome.wrong, "") << "REFRAIN_TEST_SEED=" << seed;
  }
}

}  // namespace
}  // namespace refrain::engine::test
