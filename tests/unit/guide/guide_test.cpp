// Programs that repeat, that stop repeating, and that never do: every byte is what it should be, and what is
// recomputed is no more than without a plan.
#include "guide/guide.hpp"

#include <gtest/gtest.h>

#include <random>
#include <utility>

#include "trainer.hpp"

namespace refrain::guide::test {
namespace {

using engine::Settings;
using engine::test::kPage;

constexpr int kLayers = 12;
// Sanitised builds are slower; a full run has to fit its time.
#ifdef REFRAIN_CHECK_INVARIANTS
constexpr std::uint64_t kLoops = 100;
#else
constexpr std::uint64_t kLoops = 1000;
#endif

Settings under(Bytes pages, engine::Verify verify = engine::Verify::kOff) {
  return {.cap_bytes = pages * kPage,
          .host_cap_bytes = verify == engine::Verify::kOff ? 0 : Bytes{1} << 30,
          .granularity_bytes = kPage,
          .verify = verify};
}

struct Ran {
  engine::Statistics statistics;
  Guided guided;
};

template <class Body>
Ran run_with(Planning* planning, const Settings& settings, Body&& body) {
  Program program(settings, planning);
  body(program);
  return {program.engine.statistics(), program.guide ? program.guide->totals() : Guided{}};
}

template <class Body>
Ran run(const Settings& settings, bool planned, Body&& body) {
  CountedPlanning planning({.improving = 2000});
  return run_with(planned ? &planning : nullptr, settings, body);
}

TEST(Guide, FollowsAPlanAfterTwoSteps) {
  constexpr int kSteps = 8;
  const auto train = [](Program& program) {
    Trainer trainer(program, kLayers);
    for (int step = 0; step < kSteps; ++step) trainer.step();
    trainer.check();
  };
  for (const Bytes pages : {40u, 32u, 28u, 26u}) {
    const Ran dtr = run(under(pages), false, train);
    const Ran planned = run(under(pages), true, train);
    EXPECT_GE(planned.guided.plans, 1u) << pages;
    EXPECT_EQ(planned.guided.left, 0u) << pages;
    EXPECT_GE(planned.guided.planned_ops * kSteps, planned.guided.ops * (kSteps - 3)) << pages;
    EXPECT_EQ(planned.statistics.out_of_memory, 0u) << pages;
    EXPECT_LE(planned.statistics.replayed_cost_ns, dtr.statistics.replayed_cost_ns) << pages;
    EXPECT_EQ(planned.statistics.program_cost_ns, dtr.statistics.program_cost_ns) << pages;
  }
}

// Computing again costs microseconds here, and copying nothing: everything that comes back was copied.
TEST(Guide, WhatIsCheaperToCopyIsCopied) {
  for (const bool planned : {false, true}) {
    Settings settings = under(28);
    settings.host_cap_bytes = Bytes{1} << 30;
    settings.offload = engine::Offload::kAuto;
    const Ran ran = run(settings, planned, [](Program& program) {
      program.engine.set_transfer_cost({.fixed_ns = 1, .ns_per_byte = 0});
      Trainer trainer(program, kLayers);
      for (int step = 0; step < 8; ++step) trainer.step();
      trainer.check();
    });
    EXPECT_EQ(ran.statistics.replayed_ops, 0u);
    EXPECT_GT(ran.statistics.restores, 20u);
    if (planned) {
      EXPECT_GE(ran.guided.planned_ops * 8, ran.guided.ops * 5);
    }
  }
}

// Lets go of nothing but the values that are dearest to compute again.
class BadPlanning final : public Planning {
 public:
  void begin(planner::Iteration iteration, std::int64_t) override {
    using Kind = planner::Action::Kind;
    std::int64_t dearest_ns = 0;
    for (const planner::Op& op : iteration.ops)
      if (op.reads.size() == 1) dearest_ns = std::max(dearest_ns, op.recompute_ns);
    made_ = MadePlan{};
    for (planner::OpIndex op = 0; op < iteration.ops.size(); ++op) {
      made_->schedule.actions.push_back({Kind::kRun, op});
      if (iteration.ops[op].recompute_ns != dearest_ns) continue;
      for (const planner::ValueIndex value : iteration.ops[op].writes)
        made_->schedule.actions.push_back({Kind::kDrop, value});
    }
  }
  std::optional<MadePlan> take() override { return std::exchange(made_, std::nullopt); }
  bool busy() const override { return false; }
  void stop() override { made_.reset(); }

