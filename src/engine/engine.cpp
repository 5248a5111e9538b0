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
      host_(device, settings.host_cap_bytes),
      policy_(lineage_, settings.policy),
      candidates_(lineage_, policy_.by_staleness()),
      record_bound_(settings.max_ops) {}

BufferId Engine::own(BufferId buffer) {
  if (!buffer) return buffer;
  Buffer& b = memory_.buffer(buffer);
  b.program = true;
  observer_.on_buffer(buffer, b.adopted ? 0 : b.bytes, b.pinned);
  return buffer;
}

// Looks no further than it has to: mostly at very few.
bool Engine::could_give_up(Bytes bytes) const {
  Bytes found_bytes = 0;
  for (auto it = residents_.rbegin(); it != residents_.rend() && found_bytes < bytes; ++it) {
    const Value& v = lineage_.value(*it);
    if (evictable(v)) found_bytes += v.bytes;
  }
  return found_bytes >= bytes;
}

BufferId Engine::allocate(Bytes bytes) {
  // A full device of this size would refuse too: what cannot be evicted and the request do not fit together.
  const Bytes wanted_bytes = memory_.used_bytes() + bytes;
  if (wanted_bytes > memory_.cap_bytes() && !could_give_up(wanted_bytes - memory_.cap_bytes())) {
    told(out_of_memory(bytes));
    return {};
  }
  return own(memory_.acquire(bytes));
}

BufferId Engine::allocate_pinned(Bytes bytes) {
  const BufferId buffer = memory_.acquire(bytes);
  if (!buffer) return {};
  if (obtain(buffer)) {
    // A barrier gives it a value, which would be a leaf that may be offloaded.
    memory_.buffer(buffer).pinned = true;
    return own(buffer);
  }
  memory_.give_back(buffer);
  told(out_of_memory(bytes));
  return {};
}

Status Engine::back_for_good(BufferId buffer) {
  Buffer& b = memory_.buffer(buffer);
  if (!obtain(buffer)) return told(out_of_memory(b.bytes));
  b.pinned = true;
  observer_.on_buffer(buffer, b.bytes, true);
  return Status::kOk;
}

// It has no place yet.
ValueId Engine::make_value(BufferId home) {
  const ValueId made = lineage_.add_value(home, memory_.buffer(home).extent_bytes);
  away_bytes_ += lineage_.value(made).bytes;
  return made;
}

void Engine::retire(ValueId id) {
  const Value& v = lineage_.value(id);
  if (v.current && !v.resident()) away_bytes_ -= v.bytes;
  lineage_.retire(id);
}

void Engine::free(BufferId buffer) {
  observer_.on_free(buffer);
  Buffer& b = memory_.buffer(buffer);
  b.program = false;
  const ValueId current = b.current;
  b.current = {};
  if (!current) {
    memory_.give_back(buffer);
    return;
  }
  wanted_bytes_ -= b.bytes;
  Value& v = lineage_.value(current);
  const bool needed = !v.consumers.empty();
  believe_copy(current);  // with its buffer goes the way to compare it
  if (needed && v.resident() && !may_be_lost(current)) make_leaf(current);
  const bool own = !b.placed && !b.adopted && !b.pinned;
  const bool kept = needed && v.resident() && !v.leaf() && own && observer_.keeps_freed(buffer);
  // Its memory is worth more.
  if (needed && v.resident() && (!v.leaf() || v.host) && !kept) displace(current);
  // A leaf that is needed stays where it is; the buffer is now the value's own.
  if (!v.resident()) memory_.give_back(buffer);
  const Bytes kept_bytes = needed && v.leaf() && v.resident() ? b.bytes : 0;
  retire(current);
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
  return prepared(prepare_locked(uses));
}

// The end of every preparation, whatever came of it.
Status Engine::prepared(Status status) {
  if (status != Status::kOk) {
    settle_brought();
    abandon();
  }
  drop_dead();
  return told(status);
}

// Memory that an op looked at and that holds nothing may serve others again: nobody has written it yet, or
// the op that was to overwrite what is evicted was not issued.
void Engine::release_untouched() {
  for (const BufferId buffer : prepared_) {
    const Buffer& b = memory_.buffer(buffer);
    if (b.program && !b.held && !b.adopted && !b.pinned) memory_.make_idle(buffer);
  }
  prepared_.clear();
}

