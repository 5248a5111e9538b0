// Depth-first walk over lineage, on an explicit stack. Must not change the lineage that it reads.
#include "engine/plan.hpp"

namespace refrain::engine {
namespace {

class Planner {
 public:
  explicit Planner(const Lineage& lineage) : lineage_(lineage) {}

  Plan run(std::span<const ValueId> targets) {
    for (const ValueId target : targets) plan_.instances[kept(target)].target = true;
    for (const ValueId target : targets) {
      const std::int32_t instance = kept(target);
      if (!produced_[instance]) make(instance);
      while (!frames_.empty()) advance();
    }
    return std::move(plan_);
  }

 private:
  struct Frame {
    std::int32_t instance;
    Step step;
    std::size_t next_use = 0;
  };

  std::int32_t add(ValueId value, InstanceKind kind, Bytes bytes) {
    plan_.instances.push_back({.value = value, .kind = kind, .bytes = bytes});
    produced_.push_back(false);
    return static_cast<std::int32_t>(plan_.instances.size()) - 1;
  }

  // The shared instance of a value: made once, whoever asks.
  std::int32_t kept(ValueId value) {
    const auto it = shared_.find(value);
    if (it != shared_.end()) {
      plan_.instances[it->second].kind = InstanceKind::kKept;
      return it->second;
    }
    const std::int32_t instance = add(value, InstanceKind::kKept, lineage_.value(value).bytes);
    shared_.emplace(value, instance);
    return instance;
  }

  // Copied in at once, or by a frame on the stack.
  void make(std::int32_t instance) {
    const Value& v = lineage_.value(plan_.instances[instance].value);
    if (!v.host || (v.on_probation && plan_.instances[instance].target)) return push(instance);
    plan_.steps.push_back({.op = {}, .uses = {{.instance = instance, .resident = {}}}});
    produced_[instance] = true;
  }

  void push(std::int32_t instance) {
    Frame frame;
    frame.instance = instance;
    frame.step.op = lineage_.value(plan_.instances[instance].value).producer;
    frames_.push_back(std::move(frame));
  }

  // One use of the op on top of the stack, or the op itself once all of its inputs are there.
  void advance() {
    const std::size_t top = frames_.size() - 1;
    const Op& op = lineage_.op(frames_[top].step.op);
    if (frames_[top].next_use == op.uses.size()) {
      for (std::size_t i = 0; i < op.uses.size(); ++i) {
        const StepUse& use = frames_[top].step.uses[i];
        if (op.uses[i].written) produced_[use.instance] = true;
      }
      plan_.steps.push_back(std::move(frames_[top].step));
      frames_.pop_back();
      return;
    }
    const OpUse& use = op.uses[frames_[top].next_use++];
    // Children are pushed after the use is noted: the reference to the frame does not survive a push.
    frames_[top].step.uses.push_back({});
    const std::size_t slot = frames_[top].step.uses.size() - 1;
    if (use.written) {
      plan_write(top, slot, use);
    } else {
      plan_read(top, slot, use);
    }
  }

  void plan_read(std::size_t frame, std::size_t slot, const OpUse& use) {
    StepUse& step_use = frames_[frame].step.uses[slot];
    if (!use.input) {  // it read what was never written: any bytes will do
      step_use.instance = add({}, InstanceKind::kDiscard, use.bytes);
    } else if (lineage_.value(use.input).resident()) {
      step_use.resident = use.input;
      plan_.boundary.push_back(use.input);
    } else {
      const std::int32_t instance = kept(use.input);
      ++plan_.instances[instance].reads;
      step_use.instance = instance;
      if (!produced_[instance]) make(instance);
    }
  }

  void plan_write(std::size_t frame, std::size_t slot, const OpUse& use) {
    const std::int32_t made = frames_[frame].instance;
    std::int32_t instance = -1;
    if (use.output && use.output == plan_.instances[made].value) {
      instance = made;
    } else if (use.output) {
      const auto it = shared_.find(use.output);
      if (it != shared_.end() && !produced_[it->second]) {
        instance = it->second;  // asked for as well: one replay serves both
      } else {
        instance = add(use.output, InstanceKind::kDiscard, use.bytes);
        // Whoever needs it later in this plan may have it from here; but a copy on the host is beyond doubt,
        // and what is computed is not.
        const Value& output = lineage_.value(use.output);
        if (it == shared_.end() && !output.resident() && !output.host) shared_.emplace(use.output, instance);
      }
    } else {
      instance = add({}, InstanceKind::kDiscard, use.bytes);
    }
    frames_[frame].step.uses[slot].instance = instance;
    if (!use.input) return;
    const Value& old = lineage_.value(use.input);
    if (old.resident() || old.host) {
      frames_[frame].step.uses[slot].resident = use.input;
      plan_.boundary.push_back(use.input);
    } else {
      const std::int32_t base = add(use.input, InstanceKind::kPrivate, use.bytes);
      plan_.instances[base].overwritten_by = instance;
      push(base);
    }
  }

  const Lineage& lineage_;
  Plan plan_;
  std::vector<bool> produced_;
  std::unordered_map<ValueId, std::int32_t> shared_;
  std::vector<Frame> frames_;
};

}  // namespace

Plan plan_rematerialisation(const Lineage& lineage, std::span<const ValueId> targets) {
  return Planner(lineage).run(targets);
}

}  // namespace refrain::engine
