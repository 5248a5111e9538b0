// Programs that go on for long: what the engine remembers, and the time it takes, must not grow with them.
#include <gtest/gtest.h>

#include "chain.hpp"

namespace refrain::engine::test {
namespace {

using P = Program;

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
