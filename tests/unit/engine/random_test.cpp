// Random programs under random caps against the reference. A failure prints its seed; REFRAIN_TEST_SEED
// repeats it.
#include <cstdlib>
#include <random>

#include "program.hpp"

namespace refrain::engine::test {
namespace {

class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed)
      : random_(seed),
        program_((4 + random_() % 20) * kPage, random_() % 4 == 0 ? 16 : 1 << 20,
                 random_() % 2 == 0 ? 0.125 : 1) {}

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) step();
    for (const BufferId buffer : buffers_) {
      if (program_.reference.at(buffer.index).defined) program_.download(buffer);
    }
    while (!buffers_.empty()) free_one();
    EXPECT_EQ(program_.engine.lineage().value_count(), 0u);
    EXPECT_EQ(program_.engine.lineage().op_count(), 0u);
    EXPECT_EQ(program_.engine.memory().used_bytes(), 0u);
    EXPECT_EQ(program_.device.payloads(), 0u);
  }
  std::uint64_t rematerialisations() const { return program_.engine.statistics().rematerialisations; }

 private:
  BufferId pick() { return buffers_[random_() % buffers_.size()]; }
  void free_one() {
    const std::size_t i = random_() % buffers_.size();
    program_.free(buffers_[i]);
    buffers_.erase(buffers_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void step() {
    const std::uint64_t dice = random_() % 100;
    if (buffers_.size() < 3 || (dice < 20 && buffers_.size() < 40)) {
      const std::uint64_t kind = random_() % 12;
      const BufferId buffer = kind == 0  ? program_.adopt()
                              : kind < 4 ? program_.place(1 + random_() % 3)
                                         : program_.allocate(1 + random_() % 3);
      if (buffer) {
        buffers_.push_back(buffer);
        return;
      }
      if (buffers_.empty()) return;
    }
    if (dice < 35) {
      free_one();
    } else if (dice < 42) {
      program_.upload(pick());
    } else if (dice < 47) {
      const BufferId buffer = pick();
      if (program_.reference.at(buffer.index).defined) program_.download(buffer);
    } else if (dice == 47) {
      program_.barrier();
    } else if (dice == 48 && random_() % 4 == 0) {
      program_.engine.pin(pick());
      program_.check();
    } else {
      random_op();
    }
  }
  void random_op() {
    std::vector<Program::Use> uses;
    const std::size_t count = 1 + random_() % 4;
    bool writes = false;
    for (std::size_t i = 0; i < count; ++i) {
      Program::Use use{.buffer = pick()};
      bool seen = false;
      for (const Program::Use& other : uses) seen = seen || other.buffer == use.buffer;
      if (seen) continue;
      use.written = random_() % 2 == 0;
      use.read = !use.written || random_() % 3 == 0;
      use.whole = use.written && !use.read && random_() % 2 == 0;
      use.partial = use.written && !use.whole && random_() % 2 == 0;
      writes = writes || use.written;
      uses.push_back(use);
    }
    if (!writes) uses[0].written = true;
    program_.op(uses, random_() % 12 != 0, static_cast<std::uint32_t>(random_() % 8));
  }

  std::mt19937_64 random_;
  Program program_;
  std::vector<BufferId> buffers_;
};

// Sanitised builds are slower; a full run has to fit its time.
#ifdef REFRAIN_CHECK_INVARIANTS
constexpr std::uint64_t kPrograms = 4'000;
#else
constexpr std::uint64_t kPrograms = 20'000;
#endif

TEST(EngineRandom, EveryReadIsRightUnderRandomCaps) {
  const char* one = std::getenv("REFRAIN_TEST_SEED");
  const std::uint64_t first = one ? std::strtoull(one, nullptr, 10) : 1;
  const std::uint64_t last = one ? first : kPrograms;
  std::uint64_t rematerialisations = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE("REFRAIN_TEST_SEED=" + std::to_string(seed));
    RandomProgram program(seed);
    program.run(200);
    if (::testing::Test::HasFailure()) return;
    rematerialisations += program.rematerialisations();
  }
  if (!one) {
    EXPECT_GT(rematerialisations, 10'000u) << "the programs are too easy to test anything";
  }
}

}  // namespace
}  // namespace refrain::engine::test