 private:
  std::optional<MadePlan> made_;
};

TEST(Guide, APlanThatCostsMoreThanNoneIsGivenUp) {
  const auto train = [](Program& program) {
    Trainer trainer(program, kLayers);
    for (int step = 0; step < 20; ++step) trainer.step();
    trainer.check();
  };
  const Ran dtr = run(under(32), false, train);
  BadPlanning planning;
  const auto [statistics, guided] = run_with(&planning, under(32), train);
  EXPECT_EQ(guided.plans, 1u);
  EXPECT_EQ(guided.given_up, 1u);
  EXPECT_EQ(guided.left, 0u);
  EXPECT_LT(guided.planned_ops * 5, guided.ops) << "two iterations of twenty";
  EXPECT_EQ(statistics.out_of_memory, 0u);
  EXPECT_LE(statistics.replayed_cost_ns, dtr.statistics.replayed_cost_ns * 1.5);
}

// The first iterations, with which it is compared at first, are short of memory; the later ones are not.
TEST(Guide, APlanThatCostsMoreThanNoneByNowIsGivenUp) {
  constexpr int kSteps = 40;
  const auto train = [](Program& program) {
    Trainer trainer(program, kLayers);
    const BufferId ballast = program.allocate(18);
    program.upload(ballast);
    for (int step = 0; step < kSteps; ++step) {
      if (step == 2) program.free(ballast);
      trainer.step();
    }
    trainer.check();
  };
  const Ran dtr = run(under(44), false, train);
  BadPlanning planning;
  const auto [statistics, guided] = run_with(&planning, under(44), train);
  EXPECT_EQ(guided.given_up, 1u);
  EXPECT_GT(guided.planned_ops * kSteps, guided.ops * 5) << "not at once";
  EXPECT_LT(guided.planned_ops * kSteps, guided.ops * 8) << "at the first rest";
  EXPECT_EQ(guided.left, 0u);
  EXPECT_GE(statistics.replayed_cost_ns, dtr.statistics.replayed_cost_ns);
}

TEST(Guide, APlanThatCostsLessIsTakenUpAgainAfterEachRest) {
  constexpr int kSteps = 40;
  const Ran planned = run(under(28), true, [](Program& program) {
    Trainer trainer(program, kLayers);
    for (int step = 0; step < kSteps; ++step) trainer.step();
    trainer.check();
  });
  EXPECT_EQ(planned.guided.given_up, 0u);
  EXPECT_EQ(planned.guided.left, 0u);
  EXPECT_GT(planned.guided.planned_ops * kSteps, planned.guided.ops * (kSteps - 6));
  EXPECT_LT(planned.guided.planned_ops * kSteps, planned.guided.ops * (kSteps - 3)) << "two rested";
}

// Of each layer the program keeps a large value that is cheap to have from a small one, which is dear and
// which it frees at once: the plan keeps the small ones.
TEST(Guide, AFreedValueStaysWhereThePlanComputesOthersFromIt) {
  constexpr std::uint32_t kDear = 5, kCheap = 1;
  const auto step = [](Program& program) {
    std::vector<BufferId> inputs{program.allocate(1)}, larges;
    program.upload(inputs[0]);
    for (int layer = 0; layer < 10; ++layer) {
      const BufferId small = program.allocate(1);
      program.op({Program::in(inputs.back()), Program::whole(small)}, true, kDear);
      larges.push_back(program.allocate(3));
      program.op({Program::in(small), Program::whole(larges.back())}, true, kCheap);
      inputs.push_back(program.allocate(1));
      program.op({Program::in(larges.back()), Program::whole(inputs.back())}, true, 0);
      program.free(small);
    }
    const BufferId gradient = program.allocate(1);
    program.op({Program::in(inputs.back()), Program::whole(gradient)}, true, 0);
    while (!larges.empty()) {
      program.op({Program::in(larges.back()), Program::inout(gradient)}, true, 2);
      program.free(larges.back());
      larges.pop_back();
      program.free(inputs.back());
      inputs.pop_back();
    }
    EXPECT_TRUE(program.download(gradient));
    program.free(gradient);
    program.free(inputs[0]);
  };
  CountedPlanning planning({.improving = 2000});
  Program program(under(24), &planning);
  for (int i = 0; i < 6; ++i) step(program);
  const engine::Statistics before = program.engine.statistics();
  step(program);
  const engine::Statistics after = program.engine.statistics();
  EXPECT_GT(after.replayed_ops, before.replayed_ops);
  EXPECT_EQ(after.replayed_cost_ns - before.replayed_cost_ns,
            static_cast<double>(after.replayed_ops - before.replayed_ops) * 1000 * (kCheap + 1))
      << "none of the dear ops ran again";
}

TEST(Guide, EveryValueThatComesBackIsCompared) {
  const Ran planned = run(under(34, engine::Verify::kAll), true, [](Program& program) {
    Trainer trainer(program, kLayers);
    for (int step = 0; step < 8; ++step) trainer.step();
    trainer.check();
  });
  EXPECT_GT(planned.guided.planned_ops, 0u);
  EXPECT_GT(planned.statistics.compared, 0u);
  EXPECT_EQ(planned.statistics.mismatches, 0u);
}

TEST(Guide, IsLeftWhereTheProgramDoesSomethingElseAndPickedUpAgain) {
  const Ran planned = run(under(32), true, [](Program& program) {
    Trainer trainer(program, kLayers);
    for (int step = 0; step < 5; ++step) trainer.step();
    const std::uint64_t before = program.guide->totals().planned_ops;
    EXPECT_GT(before, 0u);
    EXPECT_EQ(program.guide->totals().left, 0u);
    trainer.validate();
    trainer.step();
    EXPECT_EQ(program.guide->totals().left, 1u)
        << "validation begins as a step does, and stops in its middle";
    const std::uint64_t between = program.guide->totals().planned_ops;
    trainer.step();
    EXPECT_GT(program.guide->totals().planned_ops, between);
    EXPECT_EQ(program.guide->totals().left, 1u);
    trainer.check();
  });
  EXPECT_EQ(planned.guided.plans, 1u) << "it was the same plan all the time";
}

// Each step has another number of layers.
void never_repeat(Program& program) {
  std::mt19937_64 random(11);
  Trainer trainer(program, kLayers);
  int last = 0;
  for (int step = 0; step < 40; ++step) {
    int layers = last;
    while (layers == last) layers = 2 + static_cast<int>(random() % (kLayers - 1));
    trainer.odd_step(layers);
    last = layers;
  }
  trainer.check();
}

TEST(Guide, WhereNothingRepeatsEveryChoiceIsThatOfDtr) {
  const Ran dtr = run(under(26), false, never_repeat);
  const Ran planned = run(under(26), true, never_repeat);
  EXPECT_EQ(planned.guided.planned_ops, 0u);
  EXPECT_GT(dtr.statistics.evictions, 100u) << "there must be something to choose";
  EXPECT_EQ(planned.statistics.evictions, dtr.statistics.evictions);
  EXPECT_EQ(planned.statistics.evicted_bytes, dtr.statistics.evicted_bytes);
  EXPECT_EQ(planned.statistics.replayed_cost_ns, dtr.statistics.replayed_cost_ns);
}

// Any ops on any buffers, the same again and again but for a slip now and then.
class RandomLoop {
 public:
  explicit RandomLoop(std::uint64_t seed) : random_(seed) {
    settings_ = under(8 + random_() % 12);
    settings_.offload = static_cast<engine::Offload>(random_() % 3);
    settings_.verify = static_cast<engine::Verify>(random_() % 3);
    settings_.host_cap_bytes = random_() % 2 == 0 ? 0 : Bytes{1} << 30;
    const std::size_t ops = 10 + random_() % 30;
    for (std::size_t i = 0; i < ops; ++i) {
      std::vector<Program::Use> uses;
      for (std::uint32_t b = 0; b < kBuffers && uses.size() < 4; ++b) {
        if (random_() % 3 != 0) continue;
        const BufferId name{b};
        const std::uint64_t how = random_() % 6;
        uses.push_back(how < 3 ? Program::in(name) : how < 5 ? Program::whole(name) : Program::inout(name));
      }
      if (uses.empty()) uses.push_back(Program::whole(BufferId{kKept}));
      body_.push_back({std::move(uses), random_() % 10 != 0});
    }
  }

