// The program's side of the engine: buffers, prepare and commit. Must not decide order or victims: plan and
// policy do.
#include "engine/engine.hpp"

#include <algorithm>

namespace refrain::engine {

Engine::Engine(Device& device, Observer& observer, const Settings& settings)
    : device_(device),
      observer_(observer),
      settings_(settings),
      lineage_(*this),
      memory_(device, settings.cap_bytes),
      policy_(lineage_),
      record_bound_(settings.max_ops) {}

BufferId Engine::own(BufferId buffer) {
  if (buffer) memory_.buffer(buffer).program = true;
  return buffer;
}

BufferId Engine::allocate(Bytes bytes) {
  if (memory_.used_bytes() + bytes > memory_.cap_bytes()) {
    const OutOfMemory report = memory_report(bytes);
    // A full device of this size would refuse too: what cannot be evicted and the request do not fit
    // together.
    if (report.pinned_bytes + bytes > report.cap_bytes) {
      fail_out_of_memory(bytes);
      return {};
    }
  }
  return own(memory_.acquire(bytes));
}

BufferId Engine::allocate_pinned(Bytes bytes) {
  const BufferId buffer = memory_.acquire(bytes);
  if (!buffer) return {};
  if (obtain(buffer)) return own(buffer);
  memory_.give_back(buffer);
  fail_out_of_memory(bytes);
  return {};
}

Status Engine::back_for_good(BufferId buffer) {
  if (!obtain(buffer)) return fail_out_of_memory(memory_.buffer(buffer).bytes);
  memory_.buffer(buffer).pinned = true;
  return Status::kOk;
}

void Engine::free(BufferId buffer) {
  Buffer& b = memory_.buffer(buffer);
  b.program = false;
  const ValueId current = b.current;
  b.current = {};
  if (!current) {
    memory_.give_back(buffer);
    return;
  }
  wanted_bytes_ -= b.bytes;
  const Value& v = lineage_.value(current);
  const bool needed = !v.consumers.empty();
  if (!needed && !v.resident()) memory_.give_back(buffer);
  if (needed && !v.leaf()) {  // it can be computed again: its memory is worth more
    if (v.resident()) displace(current);
    memory_.give_back(buffer);
  }
  const Bytes kept_bytes = needed && v.leaf() ? b.bytes : 0;
  lineage_.retire(current);  // a leaf that is needed stays where it is; the buffer is now the value's own
  if (kept_bytes != 0) bound_freed_leaves(kept_bytes);
}

Status Engine::pin(BufferId buffer) {
  const BufferUse use{.buffer = buffer, .read = true, .written = true};
  const Status status = prepare({&use, 1});
  if (status != Status::kOk) return status;
  commit({&use, 1}, false, 0, 0);
  memory_.buffer(buffer).pinned = true;
  return Status::kOk;
}

Status Engine::prepare(std::span<const BufferUse> uses) {
  const Status status = prepare_locked(uses);
  if (status != Status::kOk) abandon();
  drop_dead();
  return status;
}

// Memory that an op looked at, and that nobody has written yet, may serve others again.
void Engine::release_untouched() {
  for (const BufferId buffer : prepared_) {
    const Buffer& b = memory_.buffer(buffer);
    if (b.program && !b.current && !b.held && !b.adopted && !b.pinned) memory_.make_idle(buffer);
  }
  prepared_.clear();
}

void Engine::abandon() {
  unlock_all();
  release_untouched();
  for (const ValueId value : aside_) {
    memory_.give_back(displace(value));
    place(value, lineage_.value(value).home);
  }
  aside_.clear();
}

Status Engine::prepare_locked(std::span<const BufferUse> uses) {
  lost_.clear();
  prepared_.clear();
  for (const BufferUse& use : uses) {
    prepared_.push_back(use.buffer);
    const ValueId current = memory_.buffer(use.buffer).current;
    if (!current) continue;
    if (lineage_.value(current).resident()) {
      lock(current);  // also where it is about to be overwritten: its buffer must stay mapped
    } else if (use.read || !use.whole) {
      lost_.push_back(current);
    }
  }
  const Status status = make_resident(lost_);
  if (status != Status::kOk) return status;
  // Saving the dependents of one leaf can make leaves of other values that this op overwrites, and can bring
  // values home that were to be overwritten unseen: until nothing changes any more.
  for (;;) {
    for (const BufferUse& use : uses) {
      // A buffer that nobody has written yet has no value that a lock could hold; but nothing evicts it
      // either.
      if (!obtain(use.buffer)) return fail_out_of_memory(memory_.buffer(use.buffer).bytes);
      const ValueId current = memory_.buffer(use.buffer).current;
      if (current && lineage_.value(current).resident()) lock(current);
    }
    const ValueId threatened = first_threatened(uses);
    if (!threatened) return Status::kOk;
    const Status saved = save_dependents(threatened);
    if (saved != Status::kOk) return saved;
  }
}

// A leaf that the op overwrites although somebody's lineage needs it, and of which there is no copy yet.
ValueId Engine::first_threatened(std::span<const BufferUse> uses) const {
  for (const BufferUse& use : uses) {
    const ValueId current = memory_.buffer(use.buffer).current;
    if (!use.written || !current) continue;
    const Value& old = lineage_.value(current);
    const bool aside = old.resident() && old.location != use.buffer;
    if (old.leaf() && !old.consumers.empty() && !aside) return current;
  }
  return {};
}

bool Engine::commit(std::span<const BufferUse> uses, bool replayable, std::uint32_t cost_class,
                    Payload payload) {
  now_ns_ += lineage_.cost_ns(cost_class);
  statistics_.program_cost_ns += lineage_.cost_ns(cost_class);
  op_uses_.clear();
  bool writes = false;
  for (const BufferUse& use : uses) {
    Buffer& b = memory_.buffer(use.buffer);
    OpUse op_use;
    op_use.bytes = b.extent_bytes;
    op_use.written = use.written;
    if (b.current && !(use.whole && !use.read)) {
      op_use.input = b.current;
      lineage_.value(b.current).last_access_ns = now_ns_;
    }
    // What overwrites a leaf in part cannot be computed again: the leaf is gone. Where it was kept aside,
    // that was for others. What other ops have read and this one reads and changes is a parameter rather than
    // an activation: with a history, each step's parameters would need all steps before. What it only
    // overwrites, perhaps in part, is scratch that several tensors take in turn: a short history will do.
    if (use.written && op_use.input) {
      const Value& old = lineage_.value(op_use.input);
      const bool shared = !old.consumers.empty();
      if (old.leaf() || (shared && use.read)) replayable = false;
      const std::uint32_t most = shared ? settings_.max_scratch_depth : settings_.max_in_place_depth;
      if (old.in_place_depth >= most) replayable = false;
    }
    writes = writes || use.written;
    op_uses_.push_back(op_use);
  }
  aside_.clear();
  lost_.clear();
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (!uses[i].written) continue;
    Buffer& b = memory_.buffer(uses[i].buffer);
    if (b.current) {
      const Value& old = lineage_.value(b.current);
      if (old.resident() && old.location == uses[i].buffer) displace(b.current);
      lost_.push_back(b.current);
    } else {
      wanted_bytes_ += b.bytes;
    }
    const ValueId made = lineage_.add_value(uses[i].buffer, b.extent_bytes);
    if (replayable && op_uses_[i].input) {
      lineage_.value(made).in_place_depth = lineage_.value(op_uses_[i].input).in_place_depth + 1;
    }
    b.current = made;
    lineage_.value(made).last_access_ns = now_ns_;
    place(made, uses[i].buffer);
    op_uses_[i].output = made;
  }
  statistics_.peak_wanted_bytes = std::max(statistics_.peak_wanted_bytes, wanted_bytes_);
  const bool kept = replayable && writes;
  if (kept) lineage_.add_op(payload, cost_class, op_uses_);
  unlock_all();
  release_untouched();
  for (const ValueId old : lost_) lineage_.retire(old);
  if (lineage_.op_count() > record_bound_) bound_records();
  return kept;
}

