// The structure behind the choice of a victim against a scan of all values: the lowest score, every time.
#include <gtest/gtest.h>

#include <random>

#include "program.hpp"

namespace refrain::engine::test {
namespace {

TEST(Tournament, TheLowestIsThatOfAScanWhateverChangesAndHoweverTimeGoesOn) {
  for (const bool by_staleness : {true, false}) {
    std::mt19937_64 random(7);
    const auto number = [&](double below) {
      return std::uniform_real_distribution<double>(0, below)(random);
    };
    Tournament tournament(by_staleness);
    std::vector<Rank> ranks;
    double now_ns = 0;
    for (int round = 0; round < 20'000; ++round) {
      now_ns += random() % 4 == 0 ? 0 : number(random() % 8 == 0 ? 1e6 : 100);
      const auto slot = static_cast<std::uint32_t>(random() % (1 + std::min(round / 20, 300)));
      if (slot >= ranks.size()) ranks.resize(slot + 1);
      ranks[slot] = random() % 5 == 0 ? Rank{}
                                      : Rank{.numerator = random() % 9 == 0 ? 0 : number(1e4),
                                             .bytes = 1 + number(1e6),
                                             .last_access_ns = now_ns - number(random() % 2 == 0 ? 2 : 1e5)};
      if (random() % 3 == 0) {
        tournament.set_later(slot, ranks[slot]);
        tournament.finish_setting();
      } else {
        tournament.set(slot, ranks[slot]);
      }
      double lowest = std::numeric_limits<double>::infinity();
      for (const Rank& rank : ranks) lowest = std::min(lowest, score_of(rank, now_ns, by_staleness));
      const std::uint32_t winner = tournament.lowest(now_ns);
      if (lowest == std::numeric_limits<double>::infinity()) {
        ASSERT_EQ(winner, Tournament::kNobody);
      } else {
        ASSERT_NE(winner, Tournament::kNobody);
        ASSERT_LE(score_of(ranks[winner], now_ns, by_staleness), lowest * (1 + 1e-12)) << round;
      }
    }
  }
}

// Before each choice, what a scan would find; at the eviction, whether that is what went.
class Scan final : public Observer {
 public:
  explicit Scan(const Settings& settings) : settings_(settings) {}
  void attach(Engine& engine, const TransferCost& transfer) {
    engine_ = &engine;
    policy_.emplace(const_cast<Lineage&>(engine.lineage()), settings_.policy);  // walks leave stamps in it
    policy_->transfer = transfer;
  }
  void on_choice(bool begins) override {
    if (!begins) return;
    lowest_ = std::numeric_limits<double>::infinity();
    next_ = lowest_;
    const Lineage& lineage = engine_->lineage();
    const double now_ns = engine_->statistics().program_cost_ns + engine_->statistics().replayed_cost_ns;
    for (std::uint32_t i = 0; i < lineage.value_slots(); ++i) {
      const Value& v = lineage.value({i});
      if (!v.alive || !v.resident() || v.locks != 0 || v.reserves != 0) continue;
      const Buffer& b = engine_->memory().buffer(v.location);
      const bool offload = settings_.offload == Offload::kAuto;
      if (b.adopted || b.pinned || b.holds != 0 || (v.leaf() && !offload)) continue;
      const double score = policy_->score(policy_->weigh({i}, !v.leaf(), offload).rank, now_ns);
      if (score < lowest_) {
        next_ = lowest_;
        lowest_ = score;
      } else {
        next_ = std::min(next_, score);
      }
    }
  }
  void on_evict(const Eviction& e) override {
    if (lowest_ == std::numeric_limits<double>::infinity()) return;  // only what is reserved could go
    ++compared;
    EXPECT_NEAR(e.score, lowest_, lowest_ * 1e-9);
    EXPECT_LE(e.score, e.runner_up_score);
    EXPECT_LE(e.runner_up_score, next_ * (1 + 1e-9));
  }
  void on_rematerialise(const Rematerialisation&) override { ++rematerialised; }
  void on_out_of_memory(const OutOfMemory&) override {}
  void on_save(const Saved&) override {}
  void on_mismatch(const Mismatch&) override {}
  void on_thrash(const Thrashing&) override {}
  std::uint64_t compared = 0;
  std::uint64_t rematerialised = 0;

