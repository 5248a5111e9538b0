// How long the choice of a victim takes, by the number of values to choose from: the engine's, a scan of all
// of them, and DTR's sampling of about 2 sqrt(n). One program, the same state at each choice. h_DTR walks
// through what is lost around each value that it looks at, however these are chosen; h_DTR_local does not.
// Counters: the median and the 99th percentile of single choices.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "engine/engine.hpp"

namespace {

using namespace refrain::engine;
using Clock = std::chrono::steady_clock;

enum class Way { kEngine, kScan, kSample };

// No memory, no work: only the engine's own time counts.
class NoDevice final : public Device {
 public:
  bool reserve(BufferId, Bytes) override { return true; }
  std::optional<PagesId> create_pages(Bytes) override { return PagesId{pages_++}; }
  void destroy_pages(PagesId) override {}
  bool map(BufferId, PagesId) override { return true; }
  bool unmap(BufferId) override { return true; }
  void replay(Payload, std::span<const BufferId>) override {}
  void copy(BufferId, BufferId, Bytes) override {}
  void fill(BufferId, Bytes) override {}
  void copy_in(HostId, BufferId, Bytes) override {}
  bool flush() override { return true; }
  std::optional<HostId> create_host(Bytes) override { return std::nullopt; }
  void destroy_host(HostId) override {}
  bool copy_out(BufferId, HostId, Bytes) override { return false; }
  std::optional<Digest> digest(BufferId) override { return std::nullopt; }
  void release_payload(Payload) override {}
  void release_placed(BufferId) override {}

 private:
  std::uint32_t pages_ = 0;
};

class Stopwatch final : public Observer {
 public:
  Stopwatch(Way way, PolicyKind policy) : way_(way), kind_(policy) {}
  void attach(Engine& engine, std::size_t values) {
    engine_ = &engine;
    policy_.emplace(const_cast<Lineage&>(engine.lineage()), kind_);  // walks leave stamps in it
    stride_ = std::max<std::size_t>(1, static_cast<std::size_t>(std::sqrt(values)));
  }
  bool running = false;
  std::vector<double> taken_ns;

  void on_choice(bool begins) override {
    if (!running) return;
    if (way_ != Way::kEngine && !begins) return;
    if (way_ != Way::kEngine) {
      const auto before = Clock::now();
      benchmark::DoNotOptimize(scan());
      taken_ns.push_back(std::chrono::duration<double, std::nano>(Clock::now() - before).count());
    } else if (begins) {
      began_ = Clock::now();
    } else {
      taken_ns.push_back(std::chrono::duration<double, std::nano>(Clock::now() - began_).count());
    }
  }
  void on_evict(const Eviction&) override {}
  void on_rematerialise(const Rematerialisation&) override {}
  void on_out_of_memory(const OutOfMemory&) override {}
  void on_save(const Saved&) override {}
  void on_mismatch(const Mismatch&) override {}
  void on_thrash(const Thrashing&) override {}

 private:
  // The values' slots are nearly all taken: stepping over them is stepping over values.
  double scan() {
    const Lineage& lineage = engine_->lineage();
    const double now_ns = engine_->statistics().program_cost_ns + engine_->statistics().replayed_cost_ns;
    double lowest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < lineage.value_slots();) {
      const ValueId id{static_cast<std::uint32_t>(i)};
      const Value& v = lineage.value(id);
      if (v.alive && v.resident() && v.locks == 0 && !v.leaf()) {
        lowest = std::min(lowest, policy_->score(policy_->weigh(id, true, false).rank, now_ns));
      }
      i += way_ == Way::kSample ? 1 + random_() % stride_ : 1;
    }
    return lowest;
  }

  Way way_;
  PolicyKind kind_;
  Engine* engine_ = nullptr;
  std::optional<Policy> policy_;
  std::size_t stride_ = 1;
  std::mt19937_64 random_;
  Clock::time_point began_;
};