  Guided run() {
    CountedPlanning planning({.first = 50, .improving = 50});
    Program program(settings_, &planning);
    for (std::uint32_t b = 0; b < kKept; ++b) upload(program, b);
    for (int repeat = 0; repeat < 8; ++repeat) iterate(program, repeat > 4 && random_() % 2 == 0);
    for (const BufferId buffer : buffers_)
      if (buffer) program.download(buffer);
    return program.guide->totals();
  }

 private:
  static constexpr std::uint32_t kBuffers = 10;
  static constexpr std::uint32_t kKept = 3;  // the first; all others are freed when an iteration ends
  struct Op {
    std::vector<Program::Use> uses;
    bool replayable;
  };

  BufferId buffer(Program& program, std::uint32_t name) {
    if (!buffers_[name]) buffers_[name] = program.allocate(1 + name % 3);
    return buffers_[name];
  }
  void upload(Program& program, std::uint32_t name) {
    if (buffer(program, name)) program.upload(buffers_[name]);
  }
  void iterate(Program& program, bool slips) {
    upload(program, 0);
    const std::size_t left_out = slips ? random_() % body_.size() : body_.size();
    for (std::size_t i = 0; i < body_.size(); ++i) {
      if (i == left_out) continue;
      std::vector<Program::Use> uses = body_[i].uses;
      bool there = true;
      for (Program::Use& use : uses) {
        use.buffer = buffer(program, use.buffer.index);
        there = there && use.buffer;
      }
      if (there) program.op(uses, body_[i].replayable, static_cast<std::uint32_t>(i % Program::kClasses));
    }
    for (std::uint32_t b = kKept; b < kBuffers; ++b) {
      if (buffers_[b]) program.free(buffers_[b]);
      buffers_[b] = {};
    }
  }

