// Static schemes: what each takes and costs on networks where that is known.
#include "planner/schemes.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "networks.hpp"
#include "planner/check.hpp"

namespace refrain::planner {
namespace {

constexpr Scheme kAll[] = {Scheme::kFull, Scheme::kSqrt, Scheme::kBlocks, Scheme::kSelective,
                           Scheme::kRevolve};

std::int64_t base_ns(const Iteration& iteration) {
  std::int64_t sum = 0;
  for (const Op& op : iteration.ops) sum += op.cost_ns;
  return sum;
}

std::vector<std::uint32_t> chain_names(int steps) {
  std::vector<std::uint32_t> names(static_cast<std::size_t>(2 * steps + 1), 0);
  names[static_cast<std::size_t>(steps)] = 1;
  std::fill(names.begin() + steps + 1, names.end(), 2u);
  return names;
}

// Checked again here, by what the schedule itself says.
Checked checked(const Iteration& iteration, const std::vector<std::uint32_t>& names,
                const SchemeSettings& settings) {
  const SchemeSchedule found = schedule_of(iteration, names, settings);
  EXPECT_EQ(found.refusal, "");
  const Checked result = check_schedule(iteration, found.schedule, found.schedule.peak_bytes);
  EXPECT_EQ(result.problem, "");
  EXPECT_EQ(result.total_ns, found.schedule.total_ns);
  return result;
}

// What runs again, by name.
std::vector<int> again(const Network& network, const SchemeSettings& settings) {
  std::vector<int> counts(kNames);
  const SchemeSchedule found = schedule_of(network.iteration, network.names, settings);
  EXPECT_EQ(found.refusal, "");
  for (const Action& action : found.schedule.actions)
    if (action.kind == Action::Kind::kRecompute) ++counts[network.names[action.index]];
  return counts;
}

TEST(Schemes, SqrtTakesTwiceTheRootOfAChainAndLessThanOneMorePass) {
  for (const int steps : {16, 64, 100, 1000}) {
    const Iteration iteration = chain(steps);
    const Checked result = checked(iteration, chain_names(steps), {.scheme = Scheme::kSqrt});
    EXPECT_LE(static_cast<double>(result.peak_bytes), 2 * std::sqrt(steps) + 4) << steps;
    EXPECT_LT(result.total_ns - base_ns(iteration), steps) << steps;
    EXPECT_GE(result.total_ns - base_ns(iteration), steps / 2) << steps;
  }
}

TEST(Schemes, RevolveIsTheRecurrence) {
  for (const int steps : {10, 33, 64}) {
    for (const std::size_t places : {1u, 2u, 3u, 5u, 9u}) {
      const Iteration iteration = chain(steps);
      const Checked result =
          checked(iteration, chain_names(steps), {.scheme = Scheme::kRevolve, .places = places});
      EXPECT_EQ(result.total_ns - base_ns(iteration), revolve(steps + 1, static_cast<int>(places)) - steps)
          << steps << " steps, " << places << " places";
      // Beside the places: the input, the state that is being made, the gradient.
      EXPECT_LE(result.peak_bytes, static_cast<std::int64_t>(places) + 3)
          << steps << " steps, " << places << " places";
    }
  }
}

TEST(Schemes, RevolveChoosesAsManyPlacesAsTheLogarithm) {
  const Iteration iteration = chain(63);  // with the loss, 64 steps
  EXPECT_EQ(checked(iteration, chain_names(63), {.scheme = Scheme::kRevolve}).total_ns,
            checked(iteration, chain_names(63), {.scheme = Scheme::kRevolve, .places = 6}).total_ns);
}

TEST(Schemes, BlocksRunOnceMoreButForWhatNobodyReadsAgain) {
  const Network net = network({.blocks = 4});
  const std::vector<int> found = again(net, {.scheme = Scheme::kBlocks});
  EXPECT_EQ(found, (std::vector<int>{0, 4, 4, 0, 0, 0, 0}));
  const Checked result = checked(net.iteration, net.names, {.scheme = Scheme::kBlocks});
  EXPECT_EQ(result.total_ns - base_ns(net.iteration), 4 * 31);
  // Constants 14; the input of each block 40; two values of the last one, its gradient and the next.
  EXPECT_EQ(result.peak_bytes, 14 + 40 + 20 + 20);
}

TEST(Schemes, BlocksAreNamedOrCountedOrFound) {
  const Network net = network({.blocks = 4});
  SchemeSettings named{.scheme = Scheme::kBlocks, .block_names = std::vector<bool>(kNames)};
  named.block_names[kMatmul] = true;
  EXPECT_EQ(again(net, named), (std::vector<int>{0, 4, 4, 0, 0, 0, 0}));
  named.block_names[kMatmul] = false;
  named.block_names[kGelu] = true;  // a matmul ends each but the last, and what it writes enters the next
  EXPECT_EQ(again(net, named), (std::vector<int>{0, 0, 4, 3, 0, 0, 0}));
  EXPECT_EQ(again(net, {.scheme = Scheme::kBlocks, .block_count = 1}),
            (std::vector<int>{1, 4, 4, 3, 0, 0, 0}));
  const std::vector<int> halves = again(net, {.scheme = Scheme::kBlocks, .block_count = 2});
  EXPECT_EQ(halves, (std::vector<int>{1, 4, 3, 3, 0, 0, 0})) << "what enters the second half is kept";
}

// Two stages of different blocks, with something between.
TEST(Schemes, BlocksOfSeveralKindsAreFound) {
  Network net;
  ValueIndex x = add_value(net.iteration, 10);
  net.iteration.values[x].constant = true;
  std::vector<ValueIndex> kept;
  for (int i = 0; i < 12; ++i) {
    kept.push_back(x = net.add(kMatmul, 30, {x}, 10));
    if (i < 6) kept.push_back(x = net.add(kGelu, 1, {x}, 10));
    kept.push_back(x = net.add(kDropout, 1, {x}, 10));
    if (i == 5) x = net.add(kEmbed, 1, {x}, 5);
  }
  ValueIndex gradient = net.add(kLoss, 3, {x}, 10);
  for (std::size_t i = kept.size(); i-- > 0;) gradient = net.add(kBackward, 1, {gradient, kept[i]}, 10);
  // What a dropout writes enters the next block; of the last it is read by the loss, of the sixth by the
  // embed.
  EXPECT_EQ(again(net, {.scheme = Scheme::kBlocks}), (std::vector<int>{0, 12, 6, 0, 0, 0, 0}));
}

TEST(Schemes, FullIsOfBlocksAndOfWhatIsOutside) {
  const Network net = network({.blocks = 4});
  const std::vector<int> blocks = again(net, {.scheme = Scheme::kBlocks});
  EXPECT_EQ(again(net, {.scheme = Scheme::kFull}), blocks) << "nothing outside is read again";
  SchemeSettings named{.scheme = Scheme::kFull, .block_names = std::vector<bool>(kNames)};
  named.block_names[kGelu] = true;
  const std::vector<int> full = again(net, named);
  EXPECT_EQ(full, (std::vector<int>{1, 0, 4, 3, 0, 0, 0})) << "the embedding is outside, and read again";
}

TEST(Schemes, SelectiveKeepsWhatIsExpensive) {
  const Network net = network({.blocks = 4});
  const std::vector<int> found = again(net, {.scheme = Scheme::kSelective});
  EXPECT_EQ(found[kMatmul], 0);
  EXPECT_EQ(found[kGelu], 4);
  EXPECT_EQ(found[kDropout], 3) << "of the last one only the loss reads";
  const Checked result = checked(net.iteration, net.names, {.scheme = Scheme::kSelective});
  EXPECT_LT(result.peak_bytes, unplanned_peak_bytes(net.iteration));
}

TEST(Schemes, EachStepIsGoneOverAlike) {
  for (const Scheme scheme : kAll) {
    const Network one = network({.blocks = 9, .updates = true});
    const Network five = network({.blocks = 9, .steps = 5, .updates = true});
    const SchemeSettings settings{.scheme = scheme};
    const Checked single = checked(one.iteration, one.names, settings);
    const Checked several = checked(five.iteration, five.names, settings);
    EXPECT_EQ(several.total_ns, 5 * single.total_ns) << static_cast<int>(scheme);
    EXPECT_LE(several.peak_bytes, single.peak_bytes + 9)
        << static_cast<int>(scheme) << ": the weights that it began with are constant";
  }
}

TEST(Schemes, WhatMayNotRunAgainIsKept) {
  Network net = network({.blocks = 4});
  for (std::size_t op = 0; op < net.names.size(); ++op)
    if (net.names[op] == kDropout) net.iteration.ops[op].replayable = false;
  for (const Scheme scheme : kAll) {
    const SchemeSchedule found = schedule_of(net.iteration, net.names, {.scheme = scheme});
    if (!found.refusal.empty()) continue;
    EXPECT_EQ(again(net, {.scheme = scheme})[kDropout], 0);
  }
}

TEST(Schemes, WhatCannotBeComputedIsRefused) {
  const auto refusal = [](const Network& net, const SchemeSettings& settings) {
    return schedule_of(net.iteration, net.names, settings).refusal;
  };
  Network inference;
  ValueIndex x = add_value(inference.iteration, 10);
  inference.iteration.values[x].constant = true;
  for (int i = 0; i < 6; ++i) x = inference.add(kMatmul, 5, {x}, 10);
  for (const Scheme scheme : kAll)
    EXPECT_EQ(refusal(inference, {.scheme = scheme}), "nothing of a forward pass is read again after it");
  const Network net = network({.blocks = 1});
  EXPECT_EQ(refusal(net, {.scheme = Scheme::kBlocks}),
            "no ops of the forward pass repeat as blocks that would save a tenth of what it keeps");
  EXPECT_EQ(refusal(net, {.scheme = Scheme::kFull, .block_names = std::vector<bool>(kNames)}),
            "no op of the forward pass has such a name");
  // Two values cross everywhere.
  Network wide;
  ValueIndex a = add_value(wide.iteration, 10), b = add_value(wide.iteration, 10);
  wide.iteration.values[a].constant = wide.iteration.values[b].constant = true;
  std::vector<ValueIndex> kept;
  for (int i = 0; i < 6; ++i) {
    const ValueIndex c = wide.add(kMatmul, 5, {a, b}, 10);
    a = b;
    b = c;
    kept.push_back(c);
  }
  ValueIndex gradient = wide.add(kLoss, 5, {a, b}, 10);
  for (std::size_t i = kept.size(); i-- > 0;) gradient = wide.add(kBackward, 5, {gradient, kept[i]}, 10);
  EXPECT_NE(refusal(wide, {.scheme = Scheme::kRevolve}).find("it is for chains"), std::string::npos);
}

TEST(Schemes, RandomIterationsHold) {
  int computed = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    const Iteration iteration = random_iteration(seed, 60);
    std::vector<std::uint32_t> names;
    for (std::size_t op = 0; op < iteration.ops.size(); ++op) names.push_back(op * seed % 3);
    for (const Scheme scheme : kAll) {
      for (const std::size_t count : {0u, 5u}) {
        SCOPED_TRACE(testing::Message() << seed << " " << static_cast<int>(scheme));
        const SchemeSettings settings{.scheme = scheme, .block_names = {}, .block_count = count};
        if (!schedule_of(iteration, names, settings).refusal.empty()) continue;
        ++computed;
        EXPECT_GE(checked(iteration, names, settings).total_ns, base_ns(iteration));
      }
    }
  }
  EXPECT_GT(computed, 500);
}

}  // namespace
}  // namespace refrain::planner