 private:
  Settings settings_;
  Engine* engine_ = nullptr;
  std::optional<Policy> policy_;
  double lowest_ = 0;
  double next_ = 0;
};

// Layers of values of different sizes and costs, read again later, overwritten, and freed.
class RandomProgram {
 public:
  RandomProgram(const Settings& settings, std::uint64_t seed)
      : scan(settings), random_(seed), device_(settings.cap_bytes), engine_(device_, scan, settings) {
    device_.host_cap_bytes = settings.host_cap_bytes;
    const TransferCost transfer{.fixed_ns = 1000, .ns_per_byte = 0.3};
    engine_.set_transfer_cost(transfer);
    for (std::uint32_t c = 0; c < 8; ++c) engine_.set_cost_ns(c, 500.0 * (c + 1) * (c + 1));
    scan.attach(engine_, transfer);
  }
  void run(int ops) {
    for (int i = 0; i < ops; ++i) {
      const std::uint64_t dice = random_() % 100;
      if (buffers_.size() < 8 || (dice < 30 && buffers_.size() < 80)) {
        const BufferId made = engine_.allocate((1 + random_() % 3) * kPage);
        if (made) op(made, false);
      } else if (dice < 45) {
        const std::size_t gone = random_() % buffers_.size();
        engine_.free(buffers_[gone]);
        buffers_.erase(buffers_.begin() + static_cast<std::ptrdiff_t>(gone));
      } else if (dice < 48) {
        engine_.set_cost_ns(random_() % 8, 500.0 * (1 + random_() % 64));
      } else {
        op(buffers_[random_() % buffers_.size()], dice < 90);
      }
      if (i % 64 != 0) continue;
      ASSERT_EQ(engine_.check_invariants(), nullptr);
    }
  }
  Scan scan;

 private:
  void op(BufferId out, bool read_only) {
    std::vector<BufferUse> uses;
    const auto add = [&](BufferUse use) {
      for (const BufferUse& other : uses) {
        if (other.buffer == use.buffer) return;
      }
      uses.push_back(use);
    };
    const bool leaf = !read_only && random_() % 10 == 0;
    if (!leaf && !buffers_.empty()) {
      for (std::uint64_t i = random_() % 3 + 1; i > 0; --i) {
        add({.buffer = buffers_[random_() % buffers_.size()], .read = true});
      }
    }
    if (!read_only) add({.buffer = out, .written = true, .whole = random_() % 4 != 0});
    // A second result.
    if (!read_only && !buffers_.empty() && random_() % 4 == 0)
      add({.buffer = buffers_[random_() % buffers_.size()], .written = true, .whole = true});
    FakeOp fake;
    std::vector<BufferId> bound;
    for (const BufferUse& use : uses) {
      fake.uses.push_back({use.read || (use.written && !use.whole), use.written});
      bound.push_back(use.buffer);
    }
    const bool known = std::find(buffers_.begin(), buffers_.end(), out) != buffers_.end();
    if (!known) buffers_.push_back(out);
    if (uses.empty() || engine_.prepare(uses) != Status::kOk) return;
    const Payload payload = device_.record(fake);
    device_.run(payload, bound);
    if (!engine_.commit(uses, !leaf, random_() % 8, payload)) device_.release_payload(payload);
  }

  std::mt19937_64 random_;
  FakeDevice device_;
  Engine engine_;
  std::vector<BufferId> buffers_;
};

TEST(Candidates, WhatGoesIsWhatAScanOfAllValuesFinds) {
  std::uint64_t compared = 0;
  std::uint64_t rematerialised = 0;
  for (const PolicyKind policy :
       {PolicyKind::kDtr, PolicyKind::kDtrLocal, PolicyKind::kMsps, PolicyKind::kLru, PolicyKind::kSize}) {
    for (const Offload offload : {Offload::kOff, Offload::kAuto}) {
      for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE(std::string(kPolicyNames[static_cast<int>(policy)]) + " " + std::to_string(seed) +
                     (offload == Offload::kAuto ? " offload" : ""));
        RandomProgram program({.cap_bytes = 48 * kPage,
                               .host_cap_bytes = Bytes{1} << 30,
                               .granularity_bytes = kPage,
                               .policy = policy,
                               .offload = offload},
                              seed);
        program.run(2000);
        compared += program.scan.compared;
        rematerialised += program.scan.rematerialised;
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(compared, 20'000u);
  EXPECT_GT(rematerialised, 5'000u);
}

}  // namespace
}  // namespace refrain::engine::test
