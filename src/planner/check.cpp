// See check.hpp. A set of what is there, and a sum of its bytes: slow and plain on purpose.
#include "planner/check.hpp"

#include <algorithm>
#include <set>

namespace refrain::planner {
namespace {

struct Machine {
  const Iteration& iteration;
  std::set<ValueIndex> there;
  std::set<ValueIndex> copied{};
  std::int64_t bytes = 0;
  Checked result{};

  void add(ValueIndex value) {
    if (there.insert(value).second) bytes += iteration.values[value].bytes;
  }

  std::string fit(const std::string& what, std::int64_t cap_bytes) {
    result.peak_bytes = std::max(result.peak_bytes, bytes);
    if (bytes <= cap_bytes) return {};
    return what + " needs " + std::to_string(bytes) + " bytes of " + std::to_string(cap_bytes);
  }

  std::string run(OpIndex index, std::int64_t cap_bytes) {
    const Op& op = iteration.ops[index];
    for (ValueIndex value : op.reads)
      if (!there.contains(value))
        return "op " + std::to_string(index) + " misses value " + std::to_string(value);
    for (ValueIndex value : op.writes) add(value);
    return fit("op " + std::to_string(index), cap_bytes);
  }

  std::string recompute(OpIndex index, OpIndex next, std::int64_t cap_bytes) {
    if (index >= next) return "op " + std::to_string(index) + " is recomputed before it has run";
    if (!iteration.ops[index].replayable) return "op " + std::to_string(index) + " may not be recomputed";
    result.total_ns += iteration.ops[index].recompute_ns;
    return run(index, cap_bytes);
  }

  std::string restore(ValueIndex value, std::int64_t cap_bytes) {
    if (!copied.contains(value)) return "value " + std::to_string(value) + " is restored without a copy";
    result.total_ns += iteration.values[value].restore_ns;
    add(value);
    return fit("value " + std::to_string(value), cap_bytes);
  }

  std::string offload(ValueIndex value) {
    if (iteration.values[value].restore_ns == kNoRestore)
      return "value " + std::to_string(value) + " cannot be restored";
    copied.insert(value);
    return drop(value);
  }

  std::string drop(ValueIndex value) {
    if (iteration.values[value].constant) return "value " + std::to_string(value) + " is constant";
    if (there.erase(value) == 0) return "value " + std::to_string(value) + " is dropped and not there";
    bytes -= iteration.values[value].bytes;
    return {};
  }
};

}  // namespace

Checked check_schedule(const Iteration& iteration, const Schedule& schedule, std::int64_t cap_bytes) {
  Machine machine{.iteration = iteration, .there = {}};
  for (ValueIndex value = 0; value < iteration.values.size(); ++value)
    if (iteration.values[value].constant) machine.add(value);
  machine.result.peak_bytes = machine.bytes;
  OpIndex next = 0;
  for (std::size_t i = 0; i < schedule.actions.size() && machine.result.problem.empty(); ++i) {
    const auto [kind, index] = schedule.actions[i];
    std::string problem;
    const bool of_op = kind == Action::Kind::kRun || kind == Action::Kind::kRecompute;
    if (index >= (of_op ? iteration.ops.size() : iteration.values.size())) {
      problem = "no such index: " + std::to_string(index);
    } else if (kind == Action::Kind::kDrop) {
      problem = machine.drop(index);
    } else if (kind == Action::Kind::kOffload) {
      problem = machine.offload(index);
    } else if (kind == Action::Kind::kRestore) {
      problem = machine.restore(index, cap_bytes);
    } else if (kind == Action::Kind::kRecompute) {
      problem = machine.recompute(index, next, cap_bytes);
    } else if (index != next++) {
      problem = "op " + std::to_string(index) + " runs out of order";
    } else {
      machine.result.total_ns += iteration.ops[index].cost_ns;
      problem = machine.run(index, cap_bytes);
    }
    if (!problem.empty()) machine.result.problem = "action " + std::to_string(i) + ": " + problem;
  }
  if (!machine.result.problem.empty()) return machine.result;
  if (next != iteration.ops.size()) machine.result.problem = "op " + std::to_string(next) + " never runs";
  for (ValueIndex value = 0; value < iteration.values.size(); ++value)
    if (iteration.values[value].wanted && !machine.there.contains(value) && machine.result.problem.empty())
      machine.result.problem = "value " + std::to_string(value) + " is not there at the end";
  return machine.result;
}

std::int64_t unplanned_peak_bytes(const Iteration& iteration) {
  std::vector<std::int64_t> freed(iteration.ops.size() + 1);
  std::int64_t bytes = 0;
  for (const Value& value : iteration.values) {
    if (value.constant) bytes += value.bytes;
    freed[value.freed_after] += value.bytes;
  }
  std::int64_t peak = bytes;
  for (OpIndex op = 0; op < iteration.ops.size(); ++op) {
    for (ValueIndex value : iteration.ops[op].writes) bytes += iteration.values[value].bytes;
    peak = std::max(peak, bytes);
    bytes -= freed[op];
  }
  return peak;
}

}  // namespace refrain::planner
