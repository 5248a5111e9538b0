// A program of a fake device beside a reference that has all the memory in the world: the same calls go to
// both, and everything that is read must be the same. Used by the hand-written tests, by the random ones and
// by the soak.
#pragma once

#include <memory>

#include "fake_device.hpp"
#include "guide/guide.hpp"

namespace refrain::engine::test {

inline constexpr Bytes kPage = 4096;

class Program {
 public:
  static constexpr std::uint32_t kClasses = 8;
  // planning: where what repeats is planned.
  explicit Program(const Settings& settings, guide::Planning* planning = nullptr)
      : device(settings.cap_bytes),
        guide(planning ? std::make_unique<guide::Guide>(observer, *planning, engine::MappingCost{})
                       : nullptr),
        engine(device, guide ? static_cast<Observer&>(*guide) : observer, settings) {
    device.host_cap_bytes = settings.host_cap_bytes;
    for (std::uint32_t i = 0; i < kClasses; ++i) {
      engine.set_cost_ns(i, 1000.0 * (i + 1));
      if (i > 0) engine.describe_class(i, i - 1);
    }
    engine.set_transfer_cost({.fixed_ns = 1000, .ns_per_byte = 0.3});
  }
  // Hand-written cases are so small that one freed leaf is much of them: they keep all, unless they say
  // otherwise.
  explicit Program(Bytes cap_bytes, std::size_t max_ops = 1 << 20, double max_freed_leaves = 1)
      : Program(Settings{.cap_bytes = cap_bytes,
                         .granularity_bytes = kPage,
                         .max_ops = max_ops,
                         .max_freed_leaves = max_freed_leaves}) {}

  BufferId allocate(Bytes pages) {
    const BufferId buffer = engine.allocate(pages * kPage);
    if (!buffer) return buffer;
    must(reference.emplace(buffer.index, Contents{}).second, "a buffer was handed out twice");
    return buffer;
  }
  BufferId adopt() {
    const BufferId buffer = engine.adopt(64);
    device.adopt(buffer);
    reference.emplace(buffer.index, Contents{});
    return buffer;
  }
  // A part of an arena: its copies elsewhere need a page more than it has itself.
  BufferId place(Bytes pages) {
    const BufferId buffer = engine.place(pages * kPage, (pages + 1) * kPage);
    device.place(buffer, pages * kPage);
    reference.emplace(buffer.index, Contents{});
    return buffer;
  }
  void free(BufferId buffer) {
    reference.erase(buffer.index);
    engine.free(buffer);
    check();
  }

  struct Use {
    BufferId buffer;
    bool read = false;
    bool written = false;
    bool whole = false;      // known to the engine
    bool undefined = false;  // a workspace
    bool partial = false;    // the result depends on the old contents although the kernel does not read them
  };
  static Use in(BufferId b) { return {.buffer = b, .read = true}; }
  static Use out(BufferId b) { return {.buffer = b, .written = true}; }
  static Use whole(BufferId b) { return {.buffer = b, .written = true, .whole = true}; }
  static Use inout(BufferId b) { return {.buffer = b, .read = true, .written = true}; }

  Status op(std::span<const Use> uses, bool replayable = true, std::uint32_t cost_class = 0,
            bool unstable = false) {
    std::vector<BufferUse> engine_uses;
    std::vector<BufferId> buffers;
    FakeOp fake;
    fake.seed = mix(next_seed_++, 0x5eed);
    fake.unstable = unstable;
    for (const Use& use : uses) {
      engine_uses.push_back({use.buffer, use.read, use.written, use.whole, use.undefined});
      buffers.push_back(use.buffer);
      fake.uses.push_back({use.read || (use.partial && !use.whole), use.written});
    }
    if (guide)
      must(guide->before(engine, engine_uses, replayable, cost_class) == Status::kOk, "advice is wrong");
    const Status status = engine.prepare(engine_uses);
    check();
    if (status != Status::kOk) return status;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const Contents& expected = reference.at(uses[i].buffer.index);
      const std::uint64_t actual = device.contents(uses[i].buffer);
      if (fake.uses[i].input) {
        must(actual == expected.hash || expect_wrong_bytes, "an op reads wrong bytes");
      }
    }
    run_on_reference(fake, buffers);
    for (const Use& use : uses) {
      if (use.undefined) reference.at(use.buffer.index) = {};
    }
    const Payload payload = device.record(fake);
    device.run(payload, buffers);
    if (!engine.commit(engine_uses, replayable, cost_class, payload)) device.release_payload(payload);
    check();
    return status;
  }
  Status op(std::initializer_list<Use> uses, bool replayable = true, std::uint32_t cost_class = 0,
            bool unstable = false) {
    return op(std::span<const Use>(uses.begin(), uses.size()), replayable, cost_class, unstable);
  }
  // A copy from the host: a leaf.
  Status upload(BufferId buffer) { return op({whole(buffer)}, false); }
  // A copy to the host; false: out of memory.
  bool download(BufferId buffer) { return op({in(buffer)}, false) == Status::kOk; }

  // Advice: nothing that can be read may change by it, and nobody is told what it could not do.
  void let_go(BufferId buffer, bool to_host = false) {
    engine.let_go(buffer, to_host);
    check();
  }
  Status bring_back(std::span<const BufferId> buffers) {
    const std::uint64_t refused = engine.statistics().out_of_memory;
    const Status status = engine.bring_back(buffers);
    check();
    must(engine.statistics().out_of_memory == refused, "advice that cannot be had was reported");
    for (const BufferId buffer : buffers) {
      const ValueId current = engine.memory().buffer(buffer).current;
      if (status != Status::kOk || !current || !engine.lineage().value(current).resident()) continue;
      must(expect_wrong_bytes || device.contents(buffer) == reference.at(buffer.index).hash,
           "what was brought back has wrong bytes");
    }
    return status;
  }

  bool barrier() {
    const Status status = engine.prepare_barrier();
    check();
    if (status != Status::kOk) return false;
    for (auto& [index, contents] : reference) {
      if (contents.defined) {
        must(device.contents({index}) == contents.hash, "a barrier sees wrong bytes");
      }
      contents.hash = device.contents({index}) = mix(next_seed_++, index);
      contents.defined = true;
    }
    engine.commit_barrier();
    check();
    return true;
  }

  void check() {
    const char* wrong = engine.check_invariants();
    must(!wrong, wrong ? wrong : "");
  }

  struct Contents {
    bool defined = false;    // by the program
    std::uint64_t hash = 0;  // what nothing has written is zero
  };
  bool expect_wrong_bytes = false;
  FakeDevice device;
  CountingObserver observer;
  std::unique_ptr<guide::Guide> guide;
  Engine engine;
  std::map<std::uint32_t, Contents> reference;

 private:
  void run_on_reference(const FakeOp& op, std::span<const BufferId> buffers) {
    std::uint64_t hash = op.unstable ? mix(op.seed, 0) : op.seed;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      if (op.uses[i].input) hash = mix(hash, reference.at(buffers[i].index).hash);
    }
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      if (op.uses[i].output) reference.at(buffers[i].index) = {true, mix(hash, i + 1)};
    }
  }
  std::uint64_t next_seed_ = 1;
};

}  // namespace refrain::engine::test
