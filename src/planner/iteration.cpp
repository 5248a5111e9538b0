// See iteration.hpp: what makes an iteration impossible.
#include "planner/iteration.hpp"

#include <algorithm>

namespace refrain::planner {
namespace {

bool repeats(std::vector<ValueIndex> list) {
  std::sort(list.begin(), list.end());
  return std::adjacent_find(list.begin(), list.end()) != list.end();
}

std::string problem_of_op(const Iteration& iteration, const Op& op, std::vector<bool>& written) {
  const auto name = [](ValueIndex value) { return "value " + std::to_string(value); };
  if (op.cost_ns < 0 || op.recompute_ns < 0) return "a negative cost";
  if (repeats(op.reads) || repeats(op.writes)) return "a value is listed twice";
  for (const auto* list : {&op.reads, &op.writes})
    for (ValueIndex value : *list)
      if (value >= iteration.values.size()) return "no such " + name(value);
  for (ValueIndex value : op.reads)
    if (!written[value]) return name(value) + " is read before it is written";
  for (ValueIndex value : op.writes) {
    if (written[value]) return name(value) + " is constant or written before";
    written[value] = true;
  }
  return {};
}

}  // namespace

std::string problem_of(const Iteration& iteration) {
  std::vector<bool> written;
  for (const Value& value : iteration.values) {
    if (value.restore_ns < 0) return "value " + std::to_string(written.size()) + ": a negative cost";
    if (value.bytes < 0) return "value " + std::to_string(written.size()) + ": negative bytes";
    written.push_back(value.constant);
  }
  for (std::size_t op = 0; op < iteration.ops.size(); ++op)
    if (std::string problem = problem_of_op(iteration, iteration.ops[op], written); !problem.empty())
      return "op " + std::to_string(op) + ": " + problem;
  for (std::size_t value = 0; value < written.size(); ++value)
    if (!written[value]) return "value " + std::to_string(value) + ": neither constant nor written";
  return {};
}

}  // namespace refrain::planner