void Engine::abandon() {
  unlock_all();
  for (const ValueId value : aside_) {
    const Value& v = lineage_.value(value);
    if (v.resident()) memory_.give_back(displace(value));
    place(value, v.home);
  }
  aside_.clear();
  release_untouched();
}

bool Engine::commit(std::span<const BufferUse> uses, bool replayable, std::uint32_t cost_class,
                    Payload payload) {
  observer_.on_op(uses, replayable, cost_class, payload);
  now_ns_ += lineage_.cost_ns(cost_class);
  statistics_.program_cost_ns += lineage_.cost_ns(cost_class);
  if (trust_.quarantined(cost_class)) replayable = false;
  op_uses_.clear();
  bool writes = false;
  for (const BufferUse& use : uses) {
    Buffer& b = memory_.buffer(use.buffer);
    OpUse op_use;
    op_use.bytes = b.extent_bytes;
    op_use.read = use.read;
    op_use.written = use.written;
    op_use.whole = (use.whole && !use.read) || use.undefined;
    if (b.current && needs_contents(use)) {
      op_use.input = b.current;
      lineage_.value(b.current).last_access_ns = now_ns_;
      lineage_.value(b.current).let_go = false;
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
    writes = writes || (use.written && !use.undefined);
    op_uses_.push_back(op_use);
  }
  aside_.clear();
  lost_.clear();
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (!uses[i].written) continue;
    Buffer& b = memory_.buffer(uses[i].buffer);
    if (b.current) {
      Value& old = lineage_.value(b.current);
      believe_copy(b.current);
      if (old.resident() && old.location == uses[i].buffer) displace(b.current);
      lost_.push_back(b.current);
      if (uses[i].undefined) wanted_bytes_ -= b.bytes;
    } else if (!uses[i].undefined) {
      wanted_bytes_ += b.bytes;
    }
    if (uses[i].undefined) {
      b.current = {};
      continue;
    }
    const ValueId made = make_value(uses[i].buffer);
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
  for (const ValueId old : lost_) retire(old);
  if (lineage_.op_count() > record_bound_) bound_records();
  watch_for_thrashing();
  return kept;
}

Status Engine::prepare_barrier() {
  everything_.clear();
  for (std::uint32_t i = 0; i < memory_.buffer_slots(); ++i) {
    if (memory_.buffer({i}).program) everything_.push_back({.buffer = {i}, .read = true});
  }
  Status status = bring_operands(everything_);
  if (status == Status::kOk) status = hold_operands(everything_);
  // What an unknown call leaves unwritten becomes part of a value all the same, which may be digested. Pinned
  // memory holds allocations of others, and neither it nor what shares pages is ever evicted.
  if (status == Status::kOk && settings_.verify != Verify::kOff) {
    status = fill_unwritten(everything_, Fill::kOfOwnPages);
  }
  return prepared(status);
}

void Engine::commit_barrier() {
  observer_.on_barrier();
  unlock_all();
  // Severed one by one, nothing that was evicted is left to be lost: all that the program can read is
  // resident.
  for (std::uint32_t i = 0; i < memory_.buffer_slots(); ++i) {
    Buffer& b = memory_.buffer({i});
    if (!b.program) continue;
    if (b.current) {
      // Its bytes may have changed without a new version: what is known of them is out of date.
      Value& v = lineage_.value(b.current);
      release_host(v);
      v.digested = false;
      make_leaf(b.current);
      continue;
    }
    b.current = make_value({i});
    wanted_bytes_ += b.bytes;
    place(b.current, {i});
  }
}

Status Engine::charge_external(Bytes bytes) {
  while (!memory_.charge_external(bytes)) {
    if (!make_room(bytes)) return told(out_of_memory(bytes));
  }
  return Status::kOk;
}

void Engine::count_external(Bytes bytes) {
  while (!memory_.charge_external(bytes)) {
    if (make_room(bytes)) continue;
    told(out_of_memory(bytes));
    memory_.count_external(bytes);
    return;
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
  report.host_bytes = host_.used_bytes();
  return report;
}

// Whoever asked for it may have another way: only what the program gets to see is reported.
Status Engine::out_of_memory(Bytes asked_bytes) {
  out_of_memory_ = memory_report(asked_bytes);
  return Status::kOutOfMemory;
}

Status Engine::told(Status status) {
  if (status == Status::kOutOfMemory) {
    ++statistics_.out_of_memory;
    observer_.on_out_of_memory(out_of_memory_);
  }
  return status;
}

}  // namespace refrain::engine
