// Which value each policy gives up, in situations where they differ.
#include <gtest/gtest.h>

#include "program.hpp"

namespace refrain::engine::test {
namespace {

using P = Program;

struct Made {
  const char* name;
  std::uint32_t cost_class;  // (n + 1) us
  Bytes pages;
};

// Values that are made from one leaf each, in this order, and then more pages than there are: which went?
std::string first_to_go(PolicyKind policy, const std::vector<Made>& made, int more_pages = 1) {
  Bytes pages = 0;
  for (const Made& m : made) pages += m.pages;
  P p(Settings{.cap_bytes = (pages + 1) * kPage, .granularity_bytes = kPage, .policy = policy});
  const BufferId leaf = p.allocate(1);
  p.upload(leaf);
  std::vector<BufferId> buffers;
  for (const Made& m : made) {
    buffers.push_back(p.allocate(m.pages));
    p.op({P::in(leaf), P::out(buffers.back())}, true, m.cost_class);
  }
  for (int i = 0; i < more_pages; ++i) p.upload(p.allocate(1));
  std::string gone;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const ValueId value = p.engine.memory().buffer(buffers[i]).current;
    if (!p.engine.lineage().value(value).resident()) gone += made[i].name;
  }
  return gone;
}

TEST(Policy, EachRanksByItsOwnMeasure) {
  // dear: 8 us, the stalest. cheap: 1 us. large: 3 pages, dearer for its size than cheap. small: fresh.
  const std::vector<Made> made = {{"dear", 7, 1}, {"cheap", 0, 1}, {"large", 5, 3}, {"small", 2, 1}};
  EXPECT_EQ(first_to_go(PolicyKind::kLru, made), "dear");
  EXPECT_EQ(first_to_go(PolicyKind::kSize, made), "large");
  EXPECT_EQ(first_to_go(PolicyKind::kMsps, made), "cheap");
  EXPECT_EQ(first_to_go(PolicyKind::kDtr, made), "cheap");
  EXPECT_EQ(first_to_go(PolicyKind::kDtrLocal, made), "cheap");
  EXPECT_EQ(first_to_go(PolicyKind::kDtrEq, made), "cheap");
}

// From x by two ops: a and b, then c from a, which it reads twice, and b. Lost: a.
TEST(Policy, WhatStandsNextToALostValueCountsItsOpOnce) {
  struct Nothing final : Lineage::Collector {
    void on_value_dead(ValueId) override {}
    void on_op_dead(Payload) override {}
  } collector;
  Lineage lineage(collector);
  const auto value = [&](std::uint32_t number) {
    const ValueId id = lineage.add_value(BufferId{number}, 1);
    lineage.set_location(id, BufferId{number});
    return id;
  };
  const ValueId x = value(0), a = value(1), b = value(2), c = value(3);
  const auto in = [](ValueId id) { return OpUse{.input = id, .output = {}}; };
  const auto out = [](ValueId id) { return OpUse{.input = {}, .output = id}; };
  const std::vector<OpUse> first = {in(x), in(x), out(a), out(b)};
  const std::vector<OpUse> second = {in(a), in(a), in(b), out(c)};
  lineage.add_op(0, 0, first);
  lineage.add_op(1, 0, second);
  const auto counting = [&](PolicyKind kind) {
    std::vector<ValueId> found;
    Policy(lineage, kind).find_counting(a, found);
    std::vector<std::uint32_t> numbers;
    for (const ValueId id : found) numbers.push_back(id.index);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
  };
  using Numbers = std::vector<std::uint32_t>;
  lineage.set_location(a, {});
  EXPECT_EQ(counting(PolicyKind::kDtr), (Numbers{x.index, c.index}));
  EXPECT_EQ(counting(PolicyKind::kMsps), Numbers{c.index}) << "only what is made from it";
  EXPECT_EQ(counting(PolicyKind::kDtrLocal), Numbers{});
  EXPECT_EQ(counting(PolicyKind::kLru), Numbers{}) << "whose ranks are no costs";
  lineage.set_location(b, {});
  EXPECT_EQ(counting(PolicyKind::kDtr), Numbers{}) << "the op is counted for b already";
}

TEST(Policy, StalenessCountsForDtrAndNotForMsps) {
  // 8 us for a page that was last used 18 us ago, or 3 us for one that was used 1 us ago.
  const std::vector<Made> made = {
      {"old", 7, 1}, {"mid", 7, 1}, {"filler", 6, 1}, {"young", 2, 1}, {"last", 0, 1}};
  EXPECT_EQ(first_to_go(PolicyKind::kMsps, made), "last");
  EXPECT_EQ(first_to_go(PolicyKind::kDtrLocal, made), "old");
}

// Neighbourhoods: a lost chain of ten behind `far`; `near` is dearer by itself.
class Chain {
 public:
  explicit Chain(PolicyKind policy)
      : p(Settings{.cap_bytes = 14 * kPage, .granularity_bytes = kPage, .policy = policy}) {
    leaf = make({}, 0);
    BufferId at = leaf;
    for (int i = 0; i < 10; ++i) chain.push_back(at = make(at, 0));
    far = make(at, 6);
    near = make(leaf, 7);
    // All equally fresh, so that only costs count.
    p.op({P::in(far), P::in(near), P::in(leaf)}, false);
  }
  BufferId make(BufferId from, std::uint32_t cost_class) {
    const BufferId made = p.allocate(1);
    const Status status = from ? p.op({P::in(from), P::out(made)}, true, cost_class) : p.upload(made);
    EXPECT_EQ(status, Status::kOk);
    return made;
  }
  bool resident(BufferId b) const {
    return p.engine.lineage().value(p.engine.memory().buffer(b).current).resident();
  }
  P p;
  BufferId leaf, far, near;
  std::vector<BufferId> chain;
};

TEST(Policy, ALostNeighbourhoodMakesItsEdgeDear) {
  for (const PolicyKind policy : {PolicyKind::kDtr, PolicyKind::kDtrEq}) {
    SCOPED_TRACE(kPolicyNames[static_cast<int>(policy)]);
    Chain c(policy);
    // Pages for all but two: the chain, staler, goes first; then 17 us for far against 8 us for near.
    for (int i = 0; i < 12; ++i) c.make({}, 0);
    for (const BufferId b : c.chain) EXPECT_FALSE(c.resident(b));
    EXPECT_TRUE(c.resident(c.far)) << "far takes eleven ops to have again, near only one";
    EXPECT_FALSE(c.resident(c.near));
  }
  Chain local(PolicyKind::kDtrLocal);
  for (int i = 0; i < 12; ++i) local.make({}, 0);
  EXPECT_FALSE(local.resident(local.far));
  EXPECT_TRUE(local.resident(local.near));
}

TEST(Policy, RandomIsTheSameInEveryRunAndInNoOrder) {
  std::vector<Made> made;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}) {
    made.push_back({name, 0, 1});
  }
  const std::string gone = first_to_go(PolicyKind::kRandom, made, 6);
  EXPECT_EQ(gone.size(), 6u);
  EXPECT_EQ(gone, first_to_go(PolicyKind::kRandom, made, 6));
  EXPECT_NE(gone, "abcdef");
  EXPECT_NE(gone, "ghijkl");
}

