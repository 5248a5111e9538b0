// Carrying out plans, step by step: storage, bindings, and what becomes of each product. Part of class
// Engine; must not hold more than the plan says.
#include <algorithm>
#include <functional>
#include <utility>

#include "engine/engine.hpp"

namespace refrain::engine {

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
      copy_in(plan.instances[step.uses[0].instance].value, bindings[0]);
    }
    finish_step(plan, step, i);
    unlock_down_to(locks_before);
  }
  return Status::kOk;
}

// Whatever is in the products from that one on is not the values.
void Engine::abandon_products(std::size_t first) {
  for (std::size_t i = first; i < products_.size(); ++i) {
    const ValueId id = products_[i].value;
    if (!lineage_.value(id).alive) continue;
    while (lineage_.value(id).reserves != 0) unreserve(id);
    disown_place_of(id);
  }
  products_.resize(std::min(first, products_.size()));
}

void Engine::report_products(double cost_ns) {
  unreported_cost_ns_ += cost_ns;
  for (const Product& product : products_) {
    Value& v = lineage_.value(product.value);
    if (!v.alive) continue;
    // What was computed only on the way needs no copy once nobody waits for it. A lock without a place is of
    // one who is about to make a leaf of it.
    const bool awaited = v.reserves != 0 || v.locks != 0;
    if (v.host && !v.current && !awaited && needs_no_guard(product.value)) release_host(v);
    if (!v.current) continue;
    ++statistics_.rematerialisations;
    observer_.on_rematerialise({.buffer = v.home,
                                .bytes = v.bytes,
                                .ops = std::exchange(unreported_ops_, 0),
                                .cost_ns = std::exchange(unreported_cost_ns_, 0),
                                .from_host = product.from_host,
                                .compared = product.compared,
                                .payload = payload_of(v)});
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
    unlock_last(instance.value);  // the lock of the step that is being finished
    memory_.give_back(displace(instance.value));
  }
}

// Storage of instances that were begun and never finished: a finished one has handed its storage on.
void Engine::drop_unfinished() {
  for (BufferId& storage : instance_storage_) {
    if (storage) vacate(std::exchange(storage, BufferId{}));
  }
}

}  // namespace refrain::engine
