// Iterations made up for tests.
#pragma once

#include <algorithm>
#include <map>
#include <random>

#include "planner/iteration.hpp"

namespace refrain::planner {

inline ValueIndex add_value(Iteration& iteration, std::int64_t bytes) {
  iteration.values.push_back({.bytes = bytes});
  return static_cast<ValueIndex>(iteration.values.size() - 1);
}

inline OpIndex add_op(Iteration& iteration, std::int64_t cost_ns, std::vector<ValueIndex> reads,
                      std::vector<ValueIndex> writes) {
  Op op;
  op.cost_ns = op.recompute_ns = cost_ns;
  op.reads = std::move(reads);
  op.writes = std::move(writes);
  iteration.ops.push_back(std::move(op));
  return static_cast<OpIndex>(iteration.ops.size() - 1);
}

// Steps forward, a loss, and steps backward: step i backward reads what step i forward read. All of size and
// cost 1; the first input is constant, the last gradient wanted.
inline Iteration chain(int steps) {
  Iteration iteration;
  std::vector<ValueIndex> states{add_value(iteration, 1)};
  iteration.values[0].constant = true;
  for (int i = 0; i < steps; ++i) {
    states.push_back(add_value(iteration, 1));
    add_op(iteration, 1, {states[states.size() - 2]}, {states.back()});
  }
  ValueIndex gradient = add_value(iteration, 1);
  add_op(iteration, 1, {states.back()}, {gradient});
  for (int i = steps; i-- > 0;) {
    const ValueIndex next = add_value(iteration, 1);
    add_op(iteration, 1, {states[static_cast<std::size_t>(i)], gradient}, {next});
    gradient = next;
  }
  iteration.values[gradient].wanted = true;
  for (Value& value : iteration.values) value.freed_after = static_cast<OpIndex>(iteration.ops.size());
  return iteration;
}

// Griewank and Walther's optimum (revolve): runs forward, with the first sweep, to go back over so many steps
// from a state that is kept, with so many places for others.
inline int revolve(int steps, int places) {
  static std::map<std::pair<int, int>, int> known;
  if (steps == 1) return 0;
  if (places == 0) return 1 << 20;
  const auto [place, fresh] = known.try_emplace({steps, places}, 1 << 20);
  if (!fresh) return place->second;
  int best = 1 << 20;
  for (int ahead = 1; ahead < steps; ++ahead)
    best = std::min(best, ahead + revolve(steps - ahead, places - 1) + revolve(ahead, places));
  return known[{steps, places}] = best;
}

// Ops that read a few of the values before them, with one to three results; some constants, some wanted, a
// few ops that may not be replayed.
inline Iteration random_iteration(std::uint32_t seed, int ops) {
  std::minstd_rand random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  Iteration iteration;
  for (int i = 0; i < 3; ++i) iteration.values[add_value(iteration, below(5))].constant = true;
  for (int i = 0; i < ops; ++i) {
    std::vector<ValueIndex> reads, writes;
    const auto known = static_cast<std::uint32_t>(iteration.values.size());
    for (std::uint32_t n = below(4); n > 0; --n) {
      const ValueIndex value = below(2) ? known - 1 - below(std::min(known, 8u)) : below(known);
      if (std::find(reads.begin(), reads.end(), value) == reads.end()) reads.push_back(value);
    }
    for (std::uint32_t n = 1 + below(3); n > 0; --n)
      writes.push_back(add_value(iteration, below(4) ? 1 + below(20) : 0));
    const OpIndex op = add_op(iteration, 1 + below(30), reads, writes);
    iteration.ops[op].replayable = below(12) != 0;
  }
  for (Value& value : iteration.values) {
    value.wanted = below(10) == 0;
    value.freed_after = static_cast<OpIndex>(iteration.ops.size());
  }
  return iteration;
}

// Half of its values, at prices like those of ops.
inline void make_restorable(Iteration& iteration, std::uint32_t seed) {
  std::minstd_rand random(seed);
  for (Value& value : iteration.values)
    if (random() % 2 == 0) value.restore_ns = static_cast<std::int64_t>(random() % 60);
}

}  // namespace refrain::planner
