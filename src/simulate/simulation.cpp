// Feeding a trace to the engine, op by op. Must not help the engine: it sees what a program would show it.
#include "simulate/simulation.hpp"

#include <map>
#include <memory>
#include <utility>

#include "engine/engine.hpp"
#include "guide/guide.hpp"

namespace refrain::simulate {
namespace {

using engine::BufferId;
using engine::Status;

// Takes the time of choices; everything else is in the engine's statistics.
class DecisionClock final : public engine::Observer {
 public:
  DecisionTimes times;
  void on_choice(bool begins) override { begins ? times.begin() : times.end(); }
  void on_evict(const engine::Eviction&) override {}
  void on_rematerialise(const engine::Rematerialisation&) override {}
  void on_out_of_memory(const engine::OutOfMemory&) override {}
  void on_save(const engine::Saved&) override {}
  void on_mismatch(const engine::Mismatch&) override {}
  void on_thrash(const engine::Thrashing&) override {}
};

class Simulation {
 public:
  Simulation(const Trace& trace, const SimulationSettings& settings)
      : trace_(trace),
        settings_(settings),
        device_(trace, settings.times),
        guide_(settings.planning
                   ? std::make_unique<guide::Guide>(clock_, *settings.planning, settings.times.mapping)
                   : nullptr),
        director_(settings.directions ? std::make_unique<Director>(*settings.directions, trace.ops.size())
                                      : nullptr),
        engine_(device_, guide_ ? static_cast<engine::Observer&>(*guide_) : clock_, settings.engine),
        buffers_(trace.buffers.size()) {
    engine_.set_transfer_cost(settings.times.host_copy);
    // Ops of one name that take equally long are of one class, where the log does not say of which: that is
    // how what repeats is known again.
    std::map<std::pair<std::uint32_t, double>, std::uint32_t> classes;
    for (const TraceOp& op : trace.ops) {
      const auto next = static_cast<std::uint32_t>(classes.size());
      const bool costs_change = !trace.costs.empty();
      const std::uint32_t cost_class =
          costs_change ? op.cost_class : classes.try_emplace({op.name, op.cost_ns}, next).first->second;
      engine_.set_cost_ns(cost_class, costs_change ? 0 : op.cost_ns);
      engine_.describe_class(cost_class, op.name);
      class_of_.push_back(cost_class);
      result_.base_ns += op.cost_ns;
    }
  }

  Result run() {
    for (const TraceStep& step : trace_.steps)
      if (!carry_out(step)) break;
    if (result_.outcome == Outcome::kOk) bring_what_is_wanted();
    const engine::Statistics& s = engine_.statistics();
    result_.total_ns = device_.op_ns();
    result_.device_ns = device_.now_ns();
    result_.peak_bytes = engine_.memory().peak_held_bytes();
    result_.evictions = s.evictions;
    result_.rematerialisations = s.rematerialisations;
    result_.decisions = clock_.times;
    if (director_) result_.account = Result::Account::kDirectedRun;
    if (guide_) {
      const guide::Guided& guided = guide_->totals();
      result_.account = Result::Account::kGuidedRun;
      result_.plans = guided.plans;
      result_.given_up = guided.given_up;
      result_.ops = guided.ops;
      result_.planned_ops = guided.planned_ops;
      result_.left = guided.left;
    }
    return result_;
  }

 private:
  bool carry_out(const TraceStep& step) {
    switch (step.kind) {
      case TraceStep::Kind::kOp: return run_op(step.index);
      case TraceStep::Kind::kAllocate: return allocate(step.index);
      case TraceStep::Kind::kCost:
        engine_.set_cost_ns(trace_.costs[step.index].cost_class, trace_.costs[step.index].ns);
        return true;
      case TraceStep::Kind::kFree:
        if (buffers_[step.index]) engine_.free(buffers_[step.index]);
        buffers_[step.index] = {};
        return true;
    }
    return false;
  }

  bool allocate(std::uint32_t index) {
    const auto [bytes, wanted, shared_bytes] = trace_.buffers[index];
    if (bytes == 0)
      buffers_[index] = engine_.adopt(shared_bytes);
    else if (shared_bytes > 0)
      buffers_[index] = engine_.place(bytes, bytes + shared_bytes);
    else
      buffers_[index] = engine_.allocate(whole_pages(bytes));
    return buffers_[index] || fail(Outcome::kOutOfMemory);
  }

  bool run_op(std::uint32_t index) {
    const TraceOp& op = trace_.ops[index];
    uses_.clear();
    for (const TraceUse& use : trace_.uses(op)) {
      if (!buffers_[use.buffer] && !allocate(use.buffer)) return false;
      uses_.push_back({.buffer = buffers_[use.buffer],
                       .read = use.read,
                       .written = use.written,
                       .whole = use.whole,
                       .undefined = use.undefined});
    }
    if (guide_) guide_->before(engine_, uses_, op.replayable, class_of_[index]);
    if (director_) director_->before(index, engine_, buffers_);
    if (engine_.prepare(uses_) != Status::kOk) return fail(Outcome::kOutOfMemory);
    device_.run(index);
    engine_.commit(uses_, op.replayable, class_of_[index], index);
    if (director_) director_->after(index, engine_, buffers_);
    return !thrashed() || fail(Outcome::kThrashed);
  }

  std::uint64_t whole_pages(std::uint64_t bytes) const {
    const std::uint64_t unit = settings_.engine.granularity_bytes;
    return (bytes + unit - 1) / unit * unit;
  }

  // One after the other, each held from then on: all of them are there at once in the end.
  void bring_what_is_wanted() {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (!trace_.buffers[i].wanted || !buffers_[i]) continue;
      const engine::BufferUse use{.buffer = buffers_[i], .read = true};
      if (engine_.prepare({&use, 1}) != Status::kOk) return void(fail(Outcome::kOutOfMemory));
      engine_.abandon();
      engine_.hold(buffers_[i]);
      if (thrashed()) return void(fail(Outcome::kThrashed));
    }
  }

  bool thrashed() const {
    return device_.replayed_ns() > (settings_.most_total_over_base - 1) * result_.base_ns;
  }
  bool fail(Outcome outcome) {
    result_.outcome = outcome;
    return false;
  }

  const Trace& trace_;
  const SimulationSettings& settings_;
  DecisionClock clock_;
  VirtualDevice device_;
  std::unique_ptr<guide::Guide> guide_;
  std::unique_ptr<Director> director_;
  engine::Engine engine_;
  std::vector<std::uint32_t> class_of_;  // by op of the trace
  std::vector<BufferId> buffers_;        // by buffer of the trace; none: not there (yet, or any longer)
  std::vector<engine::BufferUse> uses_;
  Result result_;
};

}  // namespace

Result simulate(const Trace& trace, const SimulationSettings& settings) {
  return Simulation(trace, settings).run();
}

}  // namespace refrain::simulate