// Each step makes a value from two of the last eight, reads an old one now and then, and frees the oldest: a
// quarter more is alive than fits. Every 256 steps a leaf begins anew, as a batch does: what h_DTR counts
// around a value ends there, and does not grow with the number of values.
class Program {
 public:
  Program(std::size_t values, PolicyKind policy, Stopwatch& stopwatch)
      : values_(values),
        engine_(device_, stopwatch,
                {.cap_bytes = values * 9 / 2,
                 .granularity_bytes = 1,
                 .policy = policy,
                 .max_ops = std::size_t{1} << 24}) {
    for (std::uint32_t c = 0; c < kClasses; ++c) engine_.set_cost_ns(c, 1000.0 * (c + 1));
    stopwatch.attach(engine_, values);
    while (buffers_.size() < values_ * 5 / 4) make();
  }
  void step() {
    make();
    engine_.free(buffers_[oldest_++]);
    if (oldest_ % 16 == 0) touch(buffers_[oldest_ + random_() % (buffers_.size() - oldest_)]);
  }

 private:
  static constexpr std::uint32_t kClasses = 32;
  static constexpr std::size_t kBatch = 256;
  void touch(BufferId buffer) {
    const BufferUse use{.buffer = buffer, .read = true};
    if (engine_.prepare({&use, 1}) == Status::kOk) engine_.commit({&use, 1}, false, 0, 0);
  }
  void make() {
    std::vector<BufferUse> uses;
    const std::size_t in_batch = buffers_.size() % kBatch;
    const bool leaf = in_batch == 0;
    if (!leaf) {
      const std::size_t near = std::min<std::size_t>(8, in_batch);
      const std::size_t a = random_() % near;
      const std::size_t b = random_() % near;
      uses.push_back({.buffer = buffers_[buffers_.size() - 1 - a], .read = true});
      if (a != b) uses.push_back({.buffer = buffers_[buffers_.size() - 1 - b], .read = true});
    }
    uses.push_back({.buffer = engine_.allocate(1 + random_() % 8), .written = true, .whole = true});
    buffers_.push_back(uses.back().buffer);
    if (engine_.prepare(uses) == Status::kOk) {
      engine_.commit(uses, !leaf, static_cast<std::uint32_t>(random_() % kClasses), 0);
    }
  }

  std::size_t values_;
  NoDevice device_;
  Engine engine_;
  std::mt19937_64 random_;
  std::vector<BufferId> buffers_;
  std::size_t oldest_ = 0;
};

void decide(benchmark::State& state, Way way, PolicyKind policy) {
  const auto values = static_cast<std::size_t>(state.range(0));
  Stopwatch stopwatch(way, policy);
  Program program(values, policy, stopwatch);
  for (int i = 0; i < 200; ++i) program.step();
  stopwatch.running = true;
  std::size_t counted = 0;
  double total_ns = 0;
  for (auto _ : state) {
    while (stopwatch.taken_ns.size() == counted) program.step();
    state.SetIterationTime(stopwatch.taken_ns[counted] * 1e-9);
    total_ns += stopwatch.taken_ns[counted++];
  }
  std::vector<double>& taken = stopwatch.taken_ns;
  taken.resize(counted);
  std::sort(taken.begin(), taken.end());
  state.counters["p50_ns"] = taken[taken.size() / 2];
  state.counters["p99_ns"] = taken[taken.size() * 99 / 100];
}

}  // namespace

#define DECIDE(way, policy, most, times)                                        \
  BENCHMARK_CAPTURE(decide, way##_##policy, Way::k##way, PolicyKind::k##policy) \
      ->RangeMultiplier(10)                                                     \
      ->Range(1000, most)                                                       \
      ->UseManualTime()                                                         \
      ->Iterations(times)
DECIDE(Engine, Dtr, 1'000'000, 20'000);
DECIDE(Engine, DtrLocal, 1'000'000, 20'000);
DECIDE(Sample, Dtr, 1'000'000, 1'000);
DECIDE(Sample, DtrLocal, 1'000'000, 1'000);
DECIDE(Scan, Dtr, 1'000'000, 30);
DECIDE(Scan, DtrLocal, 1'000'000, 30);
BENCHMARK_MAIN();
