// Hand-written cases of values and versions: each names the situation of design.md, section 4, that it stands
// for.
#include <gtest/gtest.h>

#include "program.hpp"

namespace refrain::engine::test {
namespace {

using P = Program;

// x -> a0 -> a1 -> ... each of `pages` pages.
std::vector<BufferId> chain(Program& p, int length, Bytes pages = 1) {
  std::vector<BufferId> buffers{p.allocate(pages)};
  EXPECT_EQ(p.upload(buffers[0]), Status::kOk);
  for (int i = 0; i < length; ++i) {
    const BufferId next = p.allocate(pages);
    EXPECT_EQ(p.op({P::in(buffers.back()), P::out(next)}), Status::kOk);
    buffers.push_back(next);
  }
  return buffers;
}

TEST(Engine, EvictsNothingWithoutPressure) {
  Program p(kNoCap);
  const auto buffers = chain(p, 10);
  for (const BufferId b : buffers) EXPECT_TRUE(p.download(b));
  EXPECT_EQ(p.observer.evictions, 0);
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

// Training in which each result is a new buffer: gradients come from ops that are never replayed, and new
// parameters are made from the old ones. The newest could be computed again from all gradients ever, which
// must not be kept for that.
TEST(Engine, NewParametersInEveryStepDoNotKeepAllGradients) {
  constexpr Bytes kOthers = 36;
  for (const Bytes cap_bytes : {kNoCap, 48 * kPage}) {
    Program p(cap_bytes, 1 << 20, 0.125);
    const BufferId others = p.allocate(kOthers);
    p.upload(others);
    BufferId parameters = p.allocate(1);
    p.upload(parameters);
    for (int step = 0; step < 300; ++step) {
      const BufferId gradient = p.allocate(1);
      ASSERT_EQ(p.op({P::in(others), P::in(parameters), P::whole(gradient)}, false), Status::kOk);
      const BufferId next = p.allocate(1);
      ASSERT_EQ(p.op({P::in(parameters), P::in(gradient), P::whole(next)}), Status::kOk);
      p.free(parameters);
      p.free(gradient);
      parameters = next;
    }
    EXPECT_TRUE(p.download(parameters));
    EXPECT_EQ(p.engine.statistics().peak_wanted_bytes, (kOthers + 3) * kPage);
    EXPECT_LE(p.device.peak_physical_bytes, (kOthers + 3 + 8) * kPage);
    EXPECT_LE(p.engine.lineage().op_count(), 16u);
  }
}

// The same with tensors so small that they share pages: these are never given back, but serve the next ones.
TEST(Engine, NorDoSmallParametersKeepAllGradients) {
  Program p(kNoCap, 1 << 20, 0.125);
  const BufferId others = p.allocate(8);
  p.upload(others);
  BufferId parameters = p.adopt();
  p.upload(parameters);
  for (int step = 0; step < 1000; ++step) {
    const BufferId gradient = p.adopt();
    ASSERT_EQ(p.op({P::in(others), P::in(parameters), P::whole(gradient)}, false), Status::kOk);
    const BufferId next = p.adopt();
    ASSERT_EQ(p.op({P::in(parameters), P::in(gradient), P::whole(next)}), Status::kOk);
    p.free(parameters);
    p.free(gradient);
    parameters = next;
  }
  EXPECT_TRUE(p.download(parameters));
  EXPECT_LE(p.engine.lineage().value_count(), 100u);  // an eighth of eight pages is 64 of 64 bytes
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

TEST(Engine, ScratchThatIsNeverOverwrittenWholeDragsNoHistory) {
  Program p(64 * kPage);
  const BufferId x = p.allocate(1), scratch = p.allocate(1), y = p.allocate(1);
  p.op({P::whole(x)}, false);
  p.op({P::in(x), P::whole(scratch)});
  std::size_t most = 0;
  for (int step = 0; step < 100; ++step) {
    p.op({P::in(scratch), P::whole(y)});
    p.op({P::in(x), P::out(scratch)});
    most = std::max(most, p.engine.lineage().op_count());
  }
  EXPECT_LE(most, 16u);
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

TEST(Engine, RecordsAreBounded) {
  Program p(1000 * kPage, 64);
  const auto buffers = chain(p, 500);
  EXPECT_LE(p.engine.lineage().op_count(), 65u);
  for (const BufferId b : buffers) EXPECT_TRUE(p.download(b));
}

TEST(Engine, BufferWrittenInEveryStepDragsNoHistory) {
  Program p(kNoCap);
  const BufferId x = p.allocate(1);
  p.upload(x);
  const BufferId a = p.allocate(1);
  for (int i = 0; i < 1000; ++i) {
    p.op({P::in(x), P::out(a)});  // may be partial: the engine cannot know
    EXPECT_LE(p.engine.lineage().op_count(), 17u);
  }
  EXPECT_TRUE(p.download(a));
}

// Parameters that each step changes, and activations that it makes anew in the same buffers.
TEST(Engine, TrainingThatAllocatesOnceFitsUnderACap) {
  Program p(11 * kPage);  // of 12; two hold the inputs and weights of values that nobody will read again
  const BufferId x = p.allocate(1);
  const BufferId weight = p.allocate(1);
  const BufferId momentum = p.allocate(1);
  const BufferId layers[] = {p.allocate(3), p.allocate(3), p.allocate(3)};
  p.op({P::whole(weight)});
  p.op({P::whole(momentum)});
  std::size_t most_ops = 0;
  for (int step = 0; step < 60; ++step) {
    ASSERT_EQ(p.upload(x), Status::kOk) << step;
    ASSERT_EQ(p.op({P::in(x), P::in(weight), P::whole(layers[0])}), Status::kOk) << step;
    ASSERT_EQ(p.op({P::in(layers[0]), P::in(weight), P::whole(layers[1])}), Status::kOk) << step;
    ASSERT_EQ(p.op({P::in(layers[1]), P::whole(layers[2])}), Status::kOk) << step;
    ASSERT_EQ(p.op({P::in(layers[2]), P::inout(momentum), P::inout(weight)}), Status::kOk) << step;
    most_ops = std::max(most_ops, p.engine.lineage().op_count());
  }
  EXPECT_LT(most_ops, 8u);
  EXPECT_GT(p.observer.evictions, 0);
  for (const BufferId layer : layers) EXPECT_TRUE(p.download(layer));
  EXPECT_TRUE(p.download(weight));
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

TEST(Engine, LongChainNeedsNoDeepStack) {
  Program p(4 * kPage);
  BufferId previous = p.allocate(1);
  p.upload(previous);
  for (int i = 0; i < 3000; ++i) {
    const BufferId next = p.allocate(1);
    ASSERT_EQ(p.op({P::in(previous), P::out(next)}), Status::kOk);
    p.free(previous);
    previous = next;
  }
  const BufferId c = p.allocate(2);
  p.upload(c);
  p.free(c);
  EXPECT_TRUE(p.download(previous));
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

// A training loop that allocates once: parameters changed in place, activations evicted and brought back.
// What the engine remembers after a hundred thousand steps is what it remembered after a thousand.
TEST(Engine, AHundredThousandStepsTakeNoMoreMemoryThanAThousand) {
  constexpr int kLayers = 4;
  FakeDevice device(6 * kPage);
  CountingObserver observer;
  Settings settings;
  settings.cap_bytes = 6 * kPage;
  settings.granularity_bytes = kPage;
  Engine engine(device, observer, settings);
  engine.set_cost_ns(0, 1000);
  const auto op = [&](std::initializer_list<BufferUse> uses, bool replayable) {
    ASSERT_EQ(engine.prepare(uses), Status::kOk);
    FakeOp fake;
    std::vector<BufferId> buffers;
    for (const BufferUse& use : uses) {
      fake.uses.push_back({use.read, use.written});
      buffers.push_back(use.buffer);
    }
    const Payload payload = device.record(fake);
    device.run(payload, buffers);
    if (!engine.commit(uses, replayable, 0, payload)) device.release_payload(payload);
  };
  const auto in = [](BufferId b) { return BufferUse{.buffer = b, .read = true}; };
  const auto whole = [](BufferId b) { return BufferUse{.buffer = b, .written = true, .whole = true}; };
  const auto inout = [](BufferId b) { return BufferUse{.buffer = b, .read = true, .written = true}; };
  const BufferId parameters = engine.allocate(kPage);
  op({whole(parameters)}, false);
  std::vector<BufferId> activations;
  for (int i = 0; i <= kLayers; ++i) activations.push_back(engine.allocate(kPage));
  const BufferId gradient = engine.allocate(kPage);
  std::size_t slots = 0;
  std::size_t payloads = 0;
  for (int step = 0; step < 100'000; ++step) {
    op({whole(activations[0])}, false);
    for (int i = 0; i < kLayers; ++i)
      op({in(activations[i]), in(parameters), whole(activations[i + 1])}, true);
    op({in(activations[kLayers]), whole(gradient)}, true);
    for (int i = kLayers; i-- > 0;) op({in(activations[i]), inout(gradient)}, true);
    op({in(gradient), inout(parameters)}, true);
    if (step == 1000) {
      slots = engine.lineage().value_slots();
      payloads = device.payloads();
    }
  }
  EXPECT_GT(engine.statistics().rematerialisations, 100'000u);
  EXPECT_LE(engine.lineage().value_slots(), slots);
  EXPECT_LE(device.payloads(), payloads);
  const char* wrong = engine.check_invariants();
  EXPECT_EQ(wrong, nullptr) << wrong;
}

}  // namespace
}  // namespace refrain::engine::test
