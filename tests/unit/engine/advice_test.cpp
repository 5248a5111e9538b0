// What a plan may ask: it changes which value goes, and when one comes back; never what can be read.
#include <gtest/gtest.h>

#include "chain.hpp"

namespace refrain::engine::test {
namespace {

using P = Program;

bool resident(const P& p, BufferId buffer) {
  return p.engine.lineage().value(p.engine.memory().buffer(buffer).current).resident();
}

TEST(Advice, WhatIsLetGoGoesFirstAndNotBeforeRoomIsNeeded) {
  P p(8 * kPage);
  const auto buffers = chain(p, 6);
  p.let_go(buffers[5]);
  p.let_go(buffers[2]);
  EXPECT_EQ(p.engine.statistics().evictions, 0u);
  const BufferId more = p.allocate(2);
  EXPECT_EQ(p.op({P::whole(more)}), Status::kOk);
  EXPECT_FALSE(resident(p, buffers[5]));
  EXPECT_TRUE(resident(p, buffers[2])) << "one was enough";
  EXPECT_EQ(p.observer.last_eviction.need_bytes, 2 * kPage);
  for (const BufferId buffer : buffers) EXPECT_TRUE(p.download(buffer));
}

TEST(Advice, PagesThatFitGoFirst) {
  P p(10 * kPage);
  const auto ones = chain(p, 3);
  const auto twos = chain(p, 2, 2);
  p.let_go(ones[1]);
  p.let_go(twos[1]);
  const BufferId more = p.allocate(2);
  EXPECT_EQ(p.op({P::whole(more)}), Status::kOk);
  EXPECT_TRUE(resident(p, ones[1]));
  EXPECT_FALSE(resident(p, twos[1]));
}

TEST(Advice, AReadTakesItBack) {
  P p(8 * kPage);
  const auto buffers = chain(p, 7);
  p.let_go(buffers[6]);
  p.let_go(buffers[3]);
  EXPECT_TRUE(p.download(buffers[6]));
  const BufferId more = p.allocate(1);
  EXPECT_EQ(p.op({P::whole(more)}), Status::kOk);
  EXPECT_TRUE(resident(p, buffers[6]));
  EXPECT_FALSE(resident(p, buffers[3]));
}

TEST(Advice, ForgottenAdviceIsNone) {
  P advised(8 * kPage), plain(8 * kPage);
  for (P* p : {&advised, &plain}) {
    const auto buffers = chain(*p, 7);
    if (p == &advised) {
      for (const BufferId buffer : buffers) p->let_go(buffer);
      p->engine.forget_let_go();
    }
    for (int i = 0; i < 4; ++i) EXPECT_EQ(p->op({P::whole(p->allocate(1))}), Status::kOk);
    EXPECT_GT(p->observer.evictions, 0);
  }
  EXPECT_EQ(advised.observer.last_eviction.buffer, plain.observer.last_eviction.buffer);
  EXPECT_EQ(advised.observer.last_eviction.candidates, plain.observer.last_eviction.candidates);
}

TEST(Advice, ALeafThatIsLetGoStays) {
  P p(4 * kPage);
  const auto buffers = chain(p, 3);
  p.let_go(buffers[0]);
  EXPECT_EQ(p.op({P::whole(p.allocate(1))}), Status::kOk);
  EXPECT_TRUE(resident(p, buffers[0]));
  EXPECT_TRUE(p.download(buffers[0]));
}

// A microsecond to compute, and ten to copy: only advice makes that a copy.
TEST(Advice, WhatIsLetGoToTheHostGoesThereWhereItMay) {
  for (const Offload offload : {Offload::kAuto, Offload::kLeaves, Offload::kOff}) {
    for (const bool to_host : {true, false}) {
      P p(Settings{.cap_bytes = 8 * kPage,
                   .host_cap_bytes = Bytes{1} << 30,
                   .granularity_bytes = kPage,
                   .offload = offload});
      const auto buffers = chain(p, 7);
      p.let_go(buffers[3], to_host);
      EXPECT_EQ(p.op({P::whole(p.allocate(1))}), Status::kOk);
      EXPECT_FALSE(resident(p, buffers[3]));
      const bool copied = to_host && offload == Offload::kAuto;
      EXPECT_EQ(p.engine.statistics().offloads, copied ? 1u : 0u);
      EXPECT_TRUE(p.download(buffers[3]));
      EXPECT_EQ(p.engine.statistics().restores, copied ? 1u : 0u);
      EXPECT_EQ(p.engine.statistics().replayed_ops, copied ? 0u : 1u);
    }
  }
}

TEST(Advice, SeveralResultsOfOneOpComeBackByOneRun) {
  P p(8 * kPage);
  const BufferId x = p.allocate(1), a = p.allocate(1), b = p.allocate(1);
  p.upload(x);
  p.op({P::in(x), P::whole(a), P::whole(b)});
  for (const BufferId buffer : {a, b}) p.let_go(buffer);
  const BufferId big = p.allocate(7);
  EXPECT_EQ(p.op({P::whole(big)}), Status::kOk);
  p.free(big);
  EXPECT_FALSE(resident(p, a) || resident(p, b));
  const BufferId both[] = {a, b};
  EXPECT_EQ(p.bring_back(both), Status::kOk);
  EXPECT_TRUE(resident(p, a) && resident(p, b));
  EXPECT_EQ(p.engine.statistics().replayed_ops, 1u);
}

TEST(Advice, NothingThatWasNotLetGoGoesForWhatIsBroughtBack) {
  P p(8 * kPage);
  const auto buffers = chain(p, 7);
  p.let_go(buffers[3]);
  const BufferId more = p.allocate(1);
  EXPECT_EQ(p.op({P::whole(more)}), Status::kOk);
  ASSERT_FALSE(resident(p, buffers[3]));
  EXPECT_EQ(p.bring_back({&buffers[3], 1}), Status::kOutOfMemory);
  EXPECT_FALSE(resident(p, buffers[3]));
  EXPECT_EQ(p.observer.out_of_memory, 0);
  p.let_go(more);
  EXPECT_EQ(p.bring_back({&buffers[3], 1}), Status::kOk);
  EXPECT_TRUE(resident(p, buffers[3]));
  EXPECT_FALSE(resident(p, more));
}

// It is what another value is computed from: with it, one op; without it, two.
TEST(Advice, AValueThatIsKeptAfterItsFreeSavesAnOp) {
  for (const bool keeps : {false, true}) {
    P p(8 * kPage);
    p.observer.keep_each = keeps ? 1 : 0;
    const auto buffers = chain(p, 2);
    p.free(buffers[1]);
    p.let_go(buffers[2]);
    const BufferId big = p.allocate(keeps ? 6 : 7);
    EXPECT_EQ(p.op({P::whole(big)}), Status::kOk);
    EXPECT_FALSE(resident(p, buffers[2]));
    p.free(big);
    EXPECT_TRUE(p.download(buffers[2]));
    EXPECT_EQ(p.engine.statistics().replayed_ops, keeps ? 1u : 2u);
    p.free(buffers[2]);
    p.free(buffers[0]);
    EXPECT_EQ(p.engine.memory().used_bytes(), 0u) << "nobody is computed from it any more";
  }
}

TEST(Advice, WhatIsKeptAfterItsFreeCanBeLetGo) {
  P p(8 * kPage);
  p.observer.keep_each = 1;
  const auto buffers = chain(p, 2);
  p.free(buffers[1]);
  const Bytes with = p.engine.memory().used_bytes();
  p.let_go(buffers[1]);
  EXPECT_EQ(p.engine.memory().used_bytes(), with);
  EXPECT_EQ(p.op({P::whole(p.allocate(6))}), Status::kOk);
  EXPECT_TRUE(resident(p, buffers[2]));
  EXPECT_EQ(p.observer.evictions, 0) << "the program never had it any more";
}

}  // namespace
}  // namespace refrain::engine::test
