// Kernels that do not give the same bytes twice: caught on probation, put right, never replayed again; and
// kernels that do, which are believed after a while.
#include <gtest/gtest.h>

#include "program.hpp"

namespace refrain::engine::test {
namespace {

using P = Program;

constexpr std::uint32_t kHonest = 1;
constexpr std::uint32_t kLiar = 2;

Settings with(Verify verify, OnMismatch on_mismatch = OnMismatch::kFail, Bytes host_pages = 1000) {
  Settings settings;
  settings.cap_bytes = 3 * kPage;
  settings.granularity_bytes = kPage;
  settings.verify = verify;
  settings.on_mismatch = on_mismatch;
  settings.host_cap_bytes = host_pages * kPage;
  return settings;
}

// Offload is there for what nothing else will do for.
Settings with_dear_offload(Verify verify) {
  Settings settings = with(verify);
  settings.offload = Offload::kAuto;
  return settings;
}

struct Made {
  BufferId x;
  std::vector<BufferId> outs;
};

// `count` values of one kernel, of which only two fit at once.
Made make(P& p, int count, std::uint32_t cost_class, bool unstable) {
  Made made{.x = p.allocate(1), .outs = {}};
  p.upload(made.x);
  for (int i = 0; i < count; ++i) {
    made.outs.push_back(p.allocate(1));
    EXPECT_EQ(p.op({P::in(made.x), P::whole(made.outs.back())}, true, cost_class, unstable), Status::kOk);
  }
  return made;
}

TEST(Trust, AnHonestKernelIsComparedUntilItIsTrusted) {
  P p(with(Verify::kSample));
  const Made made = make(p, 20, kHonest, false);
  for (int round = 0; round < 3; ++round) {
    for (const BufferId b : made.outs) EXPECT_TRUE(p.download(b));
  }
  const Statistics& s = p.engine.statistics();
  EXPECT_TRUE(p.engine.trust().trusted(kHonest));
  EXPECT_GE(s.compared, Trust::kMatches);
  EXPECT_LT(s.compared, s.rematerialisations);
  EXPECT_EQ(s.mismatches, 0u);
  EXPECT_GT(s.replayed_ops, 0u);
}

TEST(Trust, ALiarIsCaughtOnProbationAndNothingIsLost) {
  for (const Verify verify : {Verify::kSample, Verify::kAll}) {
    P p(with_dear_offload(verify));
    p.engine.set_transfer_cost({.fixed_ns = 1e9, .ns_per_byte = 0});
    const Made made = make(p, 20, kLiar, true);
    for (const BufferId b : made.outs) EXPECT_TRUE(p.download(b));
    const Statistics& s = p.engine.statistics();
    EXPECT_EQ(s.mismatches, 1u);
    EXPECT_EQ(s.unrepaired, 0u);
    EXPECT_EQ(s.replayed_ops, 1u) << "it was replayed again after it had been caught";
    EXPECT_EQ(p.engine.trust().quarantined_kernels(), 1u);
    EXPECT_EQ(p.observer.last_mismatch.kernel, p.engine.trust().kernel_of(kLiar));
    EXPECT_TRUE(p.observer.last_mismatch.repaired);
    EXPECT_NE(p.observer.last_mismatch.expected, p.observer.last_mismatch.found);
  }
}

TEST(Trust, ALiarOnTheWayIsToBlame) {
  P p(with_dear_offload(Verify::kSample));
  p.engine.set_transfer_cost({.fixed_ns = 1e9, .ns_per_byte = 0});
  const BufferId x = p.allocate(1);
  p.upload(x);
  const BufferId a = p.allocate(1);
  p.op({P::in(x), P::whole(a)}, true, kLiar, true);
  const BufferId b = p.allocate(1);
  p.op({P::in(a), P::whole(b)}, true, kHonest);
  p.free(a);  // b can only be had by way of the liar
  const Made others = make(p, 3, kHonest, false);
  EXPECT_TRUE(p.download(b));
  EXPECT_EQ(p.engine.statistics().mismatches, 1u);
  EXPECT_TRUE(p.engine.trust().quarantined(kLiar));
}

TEST(Trust, WithNoRoomForTheCopyAnUnprovenValueStays) {
  P p(with(Verify::kSample, OnMismatch::kFail, 0));
  const Made made = make(p, 2, kHonest, false);
  const BufferId more = p.allocate(1);
  EXPECT_TRUE(!more || p.upload(more) == Status::kOutOfMemory);
  for (const BufferId b : made.outs) EXPECT_TRUE(p.download(b));
  EXPECT_EQ(p.engine.statistics().evictions, 0u);
}

TEST(Trust, WithVerificationOffNothingIsComparedOrCopied) {
  P p(with(Verify::kOff));
  const Made made = make(p, 20, kHonest, false);
  for (const BufferId b : made.outs) EXPECT_TRUE(p.download(b));
  EXPECT_EQ(p.engine.statistics().compared, 0u);
  EXPECT_EQ(p.engine.statistics().offloads, 0u);
}

// Three honest matches, then it turns: no copy stands by any longer.
void turn(P& p, const Made& made) {
  for (int round = 0; round < 4; ++round) {
    for (const BufferId b : made.outs) EXPECT_TRUE(p.download(b));
  }
  EXPECT_TRUE(p.engine.trust().trusted(kHonest));
  p.device.make_unstable();
}

TEST(Trust, ATrustedKernelThatTurnsIsAnErrorWithAll) {
  P p(with(Verify::kAll, OnMismatch::kFail, 3));
  const Made made = make(p, 4, kHonest, false);
  turn(p, made);
  bool failed = false;
  for (const BufferId b : made.outs) failed = failed || !p.download(b);
  EXPECT_TRUE(failed);
  EXPECT_GT(p.engine.statistics().unrepaired, 0u);
  EXPECT_TRUE(p.engine.trust().quarantined(kHonest));
}

TEST(Trust, StopMeansThatNothingIsEvictedAfterwards) {
  P p(with(Verify::kAll, OnMismatch::kStop, 3));
  const Made made = make(p, 4, kHonest, false);
  turn(p, made);
  p.expect_wrong_bytes = true;
  for (const BufferId b : made.outs) p.download(b);
  EXPECT_EQ(p.engine.statistics().unrepaired, 1u);
  const std::uint64_t evictions = p.engine.statistics().evictions;
  for (const BufferId b : made.outs) p.download(b);
  EXPECT_EQ(p.engine.statistics().evictions, evictions);
}

TEST(Trust, AHostCopyThatHasChangedIsFoundAndComputedInstead) {
  Settings settings = with(Verify::kAll);
  settings.offload = Offload::kAuto;
  P p(settings);
  for (std::uint32_t c = 0; c < P::kClasses; ++c) p.engine.set_cost_ns(c, 1e6);  // copies are cheaper
  const BufferId x = p.allocate(1);
  p.upload(x);
  p.engine.pin(x);  // a leaf's only copy could not be replaced
  std::vector<BufferId> outs;
  for (int i = 0; i < 6; ++i) {
    outs.push_back(p.allocate(1));
    EXPECT_EQ(p.op({P::in(x), P::whole(outs.back())}, true, kHonest), Status::kOk);
  }
  p.device.spoil_hosts();
  for (const BufferId b : outs) EXPECT_TRUE(p.download(b));
  EXPECT_GT(p.engine.statistics().mismatches, 0u);
  EXPECT_EQ(p.engine.statistics().unrepaired, 0u);
  EXPECT_EQ(p.engine.trust().quarantined_kernels(), 0u);
}

TEST(Trust, AMaskedDifferenceDoesNotLetAKernelsOwnOutputsGoUnguarded) {
  Trust trust;
  trust.describe(kLiar, 0);
  for (std::uint32_t i = 0; i < Trust::kMatches; ++i) trust.matched(kLiar, false);
  EXPECT_TRUE(trust.trusted_on_the_way(kLiar));
  EXPECT_FALSE(trust.trusted(kLiar));
}

TEST(Trust, QuarantineIsForAllShapesAndForGood) {
  Trust trust;
  trust.describe(kHonest, 0);
  trust.describe(kLiar, 0);
  for (std::uint32_t i = 0; i < Trust::kMatches; ++i) trust.matched(kHonest, true);
  EXPECT_TRUE(trust.trusted(kHonest));
  trust.quarantine(0);
  trust.matched(kHonest, true);
  EXPECT_FALSE(trust.trusted(kHonest));
  EXPECT_TRUE(trust.quarantined(kLiar));
  EXPECT_EQ(trust.quarantined_kernels(), 1u);
}

}  // namespace
}  // namespace refrain::engine::test
