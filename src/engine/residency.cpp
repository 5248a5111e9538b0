// Where values are: placing, evicting, dropping them, and carrying out plans. The other half of class Engine;
// must not look at what the program asks for, only at what must be resident.
#include <algorithm>
#include <limits>
#include <utility>

#include "engine/engine.hpp"

namespace refrain::engine {

bool Engine::evictable(const Value& v) const {
  if (!v.resident() || v.leaf() || v.locks != 0) return false;
  const Buffer& b = memory_.buffer(v.location);
  return !b.adopted && !b.pinned && b.holds == 0;
}

void Engine::place(ValueId id, BufferId buffer) {
  Value& v = lineage_.value(id);
  v.location = buffer;
  v.resident_position = static_cast<std::uint32_t>(residents_.size());
  residents_.push_back(id);
  memory_.buffer(buffer).held = id;
}

BufferId Engine::displace(ValueId id) {
  Value& v = lineage_.value(id);
  const BufferId buffer = v.location;
  v.location = {};
  memory_.buffer(buffer).held = {};
  residents_[v.resident_position] = residents_.back();
  lineage_.value(residents_.back()).resident_position = v.resident_position;
  residents_.pop_back();
  return buffer;
}

void Engine::lock(ValueId value) {
  ++lineage_.value(value).locks;
  locked_.push_back(value);
}

void Engine::unlock(ValueId value) {
  const auto it = std::find(locked_.rbegin(), locked_.rend(), value);
  --lineage_.value(value).locks;
  *it = locked_.back();
  locked_.pop_back();
}

void Engine::unlock_all() {
  for (const ValueId value : locked_) --lineage_.value(value).locks;
  locked_.clear();
}

void Engine::on_value_dead(ValueId id) {
  Value& v = lineage_.value(id);
  if (v.locks != 0) std::erase(locked_, id);  // its slot may soon be another value's
  v.locks = 0;
  if (!v.resident()) return;
  const BufferId buffer = displace(id);
  // A buffer of the program's has already got its next version, or is about to; any other is free now.
  if (!memory_.buffer(buffer).program) memory_.give_back(buffer);
}

void Engine::on_op_dead(Payload payload) {
  device_.release_payload(payload);
}

bool Engine::obtain(BufferId buffer) {
  while (!memory_.back(buffer)) {
    if (!make_room(memory_.buffer(buffer).bytes)) return false;
  }
  return true;
}

BufferId Engine::scratch(Bytes bytes) {
  const Bytes unit = settings_.granularity_bytes;
  const BufferId buffer = memory_.acquire((bytes + unit - 1) / unit * unit);
  if (!buffer) return {};
  if (obtain(buffer)) return buffer;
  memory_.give_back(buffer);
  return {};
}

// Gives up one thing: the cheapest value, or a leaf that only others' lineage needs.
bool Engine::make_room(Bytes need_bytes) {
  if (!memory_.fits_cap(need_bytes)) return false;
  ValueId victim;
  Eviction why{};
  why.need_bytes = need_bytes;
  why.free_bytes = memory_.cap_bytes() - std::min(memory_.cap_bytes(), memory_.used_bytes());
  why.score = std::numeric_limits<double>::infinity();
  why.runner_up_score = why.score;
  for (const ValueId id : residents_) {
    if (!evictable(lineage_.value(id))) continue;
    const double score = policy_.score(id, now_ns_);
    ++why.candidates;
    if (score < why.score || !victim) {
      why.runner_up_score = why.score;
      why.score = score;
      victim = id;
    } else {
      why.runner_up_score = std::min(why.runner_up_score, score);
    }
  }
  if (!victim) return forget_dead_leaf();
  if (why.candidates == 1) why.runner_up_score = why.score;
  return evict(victim, why);
}

bool Engine::evict(ValueId id, const Eviction& why) {
  const Value& v = lineage_.value(id);
  Eviction eviction = why;
  eviction.buffer = v.home;
  eviction.bytes = memory_.buffer(v.location).bytes;
  eviction.idle_ns = now_ns_ - v.last_access_ns;
  const bool current = v.current;
  if (!memory_.unback(v.location)) return false;
  const BufferId buffer = displace(id);
  if (!current) {
    memory_.give_back(buffer);  // scratch of the plan that is being carried out: not the program's to know
    return true;
  }
  ++statistics_.evictions;
  statistics_.evicted_bytes += eviction.bytes;
  observer_.on_evict(eviction);
  return true;
}

// Frees a leaf that the program can no longer read, where all who need it are resident: they become leaves
// instead.
bool Engine::forget_dead_leaf() {
  for (const ValueId id : residents_) {
    const Value& v = lineage_.value(id);
    if (v.current || !v.leaf() || v.locks != 0 || memory_.buffer(v.location).adopted) continue;
    const Dependents dependents = dependents_of(id);
    if (!dependents.materialise.empty()) continue;
    // What becomes a leaf here may have been queued only: it must really be there.
    if (!flush()) return false;
    for (const ValueId dependent : dependents.sever) {
      if (lineage_.value(dependent).alive) lineage_.sever(dependent);
    }
    return !lineage_.value(id).alive;
  }
  return false;
}

// Values that were computed again only on the way to others, and are of no use to the program.
void Engine::drop_dead() {
  if (!plan_ran_) return;
  plan_ran_ = false;
  for (std::size_t i = residents_.size(); i-- > 0;) {
    const ValueId id = residents_[i];
    const Value& v = lineage_.value(id);
    if (v.current || v.leaf() || v.locks != 0) continue;
    memory_.give_back(displace(id));
  }
}

Status Engine::make_resident(std::span<const ValueId> values) {
  if (values.empty()) return Status::kOk;
  Plan plan = plan_rematerialisation(lineage_, values);
  return run_plan(plan);
}

bool Engine::flush() {
  if (device_.flush()) return true;
  flush_failed_ = true;
  return false;
}

Status Engine::run_plan(Plan& plan) {
  flush_failed_ = false;
  // Everything that a later step reads stays; each release of a lock below stands for one of these.
  for (const ValueId value : plan.boundary) lock(value);
  plan_ran_ = true;
  instance_storage_.assign(plan.instances.size(), {});
  restored_.clear();
  std::vector<BufferId> bindings;
  double cost_ns = 0;
  Status status = Status::kOk;
  for (const Step& step : plan.steps) {
    if (!bind_step(plan, step, bindings)) {
      status = Status::kOutOfMemory;
      break;
    }
    const Op& op = lineage_.op(step.op);
    device_.replay(op.payload, bindings);
    cost_ns += lineage_.cost_ns(op);
    now_ns_ += lineage_.cost_ns(op);
    ++statistics_.replayed_ops;
    ++unreported_ops_;
    finish_step(plan, step);
  }
  if (status == Status::kOutOfMemory) drop_unfinished();
  if (!flush() || flush_failed_) {
    flush_failed_ = false;
    for (const ValueId value : restored_) {
      if (lineage_.value(value).alive && lineage_.value(value).resident()) {
        // Whatever is in there is not the value; if the pages cannot be taken out now, they stay as idle
        // ones.
        const BufferId buffer = displace(value);
        memory_.make_idle(buffer);
        if (!lineage_.value(value).current) memory_.give_back(buffer);
      }
    }
    return Status::kDeviceError;
  }
  statistics_.replayed_cost_ns += cost_ns;
  unreported_cost_ns_ += cost_ns;
  for (const ValueId value : restored_) {
    const Value& v = lineage_.value(value);
    if (!v.alive || !v.current) continue;
    ++statistics_.rematerialisations;
    observer_.on_rematerialise({.buffer = v.home,
                                .bytes = v.bytes,
                                .ops = std::exchange(unreported_ops_, 0),
                                .cost_ns = std::exchange(unreported_cost_ns_, 0)});
  }
  if (status != Status::kOutOfMemory) return status;
  Bytes asked_bytes = 0;
  for (const Instance& instance : plan.instances) asked_bytes = std::max(asked_bytes, instance.bytes);
  return fail_out_of_memory(asked_bytes);
}

// The buffer in which an instance is made. Kept ones of the program's values go home; all else is scratch.
BufferId Engine::storage_for(Plan& plan, std::int32_t instance) {
  if (plan.instances[instance].kind == InstanceKind::kKept) {
    const Value& v = lineage_.value(plan.instances[instance].value);
    if (v.resident()) return v.location;  // made by an earlier step
  }
  // A private instance lives where the version that overwrites it will be.
  std::int32_t root = instance;
  while (plan.instances[root].overwritten_by >= 0) root = plan.instances[root].overwritten_by;
  BufferId& storage = instance_storage_[root];
  if (!storage) {
    const Instance& i = plan.instances[root];
    if (i.kind == InstanceKind::kKept && lineage_.value(i.value).current) {
      const BufferId home = lineage_.value(i.value).home;
      if (obtain(home)) storage = home;
    } else {
      storage = scratch(i.bytes);
    }
  }
  return storage;
}

bool Engine::bind_step(Plan& plan, const Step& step, std::vector<BufferId>& bindings) {
  const Op& op = lineage_.op(step.op);
  bindings.clear();
  for (std::size_t i = 0; i < step.uses.size(); ++i) {
    const StepUse& use = step.uses[i];
    if (use.instance < 0) {
      bindings.push_back(lineage_.value(use.resident).location);
      continue;
    }
    const BufferId storage = storage_for(plan, use.instance);
    if (!storage) return false;
    if (op.uses[i].written && use.resident) {
      device_.copy(lineage_.value(use.resident).location, storage, plan.instances[use.instance].bytes);
    }
    bindings.push_back(storage);
  }
  return true;
}

void Engine::finish_step(Plan& plan, const Step& step) {
  const Op& op = lineage_.op(step.op);
  for (std::size_t i = 0; i < step.uses.size(); ++i) {
    const std::int32_t index = step.uses[i].instance;
    if (index < 0) continue;
    Instance& instance = plan.instances[index];
    if (op.uses[i].written) {
      if (instance.kind == InstanceKind::kPrivate) continue;  // its storage goes on to the version after it
      const BufferId storage = std::exchange(instance_storage_[index], BufferId{});
      if (instance.kind == InstanceKind::kDiscard) {
        memory_.give_back(storage);
        continue;
      }
      place(instance.value, storage);
      lineage_.value(instance.value).last_access_ns = now_ns_;
      restored_.push_back(instance.value);
      if (instance.target || instance.reads > 0) lock(instance.value);
    } else if (instance.kind == InstanceKind::kDiscard) {
      memory_.give_back(std::exchange(instance_storage_[index], BufferId{}));
    } else if (--instance.reads == 0 && !instance.target) {
      // Past its last reader: the program's values may be evicted again, others are dropped at once.
      unlock(instance.value);
      const Value& v = lineage_.value(instance.value);
      if (!v.current && !v.leaf()) memory_.give_back(displace(instance.value));
    }
  }
}

// Storage of instances that were begun and never finished: a finished one has handed its storage on.
void Engine::drop_unfinished() {
  for (BufferId& storage : instance_storage_) {
    if (!storage) continue;
    if (memory_.buffer(storage).program) {
      memory_.make_idle(storage);
    } else {
      memory_.give_back(storage);
    }
    storage = {};
  }
}

Engine::Dependents Engine::dependents_of(ValueId value) {
  Dependents dependents;
  const std::uint64_t stamp = lineage_.new_stamp();
  std::vector<ValueId> lost{value};
  while (!lost.empty()) {
    const ValueId id = lost.back();
    lost.pop_back();
    for (const OpId consumer : lineage_.value(id).consumers) {
      Op& op = lineage_.op(consumer);
      if (op.visited == stamp) continue;
      op.visited = stamp;
      for (const OpUse& use : op.uses) {
        if (!use.output) continue;
        const Value& output = lineage_.value(use.output);
        if (output.resident()) {
          dependents.sever.push_back(use.output);
        } else if (output.current) {
          dependents.materialise.push_back(use.output);
        } else {
          lost.push_back(use.output);
        }
      }
    }
  }
  return dependents;
}

Bytes Engine::bytes_of(std::span<const ValueId> values) const {
  Bytes bytes = 0;
  for (const ValueId id : values) bytes += lineage_.value(id).bytes;
  return bytes;
}

// Whether all leaves that others need, kept aside when they are overwritten, would hold less memory than all
// that can be evicted today and would be leaves too, for as long as the program keeps it, if they were not.
bool Engine::asides_are_smaller() const {
  Bytes leaves = 0;
  Bytes needed_leaves = 0;
  for (const ValueId id : residents_) {
    const Value& v = lineage_.value(id);
    if (!v.current || !v.leaf()) continue;
    leaves += v.bytes;
    if (!v.consumers.empty()) needed_leaves += v.bytes;
  }
  return needed_leaves + leaves < wanted_bytes_;
}

// The bytes of a leaf are about to be overwritten. Those that would need them are brought back and made
// leaves; or, where that costs more memory than the leaf itself, the leaf is copied aside. Where nothing has
// ever been evicted, leaves cost nothing.
Status Engine::save_dependents(ValueId value) {
  Dependents dependents = dependents_of(value);
  Bytes held_bytes = bytes_of(dependents.materialise);
  if (statistics_.evictions > 0 && asides_are_smaller()) held_bytes += bytes_of(dependents.sever);
  const bool aside_first = lineage_.value(value).bytes < held_bytes;
  if (aside_first) {
    if (keep_aside(value)) return Status::kOk;
    dependents = dependents_of(value);  // the attempt may have evicted some of them
  }
  if (!dependents.materialise.empty()) {
    // Those that are resident must not be evicted to make room for the others: both become leaves together.
    const std::size_t locks_before = locked_.size();
    for (const ValueId id : dependents.sever) lock(id);
    const Status status = make_resident(dependents.materialise);
    if (status != Status::kOk) {
      while (locked_.size() > locks_before) unlock(locked_.back());
      return status == Status::kOutOfMemory && !aside_first && keep_aside(value) ? Status::kOk : status;
    }
  }
  for (const std::vector<ValueId>* values : {&dependents.sever, &dependents.materialise}) {
    for (const ValueId id : *values) {
      if (lineage_.value(id).alive) lineage_.sever(id);
    }
  }
  return Status::kOk;
}

bool Engine::keep_aside(ValueId value) {
  const BufferId aside = scratch(lineage_.value(value).bytes);
  if (!aside) return false;
  device_.copy(lineage_.value(value).location, aside, lineage_.value(value).bytes);
  if (!flush()) {
    memory_.give_back(aside);
    return false;
  }
  displace(value);
  place(value, aside);
  aside_.push_back(value);
  return true;
}

const char* Engine::check_invariants() const {
  if (const char* wrong = lineage_.check_invariants()) return wrong;
  if (const char* wrong = memory_.check_invariants()) return wrong;
  for (std::size_t i = 0; i < residents_.size(); ++i) {
    const Value& v = lineage_.value(residents_[i]);
    if (!v.alive || !v.resident() || v.resident_position != i) return "the list of resident values is wrong";
    if (memory_.buffer(v.location).held != residents_[i]) return "a value's location does not hold it";
    if (!memory_.buffer(v.location).mapped()) return "a resident value has no memory";
  }
  for (std::uint32_t i = 0; i < memory_.buffer_slots(); ++i) {
    const Buffer& b = memory_.buffer({i});
    if (b.current && !lineage_.value(b.current).current) return "a buffer's value is not current";
    if (!b.current || b.held == b.current || !lineage_.value(b.current).resident()) continue;
    if (std::find(aside_.begin(), aside_.end(), b.current) == aside_.end())
      return "a current value is not at home";
  }
  return nullptr;
}

}  // namespace refrain::engine
