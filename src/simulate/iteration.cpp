// See iteration.hpp.
#include "simulate/iteration.hpp"

#include <cmath>

namespace refrain::simulate {
namespace {

constexpr std::uint32_t kNone = 0xffffffffu;

// A workspace is a value that nobody reads: it takes memory while the op runs.
bool starts_from_old(const TraceUse& use) {
  return !use.undefined && !(use.written && use.whole);
}

class Versions {
 public:
  Versions(const Trace& trace, std::vector<std::uint32_t>* names, std::vector<std::uint32_t>* buffers)
      : trace_(trace), names_(names), buffers_(buffers), latest_(trace.buffers.size(), kNone) {}

  planner::Iteration run() {
    for (const TraceStep& step : trace_.steps) {
      if (step.kind == TraceStep::Kind::kOp)
        add(trace_.ops[step.index]);
      else if (step.kind == TraceStep::Kind::kFree && latest_[step.index] != kNone)
        let_go(step.index);
    }
    const auto end = static_cast<planner::OpIndex>(out_.ops.size());
    for (std::uint32_t buffer = 0; buffer < latest_.size(); ++buffer) {
      if (latest_[buffer] == kNone) continue;
      planner::Value& value = out_.values[latest_[buffer]];
      value.freed_after = end;
      value.wanted |= trace_.buffers[buffer].wanted;
    }
    return std::move(out_);
  }

 private:
  void add(const TraceOp& op) {
    bool reads = false;
    for (const TraceUse& use : trace_.uses(op)) reads |= starts_from_old(use);
    const bool given = !op.replayable && !reads;
    if (given && out_.ops.empty()) {
      for (const TraceUse& use : trace_.uses(op)) latest_[use.buffer] = new_value(use.buffer, true);
      return;
    }
    planner::Op out;
    out.replayable = op.replayable;
    out.cost_ns = out.recompute_ns = std::llround(op.cost_ns);
    for (const TraceUse& use : trace_.uses(op)) {
      if (!starts_from_old(use)) continue;
      if (latest_[use.buffer] == kNone) latest_[use.buffer] = new_value(use.buffer, true);
      out.reads.push_back(latest_[use.buffer]);
    }
    const auto index = static_cast<planner::OpIndex>(out_.ops.size());
    for (const TraceUse& use : trace_.uses(op)) {
      if (!use.written && !use.undefined) continue;
      if (latest_[use.buffer] != kNone) out_.values[latest_[use.buffer]].freed_after = index;
      out.writes.push_back(latest_[use.buffer] = new_value(use.buffer, false));
      out_.values.back().wanted = given && trace_.constants_stay;
    }
    out_.ops.push_back(std::move(out));
    if (names_) names_->push_back(op.name);
  }

  planner::ValueIndex new_value(std::uint32_t buffer, bool constant) {
    out_.values.push_back(
        {.bytes = static_cast<std::int64_t>(trace_.buffers[buffer].bytes), .constant = constant});
    if (buffers_) buffers_->push_back(buffer);
    return static_cast<planner::ValueIndex>(out_.values.size() - 1);
  }

  void let_go(std::uint32_t buffer) {
    out_.values[latest_[buffer]].freed_after =
        out_.ops.empty() ? 0 : static_cast<planner::OpIndex>(out_.ops.size() - 1);
    latest_[buffer] = kNone;
  }

  const Trace& trace_;
  std::vector<std::uint32_t>*names_, *buffers_;
  planner::Iteration out_;
  std::vector<planner::ValueIndex> latest_;  // by buffer
};

}  // namespace

planner::Iteration iteration_of(const Trace& trace, std::vector<std::uint32_t>* names,
                                std::vector<std::uint32_t>* buffers) {
  if (names) names->clear();
  if (buffers) buffers->clear();
  return Versions(trace, names, buffers).run();
}

}  // namespace refrain::simulate
