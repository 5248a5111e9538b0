// See steps.hpp.
#include "planner/steps.hpp"

#include <algorithm>
#include <numeric>

#include "planner/repetition.hpp"

namespace refrain::planner {
namespace {

class Finder {
 public:
  Finder(const Iteration& iteration, Sequence sequence, const Uses& uses)
      : iteration_(iteration), sequence_(std::move(sequence)), uses_(uses) {}

  std::vector<Step> run() {
    const auto count = static_cast<OpIndex>(iteration_.ops.size());
    std::vector<OpIndex> borders{0};
    for (const Repetition& repetition : repetitions(sequence_.keys)) {
      if (!covers_half(repetition)) break;
      const std::vector<OpIndex> found = borders_in(repetition);
      if (found.size() < 3 || !are_steps(found)) continue;
      borders.insert(borders.end(), found.begin(), found.end());
      break;
    }
    borders.push_back(count);
    borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
    std::vector<Step> steps;
    for (std::size_t i = 0; i + 1 < borders.size(); ++i)
      steps.push_back({borders[i], turn_of(borders[i], borders[i + 1]), borders[i + 1]});
    return steps;
  }

 private:
  bool covers_half(const Repetition& repetition) const {
    std::int64_t all_ns = 0, repeating_ns = 0;
    for (OpIndex op = 0; op < iteration_.ops.size(); ++op) {
      all_ns += iteration_.ops[op].cost_ns;
      if (op >= sequence_.ops[repetition.begin] && op < sequence_.ops[repetition.end])
        repeating_ns += iteration_.ops[op].cost_ns;
    }
    return 2 * repeating_ns >= all_ns;
  }

  // Bytes written before each op and read there or later.
  std::vector<std::int64_t> crossing_bytes() const {
    std::vector<std::int64_t> bytes(iteration_.ops.size() + 1);
    for (ValueIndex value = 0; value < iteration_.values.size(); ++value) {
      if (uses_.producer(value) == kNobody || uses_.readers(value).empty()) continue;
      bytes[uses_.producer(value) + 1] += iteration_.values[value].bytes;
      bytes[uses_.last_reader(value) + 1] -= iteration_.values[value].bytes;
    }
    std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
    return bytes;
  }

  std::vector<OpIndex> borders_in(const Repetition& repetition) const {
    const std::vector<std::int64_t> crossing = crossing_bytes();
    // Not in the first repeat, which may lack what only a step leaves behind; nor in the last, behind which
    // nothing is needed.
    const std::size_t begin = repetition.begin + (repetition.repeats() > 2 ? repetition.period : 0);
    std::size_t first = begin;
    for (std::size_t at = begin; at < begin + repetition.period; ++at)
      if (crossing[border_at(at)] < crossing[border_at(first)]) first = at;
    first -= begin - repetition.begin;
    if (begins_alike(first, repetition.period)) first -= repetition.period;
    std::vector<OpIndex> borders;
    for (std::size_t at = first; at <= repetition.end; at += repetition.period)
      borders.push_back(border_at(at));
    return borders;
  }

  // What comes from elsewhere belongs to what follows.
  OpIndex border_at(std::size_t place) const { return place == 0 ? 0 : sequence_.ops[place - 1] + 1; }

  // A first step that is not quite like the others: in most of its ops it is.
  bool begins_alike(std::size_t end, std::size_t period) const {
    if (end < period) return false;
    std::size_t alike = 0;
    for (std::size_t i = end - period; i < end; ++i) alike += sequence_.keys[i] == sequence_.keys[i + period];
    return 2 * alike > period;
  }

  bool are_steps(const std::vector<OpIndex>& borders) const {
    const auto step_of = [&](OpIndex op) {
      return std::upper_bound(borders.begin(), borders.end(), op) - borders.begin();  // 0: before the first
    };
    for (ValueIndex value = 0; value < iteration_.values.size(); ++value) {
      const auto readers = uses_.readers(value);
      if (readers.empty() || uses_.producer(value) == kNobody) continue;
      const auto written = step_of(uses_.producer(value)), last = step_of(readers.back());
      if (written > 0 && last > written + 1) return false;
      if (written == 0 && last > 1 && !uses_.read_in(value, borders[0], borders[1])) return false;
    }
    return true;
  }

  OpIndex turn_of(OpIndex begin, OpIndex end) {
    const std::vector<std::int64_t> depth = depths_in(iteration_, uses_, begin, end);
    std::vector<std::int64_t> kept(end - begin + 1);
    for (OpIndex op = begin; op < end; ++op) {
      for (const ValueIndex value : iteration_.ops[op].writes) {
        const auto readers = uses_.readers(value);
        const auto after = std::lower_bound(readers.begin(), readers.end(), end);
        if (after == readers.begin()) continue;
        const OpIndex reader = *(after - 1);
        if (depth[reader - begin] <= depth[op - begin] + 1) continue;
        const std::int64_t weight = iteration_.values[value].bytes;
        kept[op + 1 - begin] += weight;
        kept[reader + 1 - begin] -= weight;
      }
    }
    std::partial_sum(kept.begin(), kept.end(), kept.begin());
    const auto most = std::max_element(kept.rbegin(), kept.rend());
    return *most == 0 ? end : begin + static_cast<OpIndex>(kept.rend() - most - 1);
  }

  const Iteration& iteration_;
  const Sequence sequence_;
  const Uses& uses_;
};

}  // namespace

std::vector<std::int64_t> depths_in(const Iteration& iteration, const Uses& uses, OpIndex begin,
                                    OpIndex end) {
  std::vector<std::int64_t> depth(end - begin);
  for (OpIndex op = begin; op < end; ++op)
    for (const ValueIndex value : iteration.ops[op].reads)
      if (const OpIndex producer = uses.producer(value); producer != kNobody && producer >= begin)
        depth[op - begin] = std::max(depth[op - begin], depth[producer - begin] + 1);
  return depth;
}

Sequence sequence_of(const Iteration& iteration, std::span<const std::uint32_t> names) {
  Sequence sequence;
  const auto count = static_cast<OpIndex>(iteration.ops.size());
  for (OpIndex index = 0; index < count; ++index) {
    const Op& op = iteration.ops[index];
    if (!op.replayable && op.reads.empty()) continue;
    sequence.keys.push_back(std::uint64_t{names[index]} << 32 | (op.reads.size() & 0xffff) << 16 |
                            (op.writes.size() & 0xffff));
    sequence.ops.push_back(index);
  }
  sequence.ops.push_back(count);
  return sequence;
}

std::vector<Step> steps_of(const Iteration& iteration, std::span<const std::uint32_t> names,
                           const Uses& uses) {
  return Finder(iteration, sequence_of(iteration, names), uses).run();
}

}  // namespace refrain::planner