  std::mt19937_64 random_;
  Settings settings_;
  std::vector<Op> body_;
  BufferId buffers_[kBuffers];
};

TEST(Guide, EveryReadIsRightInRandomLoops) {
  std::uint64_t planned = 0, left = 0;
  for (std::uint64_t seed = 1; seed <= kLoops && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Guided guided = RandomLoop(seed).run();
    planned += guided.planned_ops > 0 ? 1 : 0;
    left += guided.left > 0 ? 1 : 0;
  }
  EXPECT_GT(planned, kLoops / 5);
  EXPECT_GT(left, kLoops / 20);
}

// A recurrent network: the same ops at each time step, over the same weights, with all buffers made once.
TEST(Guide, TimeStepsAreNotTakenForIterationsForLong) {
  constexpr int kTimes = 24;
  const auto train = [](Program& program) {
    const BufferId weight = program.allocate(1), gradient = program.allocate(1);
    program.upload(weight);
    std::vector<BufferId> states, gates;
    for (int time = 0; time <= kTimes; ++time) {
      states.push_back(program.allocate(1));
      gates.push_back(program.allocate(2));
    }
    for (int step = 0; step < 12; ++step) {
      program.upload(states[0]);
      for (int time = 0; time < kTimes; ++time) {
        program.op({Program::in(states[time]), Program::in(weight), Program::whole(gates[time])}, true, 1);
        program.op({Program::in(gates[time]), Program::whole(states[time + 1])}, true, 3);
      }
      program.op({Program::in(states[kTimes]), Program::whole(gradient)}, true, 0);
      for (int time = kTimes; time-- > 0;)
        program.op({Program::in(states[time]), Program::in(gates[time]), Program::inout(gradient)}, true, 5);
      program.op({Program::in(gradient), Program::inout(weight)}, true, 2);
    }
    engine::test::must(program.download(weight), "the weight cannot be read");
  };
  for (const Bytes pages : {60u, 45u, 30u}) {
    const Ran dtr = run(under(pages), false, train);
    const Ran planned = run(under(pages), true, train);
    EXPECT_EQ(planned.statistics.out_of_memory, 0u) << pages;
    EXPECT_GT(planned.guided.planned_ops * 2, planned.guided.ops) << pages;
    EXPECT_LE(planned.statistics.replayed_cost_ns, dtr.statistics.replayed_cost_ns) << pages;
  }
}

TEST(Guide, ABarrierForgetsWhatWasSeen) {
  const Ran planned = run(under(40), true, [](Program& program) {
    Trainer trainer(program, kLayers);
    for (int step = 0; step < 6; ++step) {
      trainer.step();
      program.barrier();
    }
    trainer.check();
  });
  EXPECT_EQ(planned.guided.plans, 0u);
}

TEST(Guide, WithoutPressureNothingIsPlanned) {
  const Ran planned = run(under(400), true, [](Program& program) {
    Trainer trainer(program, kLayers);
    for (int step = 0; step < 6; ++step) trainer.step();
  });
  EXPECT_EQ(planned.guided.plans, 0u);
}

}  // namespace
}  // namespace refrain::guide::test