TEST(Policy, ClassesDoNotOutgrowWhatIsLost) {
  struct Quiet final : Lineage::Collector {
    void on_value_dead(ValueId) override {}
    void on_op_dead(Payload) override {}
  } quiet;
  Lineage lineage(quiet);
  lineage.set_cost_ns(0, 100);
  const ValueId leaf = lineage.add_value({0}, kPage);
  std::vector<ValueId> values{leaf};
  for (std::uint32_t i = 1; i <= 3; ++i) {
    values.push_back(lineage.add_value({i}, kPage));
    OpUse uses[2];
    uses[0].input = values[i - 1];
    uses[1].output = values[i];
    lineage.add_op(i, 0, uses);
  }
  LostClasses classes(lineage);
  for (int round = 0; round < 100'000; ++round) {
    classes.add(values[1]);
    EXPECT_EQ(classes.neighbours_ns(values[2]), 100);
    classes.add(values[2]);
    EXPECT_EQ(classes.neighbours_ns(values[3]), 200);
    classes.remove(values[1]);
    EXPECT_EQ(classes.neighbours_ns(values[1]), 100) << "what was joined stays joined, without its cost";
    classes.remove(values[2]);
    EXPECT_EQ(classes.neighbours_ns(values[3]), 0);
  }
  EXPECT_LT(classes.node_count(), 2000u);
}

}  // namespace
}  // namespace refrain::engine::test
