// Copies of values on the host: what may be offloaded, when a copy is used again, and when there is no room.
#include <gtest/gtest.h>

#include "program.hpp"

namespace refrain::engine::test {
namespace {

using P = Program;

constexpr Bytes kAmple = 1000 * kPage;

Settings with(Bytes cap_pages, Offload offload, Bytes host_bytes = kAmple) {
  Settings settings;
  settings.cap_bytes = cap_pages * kPage;
  settings.granularity_bytes = kPage;
  settings.offload = offload;
  settings.host_cap_bytes = host_bytes;
  return settings;
}

// Leaves only: nothing of it could be computed again.
std::vector<BufferId> uploads(P& p, int count) {
  std::vector<BufferId> buffers;
  for (int i = 0; i < count; ++i) {
    buffers.push_back(p.allocate(1));
    EXPECT_EQ(p.upload(buffers.back()), Status::kOk);
  }
  return buffers;
}

TEST(Offload, LeavesMakeWayAndComeBack) {
  P p(with(3, Offload::kLeaves));
  const auto buffers = uploads(p, 10);
  for (const BufferId b : buffers) EXPECT_TRUE(p.download(b));
  EXPECT_GT(p.engine.statistics().offloads, 0u);
  EXPECT_EQ(p.engine.statistics().replayed_ops, 0u);
  EXPECT_LE(p.device.peak_physical_bytes, 3 * kPage);
}

TEST(Offload, OffMeansThatLeavesStay) {
  P p(with(3, Offload::kOff));
  const auto buffers = uploads(p, 3);
  const BufferId more = p.allocate(1);
  EXPECT_TRUE(!more || p.upload(more) == Status::kOutOfMemory);
  for (const BufferId b : buffers) EXPECT_TRUE(p.download(b));
  EXPECT_EQ(p.engine.statistics().offloads, 0u);
}

TEST(Offload, TheHostCapIsHard) {
  P p(with(3, Offload::kLeaves, 2 * kPage));
  const auto buffers = uploads(p, 5);
  const BufferId more = p.allocate(1);
  EXPECT_TRUE(!more || p.upload(more) == Status::kOutOfMemory);
  EXPECT_EQ(p.engine.host_memory().used_bytes(), 2 * kPage);
  EXPECT_EQ(p.engine.host_memory().peak_held_bytes(), 2 * kPage);
}

TEST(Offload, ACleanCopyIsNotMadeTwice) {
  P p(with(2, Offload::kLeaves));
  const auto buffers = uploads(p, 4);
  for (int round = 0; round < 5; ++round) {
    for (const BufferId b : buffers) EXPECT_TRUE(p.download(b));
  }
  EXPECT_EQ(p.engine.statistics().offloads, 4u);
  EXPECT_GT(p.engine.statistics().restores, 10u);
}

TEST(Offload, WhatIsOverwrittenIsNotComeBackTo) {
  P p(with(2, Offload::kLeaves));
  const auto buffers = uploads(p, 4);
  EXPECT_EQ(p.upload(buffers[0]), Status::kOk);  // the reference has other contents now
  for (const BufferId b : buffers) EXPECT_TRUE(p.download(b));
}

// 1 us of recomputation against about 2.5 us for a page there and back: and the other way round.
TEST(Offload, TheCheaperWayIsTaken) {
  for (const bool dear : {false, true}) {
    P p(with(4, Offload::kAuto));
    const BufferId x = p.allocate(1);
    p.upload(x);
    for (std::uint32_t c = 0; c < P::kClasses; ++c) p.engine.set_cost_ns(c, dear ? 1e6 : 10);
    std::vector<BufferId> outs;
    for (int i = 0; i < 8; ++i) {
      outs.push_back(p.allocate(1));
      p.op({P::in(x), P::whole(outs.back())});
    }
    for (const BufferId b : outs) EXPECT_TRUE(p.download(b));
    EXPECT_EQ(p.engine.statistics().replayed_ops > 0, !dear);
    EXPECT_EQ(p.observer.last_eviction.leave == Leave::kOffload, dear);
  }
}

TEST(Offload, OperandsThatFitOnlyOneByOneDuringAReplayStillMeet) {
  // The op needs three pages, and the replay for one of its operands needs three of its own.
  P p(with(3, Offload::kAuto));
  const auto in = uploads(p, 2);
  const BufferId made = p.allocate(1);
  EXPECT_EQ(p.op({P::in(in[0]), P::in(in[1]), P::whole(made)}), Status::kOk);
  const auto others = uploads(p, 2);
  const BufferId last = p.allocate(1);
  EXPECT_EQ(p.op({P::in(others[0]), P::in(others[1]), P::whole(last)}), Status::kOk);
  EXPECT_EQ(p.op({P::in(made), P::in(others[0]), P::inout(last)}), Status::kOk);
  EXPECT_TRUE(p.download(last));
}

TEST(Offload, ALeafThatOthersNeedIsSavedToTheHost) {
  P p(with(4, Offload::kLeaves));
  const BufferId x = p.allocate(1);
  p.upload(x);
  std::vector<BufferId> outs;
  for (int i = 0; i < 6; ++i) {
    outs.push_back(p.allocate(1));
    p.op({P::in(x), P::whole(outs.back())});
  }
  EXPECT_GT(p.observer.evictions, 0);
  EXPECT_EQ(p.upload(x), Status::kOk);
  EXPECT_EQ(p.observer.saves, 1);
  EXPECT_EQ(p.observer.last_saved.means, Saved::Means::kOffloaded);
  EXPECT_GT(p.observer.last_saved.dependents, 0u);
  for (const BufferId b : outs) EXPECT_TRUE(p.download(b));
}

TEST(Offload, AFailedCopyOutLosesNothing) {
  P p(with(3, Offload::kLeaves));
  const auto buffers = uploads(p, 3);
  p.device.fail_next_copies_out = 1;
  const BufferId more = p.allocate(1);
  EXPECT_EQ(p.upload(more), Status::kOk);  // another one went instead
  for (const BufferId b : buffers) EXPECT_TRUE(p.download(b));
}

TEST(Offload, ABarrierMakesCopiesStale) {
  P p(with(2, Offload::kLeaves));
  const auto buffers = uploads(p, 2);
  const BufferId more = p.allocate(1);
  p.upload(more);
  p.free(more);
  EXPECT_TRUE(p.barrier());
  const auto others = uploads(p, 2);  // drives both out
  for (const BufferId b : buffers) EXPECT_TRUE(p.download(b));
}

TEST(Offload, ThrashingIsReportedAndTurnsToTheHost) {
  Settings settings = with(3, Offload::kLeaves);
  settings.on_thrash = OnThrash::kOffload;
  settings.thrash_share = 0.5;
  P p(settings);
  const BufferId x = p.allocate(1);
  p.upload(x);
  std::vector<BufferId> chain{x};
  for (int i = 0; i < 40; ++i) {
    chain.push_back(p.allocate(1));
    p.op({P::in(chain[chain.size() - 2]), P::whole(chain.back())});
  }
  std::uint64_t replayed_before = 0;
  for (int round = 0; round < 40; ++round) {
    for (auto it = chain.rbegin(); it != chain.rend(); ++it) EXPECT_TRUE(p.download(*it));
    if (p.observer.thrashings > 0 && replayed_before == 0)
      replayed_before = p.engine.statistics().replayed_ops;
  }
  EXPECT_EQ(p.observer.thrashings, 1);
  // All is on the host after one more round at most.
  EXPECT_LT(p.engine.statistics().replayed_ops - replayed_before, 1000u);
}

TEST(Offload, ThrashingCanBeAnError) {
  Settings settings = with(3, Offload::kOff);
  settings.on_thrash = OnThrash::kFail;
  settings.thrash_share = 0.5;
  P p(settings);
  const BufferId x = p.allocate(1);
  p.upload(x);
  std::vector<BufferId> chain{x};
  for (int i = 0; i < 40; ++i) {
    chain.push_back(p.allocate(1));
    p.op({P::in(chain[chain.size() - 2]), P::whole(chain.back())});
  }
  bool failed = false;
  for (int round = 0; round < 40 && !failed; ++round) {
    for (auto it = chain.rbegin(); it != chain.rend(); ++it) failed = failed || !p.download(*it);
  }
  EXPECT_TRUE(failed);
  EXPECT_EQ(p.op({P::in(x)}, false), Status::kCorrupt);
}

}  // namespace
}  // namespace refrain::engine::test