Status Engine::prepare_barrier() {
  lost_.clear();
  for (std::uint32_t i = 0; i < memory_.buffer_slots(); ++i) {
    const Buffer& b = memory_.buffer({i});
    if (!b.program) continue;
    if (!b.current) {
      if (!obtain({i})) return fail_out_of_memory(b.bytes);
    } else if (lineage_.value(b.current).resident()) {
      lock(b.current);
    } else {
      lost_.push_back(b.current);
    }
  }
  const Status status = make_resident(lost_);
  if (status != Status::kOk) unlock_all();
  drop_dead();
  return status;
}

void Engine::commit_barrier() {
  unlock_all();
  // Severed one by one, nothing that was evicted is left to be lost: all that the program can read is
  // resident.
  for (std::uint32_t i = 0; i < memory_.buffer_slots(); ++i) {
    Buffer& b = memory_.buffer({i});
    if (!b.program) continue;
    if (b.current) {
      lineage_.sever(b.current);
      continue;
    }
    b.current = lineage_.add_value({i}, b.extent_bytes);
    wanted_bytes_ += b.bytes;
    place(b.current, {i});
  }
}

Status Engine::charge_external(Bytes bytes) {
  while (!memory_.charge_external(bytes)) {
    if (!make_room(bytes)) return fail_out_of_memory(bytes);
  }
  return Status::kOk;
}

