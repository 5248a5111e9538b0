// A linear network of N layers in 2 * sqrt(N) layers of memory: how many ops DTR takes in all, by the engine
// itself on a device that only counts, against the least that is possible in as much memory. Prints a table
// and exits with 1 where the ops for each layer grow with N, which the theorem excludes (Kirisame et al.,
// ICLR 2021, theorem 3.1).
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "engine/engine.hpp"

namespace {

using namespace refrain::engine;

constexpr Bytes kLayer = 4096;

class Counting final : public Device {
 public:
  bool reserve(BufferId, Bytes) override { return true; }
  std::optional<PagesId> create_pages(Bytes) override { return PagesId{next_++}; }
  void destroy_pages(PagesId) override {}
  bool map(BufferId, PagesId) override { return true; }
  bool unmap(BufferId) override { return true; }
  void replay(Payload, std::span<const BufferId>) override { ++replays; }
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
  std::uint64_t replays = 0;

 private:
  std::uint32_t next_ = 0;
};

struct Silent final : Observer {
  void on_evict(const Eviction&) override {}
  void on_rematerialise(const Rematerialisation&) override {}
  void on_out_of_memory(const OutOfMemory&) override {}
  void on_save(const Saved&) override {}
  void on_mismatch(const Mismatch&) override {}
  void on_thrash(const Thrashing&) override {}
};

// Forward, then backward; each activation is freed by its backward op. Returns the ops in all; 0: out of
// memory.
std::uint64_t run(std::uint64_t layers, Bytes budget_layers) {
  Counting device;
  Silent observer;
  Settings settings;
  settings.cap_bytes = budget_layers * kLayer;
  settings.granularity_bytes = kLayer;
  Engine engine(device, observer, settings);
  engine.set_cost_ns(0, 1000);
  std::uint64_t ops = 0;
  const auto op = [&](std::initializer_list<BufferUse> uses, bool replayable) {
    if (engine.prepare(uses) != Status::kOk) return false;
    engine.commit(uses, replayable, 0, ops++);
    return true;
  };
  const auto in = [](BufferId b) { return BufferUse{.buffer = b, .read = true}; };
  const auto out = [](BufferId b) { return BufferUse{.buffer = b, .written = true, .whole = true}; };
  std::vector<BufferId> activations{engine.allocate(kLayer)};
  if (!op({out(activations[0])}, false)) return 0;
  ops = 0;
  for (std::uint64_t i = 0; i < layers; ++i) {
    activations.push_back(engine.allocate(kLayer));
    if (!activations.back() || !op({in(activations[i]), out(activations[i + 1])}, true)) return 0;
  }
  BufferId gradient = activations.back();
  for (std::uint64_t i = layers; i-- > 0;) {
    const BufferId next = engine.allocate(kLayer);
    if (!next || !op({in(gradient), in(activations[i]), out(next)}, true)) return 0;
    engine.free(gradient);
    if (i > 0) engine.free(activations[i]);
    gradient = next;
    if (i > 0) activations[i] = {};
  }
  return ops + device.replays;
}

// Griewank and Walther, "Algorithm 799: revolve" (2000), proposition 1: the fewest forward evaluations for a
// chain of `layers` with so many checkpoints, the first sweep among them; with the backward ones, all ops.
std::uint64_t optimum(std::uint64_t layers, std::uint64_t checkpoints) {
  double reach = 1;  // binomial(checkpoints + repetitions, checkpoints)
  std::uint64_t repetitions = 0;
  double below = 0;  // binomial(checkpoints + repetitions, checkpoints + 1)
  while (reach < static_cast<double>(layers)) {
    ++repetitions;
    below += reach;
    reach = reach * static_cast<double>(checkpoints + repetitions) / static_cast<double>(repetitions);
  }
  return static_cast<std::uint64_t>(static_cast<double>(repetitions * layers) - below) + layers;
}

}  // namespace

int main() {
  std::printf("%8s %8s %10s %8s %10s %8s %8s\n", "layers", "memory", "ops", "ops/N", "least", "least/N",
              "ratio");
  double first = 0;
  double worst = 0;
  for (std::uint64_t layers = 64; layers <= 16384; layers *= 4) {
    const auto memory = static_cast<std::uint64_t>(2 * std::sqrt(static_cast<double>(layers)));
    const std::uint64_t ops = run(layers, memory);
    if (ops == 0) {
      std::printf("%8lu %8lu out of memory\n", layers, memory);
      return 1;
    }
    const double n = static_cast<double>(layers);
    // Two of the layers of memory hold gradients, and one the activation that is being made.
    const std::uint64_t least = optimum(layers, memory - 3);
    const double each = static_cast<double>(ops) / n;
    std::fputs(
        fmt::format("{:8} {:8} {:10} {:8.2f} {:10} {:8.2f} {:8.3f}\n", layers, memory, ops, each, least,
                    static_cast<double>(least) / n, static_cast<double>(ops) / static_cast<double>(least))
            .c_str(),
        stdout);
    first = first == 0 ? each : first;
    worst = std::max(worst, each);
  }
  return worst < 2 * first ? 0 : 1;
}
