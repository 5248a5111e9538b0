// What lowering keeps of an operator log, and what it adds up to.
#include <gtest/gtest.h>

#include "simulate/operator_log.hpp"

namespace refrain::simulate {
namespace {

// Builds a log op by op; every tensor has one reference unless released.
class LogBuilder {
 public:
  std::uint32_t constant(std::uint64_t bytes) {
    const std::uint32_t made = op({}, 0, {{bytes, -1}});
    log_.ops.back().constant = true;
    return made;
  }
  struct Made {
    std::uint64_t bytes;
    int argument;
  };
  // The first result.
  std::uint32_t op(const std::vector<std::uint32_t>& arguments, std::uint64_t cost_ns,
                   const std::vector<Made>& made) {
    LogOp op{.cost_ns = cost_ns,
             .first_argument = log_.all_arguments.size(),
             .argument_count = static_cast<std::uint32_t>(arguments.size()),
             .first_result = static_cast<std::uint32_t>(log_.tensors.size()),
             .result_count = static_cast<std::uint32_t>(made.size())};
    log_.all_arguments.insert(log_.all_arguments.end(), arguments.begin(), arguments.end());
    for (const Made& m : made) {
      const auto tensor = static_cast<std::uint32_t>(log_.tensors.size());
      auto storage = static_cast<std::uint32_t>(log_.storages.size());
      if (m.argument < 0) {
        log_.storages.push_back({.bytes = m.bytes, .root = tensor});
      } else {
        storage = log_.tensors[arguments[m.argument]].storage;
      }
      log_.tensors.push_back({.op = static_cast<std::uint32_t>(log_.ops.size()), .storage = storage});
    }
    log_.steps.push_back({LogStep::Kind::kCompute, static_cast<std::uint32_t>(log_.ops.size())});
    log_.ops.push_back(op);
    return op.first_result;
  }
  void release(std::uint32_t tensor) { log_.steps.push_back({LogStep::Kind::kRelease, tensor}); }
  void keep(std::uint32_t tensor) { log_.steps.push_back({LogStep::Kind::kKeep, tensor}); }
  OperatorLog log() {
    log_.names = {"f"};
    return log_;
  }

 private:
  OperatorLog log_;
};

TEST(Lower, AViewsCostGoesToTheOpThatMadeItsStorage) {
  LogBuilder b;
  const auto w = b.constant(100);
  const auto a = b.op({w}, 10, {{50, -1}});
  const auto v = b.op({a}, 3, {{0, 0}});
  const auto vv = b.op({v}, 4, {{0, 0}});
  const auto wv = b.op({w}, 2, {{0, 0}});
  b.op({vv, wv, a}, 20, {{60, -1}});
  const Trace trace = lower(b.log());
  ASSERT_EQ(trace.ops.size(), 6u);
  EXPECT_EQ(trace.ops[1].cost_ns, 17);
  EXPECT_EQ(trace.ops[2].cost_ns, 0);
  EXPECT_EQ(trace.ops[3].cost_ns, 0);
  EXPECT_EQ(trace.ops[4].cost_ns, 2) << "a view of a constant keeps its cost: it is never paid again";
  EXPECT_EQ(totals_of(trace).compute_ns, 39);
  ASSERT_EQ(trace.uses(trace.ops[3]).size(), 1u);
  EXPECT_TRUE(trace.uses(trace.ops[3])[0].read);
  ASSERT_EQ(trace.uses(trace.ops[5]).size(), 3u) << "two storages read, one written";
  EXPECT_TRUE(trace.uses(trace.ops[5])[2].whole);
  EXPECT_FALSE(trace.ops[0].replayable);
  EXPECT_TRUE(trace.ops[1].replayable);
}

TEST(Lower, AStorageIsFreedWithItsLastTensor) {
  LogBuilder b;
  const auto a = b.op({}, 1, {{50, -1}});
  const auto v = b.op({a}, 1, {{0, 0}});
  b.release(a);
  const auto c = b.op({v}, 1, {{70, -1}});
  b.release(v);
  const auto d = b.op({c}, 1, {{80, -1}});
  b.keep(d);
  const Trace trace = lower(b.log());
  ASSERT_EQ(trace.steps.size(), 5u);
  EXPECT_EQ(trace.steps[3].kind, TraceStep::Kind::kFree);
  EXPECT_EQ(trace.steps[3].index, 0u);
  EXPECT_EQ(totals_of(trace).peak_bytes, 150u);
  EXPECT_EQ(totals_of(trace).largest_op_bytes, 150u);
  EXPECT_FALSE(trace.buffers[0].wanted);
  EXPECT_TRUE(trace.buffers[2].wanted);
}

TEST(Lower, AStorageWithoutBytesIsNoBuffer) {
  LogBuilder b;
  const auto a = b.op({}, 5, {{50, -1}, {0, -1}});
  b.op({a + 1}, 6, {{0, 0}});
  b.op({a, a + 1}, 7, {{10, -1}});
  const Trace trace = lower(b.log());
  EXPECT_EQ(trace.buffers.size(), 2u);
  EXPECT_EQ(trace.ops[1].cost_ns, 6);
  EXPECT_EQ(trace.uses(trace.ops[1]).size(), 0u);
  EXPECT_EQ(totals_of(trace).compute_ns, 18);
}

}  // namespace
}  // namespace refrain::simulate
