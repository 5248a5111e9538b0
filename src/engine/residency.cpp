// Where values are: placing and locking them, bringing back what an op needs, and carrying out plans. Part of
// class Engine; must not look at what the program asks for, only at what must be resident.
#include <algorithm>
#include <functional>
#include <utility>

#include "engine/engine.hpp"

namespace refrain::engine {

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

void Engine::unlock_down_to(std::size_t count) {
  while (locked_.size() > count) {
    --lineage_.value(locked_.back()).locks;
    locked_.pop_back();
  }
}

void Engine::reserve(ValueId value) {
  ++lineage_.value(value).reserves;
  reserved_.push_back({value, plan_number_});
}

void Engine::unreserve(ValueId value) {
  const auto it = std::find_if(reserved_.rbegin(), reserved_.rend(),
                               [&](const Reserved& reserved) { return reserved.value == value; });
  if (it == reserved_.rend()) return;
  --lineage_.value(value).reserves;
  *it = reserved_.back();
  reserved_.pop_back();
}

void Engine::unreserve_plan(std::uint32_t plan) {
  std::erase_if(reserved_, [&](const Reserved& reserved) {
    if (reserved.plan != plan) return false;
    --lineage_.value(reserved.value).reserves;
    return true;
  });
}

void Engine::unlock_all() {
  unlock_down_to(0);
  for (const Reserved& reserved : reserved_) --lineage_.value(reserved.value).reserves;
  reserved_.clear();
  plan_number_ = 0;
}

void Engine::make_leaf(ValueId value) {
  lineage_.value(value).on_probation = false;
  lineage_.sever(value);
}

void Engine::on_value_dead(ValueId id) {
  Value& v = lineage_.value(id);
  // Its slot may soon be another value's.
  if (v.locks != 0) std::erase(locked_, id);
  std::erase(brought_, id);
  if (v.reserves != 0)
    std::erase_if(reserved_, [&](const Reserved& reserved) { return reserved.value == id; });
  v.locks = 0;
  v.reserves = 0;
  release_host(v);
  if (!v.resident()) return;
  const BufferId buffer = displace(id);
  // A buffer of the program's has already got its next version, or is about to; any other is free now.
  if (!memory_.buffer(buffer).program) memory_.give_back(buffer);
}

void Engine::on_op_dead(Payload payload) {
  device_.release_payload(payload);
}

Status Engine::prepare_locked(std::span<const BufferUse> uses) {
  if (failing_) return Status::kCorrupt;
  lost_.clear();
  prepared_.clear();
  for (const BufferUse& use : uses) {
    prepared_.push_back(use.buffer);
    const ValueId current = memory_.buffer(use.buffer).current;
    if (!current) continue;
    if (lineage_.value(current).resident()) {
      reserve(current);
    } else if (needs_contents(use)) {
      lost_.push_back(current);
    }
  }
  Status status = make_resident(lost_);
  if (status != Status::kOk) return status;
  // Saving the dependents of one leaf can make leaves of other values that this op overwrites, and can bring
  // values home that were to be overwritten unseen: until nothing changes any more.
  for (;;) {
    status = hold_operands(uses);
    if (status != Status::kOk) return status;
    const ValueId threatened = first_threatened(uses);
    if (!threatened) break;
    status = save_dependents(threatened);
    if (status != Status::kOk) return status;
  }
  bool filled = false;
  for (const BufferUse& use : uses) {
    // What nothing has written is zero here, so that it is the same whenever it is computed again.
    if (memory_.buffer(use.buffer).current || !needs_contents(use)) continue;
    device_.fill(use.buffer, memory_.buffer(use.buffer).extent_bytes);
    filled = true;
  }
  return !filled || flush() ? Status::kOk : Status::kDeviceError;
}

// Every operand in its place, and locked there. What had to make way for the others in the meantime has a
// copy on the host.
Status Engine::hold_operands(std::span<const BufferUse> uses) {
  flush_failed_ = false;
  for (const BufferUse& use : uses) {
    const ValueId current = memory_.buffer(use.buffer).current;
    if (current && !lineage_.value(current).resident() && needs_contents(use)) {
      if (!bring(current)) return out_of_memory(lineage_.value(current).bytes);
    }
    // A buffer that nobody has written yet has no value that a lock could hold; but nothing evicts it
    // either.
    if (!obtain(use.buffer)) return out_of_memory(memory_.buffer(use.buffer).bytes);
    if (current && lineage_.value(current).resident()) lock(current);
  }
  return settle_brought() ? Status::kOk : Status::kDeviceError;
}

// Copies a value in that is not resident but at hand.
bool Engine::bring(ValueId id) {
  const Value& v = lineage_.value(id);
  const bool home = v.current;
  const BufferId storage = home ? v.home : scratch(v.bytes);
  if (!storage || (home && !obtain(storage))) return false;
  device_.copy_in(v.host, storage, v.bytes);
  ++statistics_.restores;
  statistics_.restored_bytes += v.bytes;
  place(id, storage);
  lock(id);
  brought_.push_back(id);
  return true;
}

// false: what was copied in is not there, and only on the host as before.
bool Engine::settle_brought() {
  if (brought_.empty() || flush()) {
    brought_.clear();
    return true;
  }
  for (const ValueId id : brought_) {
    const Value& v = lineage_.value(id);
    if (!v.alive || !v.resident()) continue;
    const BufferId buffer = displace(id);
    memory_.make_idle(buffer);
    if (!v.current) memory_.give_back(buffer);
  }
  brought_.clear();
  return false;
}

// Values that were computed again only on the way to others, and are of no use to the program.
void Engine::drop_dead() {
  if (!plan_ran_) return;
  plan_ran_ = false;
  for (std::size_t i = residents_.size(); i-- > 0;) {
    const ValueId id = residents_[i];
    const Value& v = lineage_.value(id);
    if (v.current || v.leaf() || v.locks != 0 || v.reserves != 0) continue;
    memory_.give_back(displace(id));
  }
}

// Until nothing that came back turns out to be wrong: each time round, a kernel less is believed. What is on
// probation has a plan of its own.
Status Engine::make_resident(std::span<const ValueId> values) {
  std::vector<ValueId> missing(values.begin(), values.end());
  const auto on_probation = [&](ValueId id) { return lineage_.value(id).on_probation; };
  while (!missing.empty()) {
    const auto alone = std::partition(missing.begin(), missing.end(), std::not_fn(on_probation));
    const bool one = alone == missing.begin();
    Plan plan = plan_rematerialisation(lineage_, {missing.begin(), one ? alone + 1 : alone});
    const Status status = run_plan(plan);
    if (status != Status::kOk) return status;
    std::erase_if(missing, [&](ValueId id) { return lineage_.value(id).at_hand(); });
  }
  return Status::kOk;
}

// false: not all that was queued since work was last begun has happened.
bool Engine::flush() {
  if (!device_.flush()) flush_failed_ = true;
  return !flush_failed_;
}

Status Engine::run_plan(Plan& plan) {
  flush_failed_ = false;
  ++plan_number_;
  // What a later step reads may leave by way of the host only.
  for (const ValueId value : plan.boundary) reserve(value);
  plan_ran_ = true;
  instance_storage_.assign(plan.instances.size(), {});
  products_.clear();
  const double replayed_before_ns = statistics_.replayed_cost_ns;
  const Status carried_out = carry_out(plan);
  if (carried_out == Status::kOutOfMemory) {
    drop_unfinished();
    unreserve_plan(plan_number_);
  }
  if (!flush()) {
    settle_brought();
    flush_failed_ = false;
    abandon_products(0);
    return Status::kDeviceError;
  }
  brought_.clear();
  const Status verified = verify_products(plan);
  report_products(statistics_.replayed_cost_ns - replayed_before_ns);
  if (verified != Status::kOk || carried_out != Status::kOutOfMemory) return verified;
  Bytes asked_bytes = 0;
  for (const Instance& instance : plan.instances) asked_bytes = std::max(asked_bytes, instance.bytes);
  return out_of_memory(asked_bytes);
}

Status Engine::carry_out(Plan& plan) {
  std::vector<BufferId> bindings;
  for (std::uint32_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    const std::size_t locks_before = locked_.size();
    if (!bind_step(plan, step, bindings)) return Status::kOutOfMemory;
    if (step.op) {
      const Op& op = lineage_.op(step.op);
      device_.replay(op.payload, bindings);
      statistics_.replayed_cost_ns += lineage_.cost_ns(op);
      now_ns_ += lineage_.cost_ns(op);
      ++statistics_.replayed_ops;
      ++unreported_ops_;
    } else {
      const Value& v = lineage_.value(plan.instances[step.uses[0].instance].value);
      device_.copy_in(v.host, bindings[0], v.bytes);
      ++statistics_.restores;
      statistics_.restored_bytes += v.bytes;
    }
    finish_step(plan, step, i);
    unlock_down_to(locks_before);
  }
  return Status::kOk;
}

// Whatever is in the products from that one on is not the values. If pages cannot be taken out now, they stay
// as idle ones.
void Engine::abandon_products(std::size_t first) {
  for (std::size_t i = first; i < products_.size(); ++i) {
    const ValueId id = products_[i].value;
    if (!lineage_.value(id).alive) continue;
    while (lineage_.value(id).reserves != 0) unreserve(id);
    if (!lineage_.value(id).resident()) continue;
    const BufferId buffer = displace(id);
    memory_.make_idle(buffer);
    if (!lineage_.value(id).current) memory_.give_back(buffer);
  }
  products_.resize(std::min(first, products_.size()));
}

void Engine::report_products(double cost_ns) {
  unreported_cost_ns_ += cost_ns;
  for (const Product& product : products_) {
    Value& v = lineage_.value(product.value);
    if (!v.alive) continue;
    // What was computed only on the way needs no copy once nobody waits for it.
    if (v.host && !v.current && v.reserves == 0 && needs_no_guard(product.value)) release_host(v);
    if (!v.current) continue;
    ++statistics_.rematerialisations;
    observer_.on_rematerialise({.buffer = v.home,
                                .bytes = v.bytes,
                                .ops = std::exchange(unreported_ops_, 0),
                                .cost_ns = std::exchange(unreported_cost_ns_, 0),
                                .from_host = product.from_host,
                                .compared = product.compared});
  }
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

// Where each use of the op is. What it reads is locked there until the step is done.
bool Engine::bind_step(Plan& plan, const Step& step, std::vector<BufferId>& bindings) {
  bindings.clear();
  for (std::size_t i = 0; i < step.uses.size(); ++i) {
    const StepUse& use = step.uses[i];
    const OpUse* const of_op = step.op ? &lineage_.op(step.op).uses[i] : nullptr;
    const bool written = !of_op || of_op->written;
    const ValueId read = written            ? ValueId{}
                         : use.instance < 0 ? use.resident
                                            : plan.instances[use.instance].value;
    if (read) {
      if (lineage_.value(read).resident()) {
        lock(read);
      } else if (!bring(read)) {
        return false;
      }
      bindings.push_back(lineage_.value(read).location);
      continue;
    }
    const BufferId storage = storage_for(plan, use.instance);
    if (!storage) return false;
    const Bytes bytes = plan.instances[use.instance].bytes;
    if (written && use.resident) {
      const Value& old = lineage_.value(use.resident);
      old.resident() ? device_.copy(old.location, storage, bytes) : device_.copy_in(old.host, storage, bytes);
    } else if (of_op && !of_op->input && !of_op->whole) {
      device_.fill(storage, bytes);
    }
    bindings.push_back(storage);
  }
  return true;
}

void Engine::finish_step(Plan& plan, const Step& step, std::uint32_t index) {
  for (std::size_t i = 0; i < step.uses.size(); ++i) {
    if (step.uses[i].resident) unreserve(step.uses[i].resident);
    const std::int32_t number = step.uses[i].instance;
    if (number < 0) continue;
    const Instance& instance = plan.instances[number];
    const bool written = !step.op || lineage_.op(step.op).uses[i].written;
    if (!written) {
      finish_read(plan, number);
      continue;
    }
    if (instance.kind == InstanceKind::kPrivate) continue;  // its storage goes on to the version after it
    const BufferId storage = std::exchange(instance_storage_[number], BufferId{});
    if (instance.kind == InstanceKind::kDiscard) {
      memory_.give_back(storage);
      continue;
    }
    place(instance.value, storage);
    lineage_.value(instance.value).last_access_ns = now_ns_;
    products_.push_back({.value = instance.value, .step = index, .from_host = !step.op, .compared = false});
    if (instance.target || instance.reads > 0) reserve(instance.value);
  }
}

void Engine::finish_read(Plan& plan, std::int32_t number) {
  Instance& instance = plan.instances[number];
  if (instance.kind == InstanceKind::kDiscard) {
    memory_.give_back(std::exchange(instance_storage_[number], BufferId{}));
  } else if (--instance.reads == 0 && !instance.target) {
    // Past its last reader: the program's values may be evicted again, others are dropped at once.
    unreserve(instance.value);
    const Value& v = lineage_.value(instance.value);
    if (v.current || v.leaf()) return;
    // The step that is being finished has locked it.
    std::erase(locked_, instance.value);
    lineage_.value(instance.value).locks = 0;
    memory_.give_back(displace(instance.value));
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