void Engine::count_external(Bytes bytes) {
  while (!memory_.charge_external(bytes)) {
    if (make_room(bytes)) continue;
    memory_.count_external(bytes);
    fail_out_of_memory(bytes);
    return;
  }
}

// Oldest first, but only what is resident can do without its record.
void Engine::bound_records() {
  std::vector<ValueId> oldest(residents_);
  std::sort(oldest.begin(), oldest.end(), [&](ValueId a, ValueId b) {
    return lineage_.value(a).last_access_ns < lineage_.value(b).last_access_ns;
  });
  for (const ValueId id : oldest) {
    // A quarter at once, so that the sort is paid for rarely.
    if (lineage_.op_count() <= settings_.max_ops - settings_.max_ops / 4) break;
    const Value& v = lineage_.value(id);
    if (v.alive && v.resident() && !v.leaf()) lineage_.sever(id);
  }
  // What evicted values need cannot go: the next attempt waits until the records have grown again.
  record_bound_ = std::max(settings_.max_ops, lineage_.op_count() + lineage_.op_count() / 4);
}

// Where freed leaves hold too much, the oldest go, down to half of what they may hold; those who need them
// become leaves. That takes no memory and no work of the device, and so is done where all of these are
// resident.
void Engine::bound_freed_leaves(Bytes freed_bytes) {
  const auto most =
      static_cast<Bytes>(settings_.max_freed_leaves * static_cast<double>(statistics_.peak_wanted_bytes));
  freed_leaf_bytes_ += freed_bytes;
  if (freed_leaf_bytes_ <= most / 2) return;  // not yet worth the count
  freed_leaf_bytes_ = 0;
  struct Freed {
    ValueId id;
    double last_access_ns;
    Bytes bytes;
  };
  std::vector<Freed> freed;
  Bytes held_bytes = 0;
  for (const ValueId id : residents_) {
    const Value& v = lineage_.value(id);
    const Buffer& b = memory_.buffer(v.location);
    if (v.current || !v.leaf() || v.locks != 0 || v.location != v.home) continue;
    freed.push_back({id, v.last_access_ns, b.bytes});
    held_bytes += b.bytes;
  }
  if (held_bytes <= most) return;
  std::sort(freed.begin(), freed.end(),
            [](const Freed& a, const Freed& b) { return a.last_access_ns < b.last_access_ns; });
  for (const Freed& oldest : freed) {
    if (held_bytes <= most / 2) break;
    if (lineage_.value(oldest.id).alive) {
      const Dependents dependents = dependents_of(oldest.id);
      if (!dependents.materialise.empty()) continue;
      for (const ValueId dependent : dependents.sever) {
        if (lineage_.value(dependent).alive) lineage_.sever(dependent);
      }
    }
    held_bytes -= oldest.bytes;  // severing one dependent may have freed several
  }
}

OutOfMemory Engine::memory_report(Bytes asked_bytes) const {
  OutOfMemory report{};
  report.asked_bytes = asked_bytes;
  report.used_bytes = memory_.used_bytes();
  report.cap_bytes = memory_.cap_bytes();
  for (const ValueId id : residents_) {
    const Value& v = lineage_.value(id);
    if (evictable(v)) report.evictable_bytes += v.bytes;
  }
  report.pinned_bytes = report.used_bytes - report.evictable_bytes;
  return report;
}

Status Engine::fail_out_of_memory(Bytes asked_bytes) {
  ++statistics_.out_of_memory;
  observer_.on_out_of_memory(memory_report(asked_bytes));
  return Status::kOutOfMemory;
}

}  // namespace refrain::engine
