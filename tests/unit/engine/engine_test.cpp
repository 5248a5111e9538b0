// Hand-written cases of values and versions: each names the situation of design.md, section 4, that it stands
// for.
#include <gtest/gtest.h>

#include "chain.hpp"

namespace refrain::engine::test {
namespace {

using P = Program;

TEST(Engine, EvictsNothingWithoutPressure) {
  Program p(kNoCap);
  const auto buffers = chain(p, 10);
  for (const BufferId b : buffers) EXPECT_TRUE(p.download(b));
  EXPECT_EQ(p.observer.evictions, 0);
}

TEST(Engine, CallsForMemoryAreCounted) {
  Program free(kNoCap);
  chain(free, 10);
  const MappingCalls& without = free.engine.memory().mapping_calls();
  EXPECT_EQ(without.created, 11u);
  EXPECT_EQ(without.mapped, 11u);
  EXPECT_EQ(without.destroyed + without.unmapped, 0u);

  Program p(4 * kPage);
  const auto small = chain(p, 10);
  const MappingCalls under = p.engine.memory().mapping_calls();
  EXPECT_EQ(under.created, 4u);
  EXPECT_EQ(under.mapped, 11u);
  EXPECT_EQ(under.unmapped, 7u);
  for (const BufferId b : small) p.free(b);
  chain(p, 0, 3);  // pages of another size
  const MappingCalls& other = p.engine.memory().mapping_calls();
  EXPECT_EQ(other.created, 5u);
  EXPECT_EQ(other.destroyed, 3u);
  EXPECT_EQ(other.mapped, 12u);
  const MappingCost cost{.create_ns = 1000, .destroy_ns = 100, .map_ns = 10, .unmap_ns = 1};
  EXPECT_EQ(cost({.created = 4, .destroyed = 3, .mapped = 2, .unmapped = 1}), 4321);
}

TEST(Engine, ChainUnderCapComesBackRight) {
  Program p(4 * kPage);
  const auto buffers = chain(p, 20);
  EXPECT_GT(p.observer.evictions, 0);
  for (auto it = buffers.rbegin(); it != buffers.rend(); ++it) EXPECT_TRUE(p.download(*it));
  EXPECT_GT(p.observer.rematerialisations, 0);
  EXPECT_LE(p.device.peak_physical_bytes, 4 * kPage);
}

TEST(Engine, MemoryArrivesAtFirstTouch) {
  Program p(4 * kPage);
  std::vector<BufferId> buffers;
  for (int i = 0; i < 100; ++i) buffers.push_back(p.allocate(1));
  EXPECT_EQ(p.device.physical_bytes(), 0u);
  EXPECT_EQ(p.upload(buffers[0]), Status::kOk);
  EXPECT_EQ(p.device.physical_bytes(), kPage);
}

TEST(Engine, FreedParentIsRecomputedIntoScratch) {
  Program p(3 * kPage);
  const BufferId x = p.allocate(1);
  p.upload(x);
  const BufferId a = p.allocate(1);
  p.op({P::in(x), P::out(a)});
  const BufferId b = p.allocate(1);
  p.op({P::in(a), P::out(b)});
  p.free(a);
  const BufferId c = p.allocate(2);  // pushes b out
  EXPECT_EQ(p.upload(c), Status::kOk);
  EXPECT_EQ(p.observer.evictions, 1);
  p.free(c);
  EXPECT_TRUE(p.download(b));
  EXPECT_EQ(p.engine.statistics().replayed_ops, 2u);
}

TEST(Engine, FreedLeafIsKeptWhileLineageNeedsIt) {
  Program p(2 * kPage);
  const BufferId x = p.allocate(1);
  p.upload(x);
  const BufferId a = p.allocate(1);
  p.op({P::in(x), P::out(a)});
  p.free(x);
  EXPECT_EQ(p.device.physical_bytes(), 2 * kPage);
  p.free(a);
  EXPECT_EQ(p.engine.memory().used_bytes(), 0u);
  EXPECT_EQ(p.engine.lineage().value_count(), 0u);
  EXPECT_EQ(p.engine.lineage().op_count(), 0u);
}

TEST(Engine, FreedLeafGivesWayWhenItsDependentsAreResident) {
  Program p(2 * kPage);
  const BufferId x = p.allocate(1);
  p.upload(x);
  const BufferId a = p.allocate(1);
  p.op({P::in(x), P::out(a)});
  p.free(x);
  ASSERT_TRUE(p.download(a));
  // a could be evicted, but then nothing could be written that reads it: the dead leaf has to go.
  const BufferId b = p.allocate(1);
  EXPECT_EQ(p.op({P::in(a), P::out(b)}), Status::kOk);
  EXPECT_TRUE(p.download(a));
  EXPECT_TRUE(p.download(b));
}

TEST(Engine, OverwrittenReplayableParentIsRecomputed) {
  Program p(3 * kPage);
  const BufferId x = p.allocate(1);
  p.upload(x);
  const BufferId a = p.allocate(1);
  const BufferId b = p.allocate(1);
  p.op({P::in(x), P::out(a)});
  p.op({P::in(a), P::out(b)});
  p.op({P::in(x), P::whole(a)});  // a's first version lives on only in b's lineage
  const BufferId c = p.allocate(1);
  EXPECT_EQ(p.upload(c), Status::kOk);
  p.free(c);
  EXPECT_TRUE(p.download(a));
  EXPECT_TRUE(p.download(b));
}

TEST(Engine, OverwrittenLeafBringsItsEvictedDependentsBack) {
  Program p(3 * kPage);
  const BufferId w = p.allocate(1);
  p.upload(w);
  const BufferId a = p.allocate(1);
  p.op({P::in(w), P::out(a)});
  const BufferId c = p.allocate(2);
  p.upload(c);
  EXPECT_EQ(p.observer.evictions, 1);  // a
  p.free(c);
  EXPECT_EQ(p.upload(w), Status::kOk);
  EXPECT_TRUE(p.download(a));
  EXPECT_TRUE(p.download(w));
}

TEST(Engine, OverwrittenLeafIsCopiedAsideWhereThatIsSmaller) {
  Program p(8 * kPage);
  const BufferId w = p.allocate(1);
  p.upload(w);
  const BufferId a = p.allocate(3);
  const BufferId b = p.allocate(3);
  p.op({P::in(w), P::out(a)});
  p.op({P::in(a), P::out(b)});
  const BufferId c = p.allocate(5);
  p.upload(c);
  ASSERT_GE(p.observer.evictions, 2);
  const BufferId step[] = {w};
  EXPECT_EQ(p.op({P::inout(step[0])}, false), Status::kOk);
  p.free(c);
  EXPECT_TRUE(p.download(b));
  EXPECT_TRUE(p.download(a));
  EXPECT_TRUE(p.download(w));
}

TEST(Engine, AccumulationChainIsReplayedInPlace) {
  Program p(3 * kPage);
  const BufferId x = p.allocate(1);
  p.upload(x);
  const BufferId g = p.allocate(1);
  p.op({P::whole(g)});  // memset
  for (int i = 0; i < 5; ++i) p.op({P::in(x), P::inout(g)});
  const BufferId c = p.allocate(2);
  EXPECT_EQ(p.upload(c), Status::kOk);
  p.free(c);
  EXPECT_TRUE(p.download(g));
  EXPECT_EQ(p.engine.statistics().replayed_ops, 6u);
}

TEST(Engine, PartialWriteOfALeafMakesALeaf) {
  Program p(2 * kPage);
  const BufferId w = p.allocate(1);
  p.upload(w);
  EXPECT_EQ(p.op({{.buffer = w, .written = true, .partial = true}}), Status::kOk);
  EXPECT_EQ(p.engine.lineage().op_count(), 0u);
  const BufferId c = p.allocate(2);
  EXPECT_FALSE(c);  // w cannot go: a device of two pages would refuse as well
  EXPECT_TRUE(p.download(w));
}

// A buffer that serves several tensors in turn, the later ones smaller than it is.
TEST(Engine, ScratchThatWasReadIsComputedAgain) {
  Program p(4 * kPage);
  const BufferId w = p.allocate(1), scratch = p.allocate(1), first = p.allocate(1), second = p.allocate(1);
  p.op({P::whole(w)}, false);
  p.op({P::in(w), P::whole(scratch)});
  p.op({P::in(scratch), P::whole(first)});
  p.op({P::in(first), {.buffer = scratch, .written = true, .partial = true}});
  p.op({P::in(scratch), P::whole(second)});
  const BufferId others = p.allocate(3);
  EXPECT_EQ(p.op({P::whole(others)}), Status::kOk);
  EXPECT_EQ(p.engine.statistics().evictions, 3u);
  p.free(others);
  for (const BufferId buffer : {scratch, second, first}) EXPECT_EQ(p.op({P::in(buffer)}), Status::kOk);
  EXPECT_EQ(p.engine.statistics().rematerialisations, 3u);
}

TEST(Engine, SideOutputsGoToScratch) {
  Program p(5 * kPage);
  const BufferId x = p.allocate(1);
  p.upload(x);
  const BufferId a = p.allocate(1);
  const BufferId b = p.allocate(1);
  p.op({P::in(x), P::out(a), P::out(b)});
  p.upload(b);  // overwritten: the replay for a must not touch it
  const BufferId c = p.allocate(3);
  EXPECT_EQ(p.upload(c), Status::kOk);
  EXPECT_EQ(p.observer.evictions, 1);
  p.free(c);
  EXPECT_TRUE(p.download(a));
  EXPECT_TRUE(p.download(b));
}

TEST(Engine, OneReplayServesTwoOutputs) {
  Program p(5 * kPage);
  const BufferId x = p.allocate(1);
  p.upload(x);
  const BufferId a = p.allocate(1);
  const BufferId b = p.allocate(1);
  p.op({P::in(x), P::out(a), P::out(b)});
  const BufferId c = p.allocate(4);
  EXPECT_EQ(p.upload(c), Status::kOk);
  p.free(c);
  const BufferId d = p.allocate(1);
  EXPECT_EQ(p.op({P::in(a), P::in(b), P::out(d)}), Status::kOk);
  EXPECT_EQ(p.engine.statistics().replayed_ops, 1u);
}

TEST(Engine, UnreplayableOutputsAreNeverEvicted) {
  Program p(2 * kPage);
  const BufferId a = p.allocate(1);
  p.op({P::out(a)}, false);
  const BufferId b = p.allocate(1);
  p.op({P::out(b)}, false);
  EXPECT_FALSE(p.allocate(1));
  EXPECT_EQ(p.observer.out_of_memory, 1);
  EXPECT_EQ(p.observer.last_out_of_memory.evictable_bytes, 0u);
  EXPECT_EQ(p.observer.last_out_of_memory.pinned_bytes, 2 * kPage);
  EXPECT_TRUE(p.download(a));
  EXPECT_TRUE(p.download(b));
}

TEST(Engine, RangeMayBeLargerThanTheCapAndItsPartsAreNot) {
  Program p(3 * kPage);
  EXPECT_FALSE(p.allocate(4));
  const BufferId range = p.engine.allocate_range(4 * kPage);
  ASSERT_TRUE(range);
  EXPECT_EQ(p.op({P::whole(range)}), Status::kOutOfMemory);
  const BufferId a = p.allocate(3);
  EXPECT_EQ(p.op({P::whole(a)}), Status::kOk);
  p.free(range);
}

TEST(Engine, OpThatDoesNotFitIsRefusedAndNothingIsLost) {
  Program p(3 * kPage);
  const BufferId x = p.allocate(1);
  p.upload(x);
  std::vector<BufferId> out;
  for (int i = 0; i < 3; ++i) out.push_back(p.allocate(1));
  EXPECT_EQ(p.op({P::in(x), P::out(out[0]), P::out(out[1]), P::out(out[2])}), Status::kOutOfMemory);
  EXPECT_EQ(p.op({P::in(x), P::out(out[0]), P::out(out[1])}), Status::kOk);
  EXPECT_TRUE(p.download(out[1]));
}

TEST(Engine, FreedMappingsAreReusedWithoutDriverCalls) {
  Program p(8 * kPage);
  for (int i = 0; i < 4; ++i) {
    const BufferId b = p.allocate(1);
    p.upload(b);
    p.free(b);
  }
  const std::uint64_t calls = p.device.driver_calls;
  for (int i = 0; i < 100; ++i) {
    const BufferId b = p.allocate(1);
    p.upload(b);
    p.free(b);
  }
  EXPECT_EQ(p.device.driver_calls, calls);
}

TEST(Engine, RecycledMemoryThatNobodyTouchedYetServesOthers) {
  Program p(2 * kPage);
  const BufferId a = p.allocate(1);
  p.op({P::out(a)}, false);
  p.free(a);
  const BufferId untouched = p.allocate(1);  // gets a's range, which is still mapped
  EXPECT_EQ(p.engine.memory().used_bytes(), 0u);
  const BufferId b = p.allocate(2);
  EXPECT_EQ(p.upload(b), Status::kOk);
  EXPECT_TRUE(p.download(b));
  p.free(b);
  EXPECT_EQ(p.upload(untouched), Status::kOk);
  EXPECT_TRUE(p.download(untouched));
}

TEST(Engine, FailedFlushLeavesTheValueEvicted) {
  Program p(3 * kPage);
  const auto buffers = chain(p, 4);
  const int before = p.observer.rematerialisations;
  p.device.fail_next_flushes = 1;
  const BufferUse use{.buffer = buffers[1], .read = true};
  EXPECT_EQ(p.engine.prepare({&use, 1}), Status::kDeviceError);
  p.check();
  EXPECT_EQ(p.observer.rematerialisations, before);
  for (const BufferId b : buffers) EXPECT_TRUE(p.download(b));
}

TEST(Engine, UnmapThatIsRefusedLosesNothing) {
  Program p(3 * kPage);
  const auto buffers = chain(p, 2);
  const BufferId more = p.allocate(1);
  p.device.refuse_next_unmaps = 1;
  EXPECT_EQ(p.op({P::in(buffers[2]), P::out(more)}), Status::kOutOfMemory);
  EXPECT_EQ(p.op({P::in(buffers[2]), P::out(more)}), Status::kOk);
  for (const BufferId b : buffers) EXPECT_TRUE(p.download(b));
}

TEST(Engine, HeldBufferIsNotEvicted) {
  Program p(3 * kPage);
  const auto buffers = chain(p, 2);
  p.engine.hold(buffers[1]);
  p.engine.hold(buffers[2]);
  const BufferId more = p.allocate(1);
  EXPECT_FALSE(more);
  p.engine.release(buffers[1]);
  const BufferId again = p.allocate(1);
  EXPECT_EQ(p.op({P::in(buffers[2]), P::out(again)}), Status::kOk);
  p.engine.release(buffers[2]);
  for (const BufferId b : buffers) EXPECT_TRUE(p.download(b));
}

TEST(Engine, DeviceWithLessThanTheCapIsEvictedFor) {
  Program p(100 * kPage);
  p.device.driver_limit_bytes = 3 * kPage;
  const auto buffers = chain(p, 10);
  for (const BufferId b : buffers) EXPECT_TRUE(p.download(b));
}

TEST(Engine, BarrierBringsEverythingBackAndMakesLeaves) {
  Program p(12 * kPage);
  const auto buffers = chain(p, 9);
  const BufferId c = p.allocate(6);
  p.upload(c);
  EXPECT_GT(p.observer.evictions, 0);
  p.free(c);
  EXPECT_TRUE(p.barrier());
  EXPECT_EQ(p.engine.lineage().op_count(), 0u);
  for (const BufferId b : buffers) EXPECT_TRUE(p.download(b));
}

TEST(Engine, PinnedBufferStaysAndItsLaterVersionsToo) {
  Program p(3 * kPage);
  const BufferId x = p.allocate(1);
  p.upload(x);
  const BufferId a = p.allocate(1);
  p.op({P::in(x), P::out(a)});
  EXPECT_EQ(p.engine.pin(a), Status::kOk);
  p.op({P::in(x), P::whole(a)});
  EXPECT_FALSE(p.allocate(2));
  EXPECT_TRUE(p.download(a));
}

TEST(Engine, PartOfAnArenaComesBackToItsPlace) {
  Program p(6 * kPage);
  const BufferId x = p.allocate(1);
  p.upload(x);
  const BufferId part = p.place(2);
  p.op({P::in(x), P::whole(part)});
  const BufferId other = p.allocate(4);
  p.upload(other);
  EXPECT_EQ(p.observer.evictions, 1);
  p.free(other);
  EXPECT_TRUE(p.download(part));
  p.free(part);
  p.free(x);
  EXPECT_EQ(p.engine.memory().used_bytes(), 0u);
}

// A library's workspace: nobody wants what is in it, so that it is no value, and a replay gets another one.
TEST(Engine, AWorkspaceIsNoValue) {
  Program p(3 * kPage);
  const BufferId x = p.allocate(1);
  p.upload(x);
  const BufferId workspace = p.allocate(1);
  std::vector<BufferId> outs;
  for (int i = 0; i < 4; ++i) {
    outs.push_back(p.allocate(1));
    P::Use use = P::whole(workspace);
    use.undefined = true;
    EXPECT_EQ(p.op({P::in(x), P::whole(outs.back()), use}), Status::kOk);
    EXPECT_FALSE(p.engine.memory().buffer(workspace).current);
  }
  EXPECT_GT(p.observer.evictions, 0);
  for (const BufferId b : outs) EXPECT_TRUE(p.download(b));
  EXPECT_GT(p.observer.rematerialisations, 0);
}

}  // namespace
}  // namespace refrain::engine::test
