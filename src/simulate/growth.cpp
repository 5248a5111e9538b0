// See growth.hpp.
#include "simulate/growth.hpp"

#include <algorithm>
#include <cmath>

#include "planner/steps.hpp"
#include "simulate/iteration.hpp"

namespace refrain::simulate {
namespace {

class Growth {
 public:
  explicit Growth(const Trace& trace)
      : iteration_(iteration_of(trace, &names_, &buffer_of_)),
        uses_(iteration_),
        steps_(planner::steps_of(iteration_, names_, uses_)),
        grows_(trace.buffers.size(), true) {}

  std::vector<bool> run() {
    for (planner::ValueIndex value = 0; value < iteration_.values.size(); ++value)
      if (stays(value)) grows_[buffer_of_[value]] = false;
    while (spread()) {
    }
    return std::move(grows_);
  }

 private:
  std::size_t step_of(planner::OpIndex op) const {
    const auto after =
        std::upper_bound(steps_.begin(), steps_.end(), op,
                         [](planner::OpIndex at, const planner::Step& step) { return at < step.begin; });
    return static_cast<std::size_t>(after - steps_.begin()) - 1;
  }

  bool stays(planner::ValueIndex value) const {
    const planner::Value& v = iteration_.values[value];
    if (v.constant || v.wanted) return true;
    const auto readers = uses_.readers(value);
    if (readers.empty()) return false;
    const planner::Op& maker = iteration_.ops[uses_.producer(value)];
    const bool from_host = !maker.replayable && maker.reads.empty();
    const std::size_t made = step_of(from_host ? readers.front() : uses_.producer(value));
    // A step in which nothing is kept for later is none: it is what comes before the first.
    const bool before = made == 0 && steps_.size() > 1 && steps_[0].turn == steps_[0].end;
    return before || step_of(readers.back()) > made;
  }

  // An update reads something that stays and writes it anew, or another of its size: what else it reads of
  // that size stays too. Whether anything was found.
  bool spread() {
    bool found = false;
    const auto bytes_of = [&](planner::ValueIndex value) { return iteration_.values[value].bytes; };
    for (const planner::Op& op : iteration_.ops)
      for (const planner::ValueIndex written : op.writes) {
        const bool updates = !grows_[buffer_of_[written]] &&
                             std::any_of(op.reads.begin(), op.reads.end(), [&](planner::ValueIndex read) {
                               return !grows_[buffer_of_[read]] && bytes_of(read) == bytes_of(written);
                             });
        if (!updates) continue;
        for (const planner::ValueIndex read : op.reads) {
          if (!grows_[buffer_of_[read]] || bytes_of(read) != bytes_of(written)) continue;
          grows_[buffer_of_[read]] = false;
          found = true;
        }
      }
    return found;
  }

  std::vector<std::uint32_t> names_, buffer_of_;  // by op, by value
  const planner::Iteration iteration_;
  const planner::Uses uses_;
  const std::vector<planner::Step> steps_;
  std::vector<bool> grows_;
};

}  // namespace

std::vector<bool> growing_buffers(const Trace& trace) {
  return Growth(trace).run();
}

Trace scaled(const Trace& trace, const std::vector<bool>& grows, double factor) {
  Trace out = trace;
  const auto pages_of = [&](std::uint64_t bytes) {
    const double pages = static_cast<double>(bytes) / static_cast<double>(trace.page_bytes) * factor;
    return static_cast<std::uint64_t>(std::ceil(pages - 1e-9)) * trace.page_bytes;
  };
  for (std::size_t i = 0; i < grows.size(); ++i)
    if (grows[i]) out.buffers[i].bytes = pages_of(out.buffers[i].bytes);
  std::vector<bool> class_grows;
  for (TraceOp& op : out.ops) {
    const auto uses = trace.uses(op);
    if (std::none_of(uses.begin(), uses.end(), [&](const TraceUse& use) { return grows[use.buffer]; }))
      continue;
    op.cost_ns *= factor;
    if (class_grows.size() <= op.cost_class) class_grows.resize(op.cost_class + 1);
    class_grows[op.cost_class] = true;
  }
  for (TraceCost& cost : out.costs)
    if (cost.cost_class < class_grows.size() && class_grows[cost.cost_class]) cost.ns *= factor;
  return out;
}

}  // namespace refrain::simulate
