// Where values are: placing, locking and reserving them, and having an op's operands all there at once. Part
// of class Engine; must not decide what goes: eviction does.
#include <algorithm>
#include <functional>
#include <utility>

#include "engine/engine.hpp"

namespace refrain::engine {

void Engine::place(ValueId id, BufferId buffer) {
  Value& v = lineage_.value(id);
  if (v.current) away_bytes_ -= v.bytes;
  lineage_.set_location(id, buffer);
  v.resident_position = static_cast<std::uint32_t>(residents_.size());
  residents_.push_back(id);
  memory_.buffer(buffer).held = id;
  if (!v.current) strays_.push_back(id);
  policy_.on_found(id);
  candidates_.on_resident(id);
}

BufferId Engine::displace(ValueId id) {
  Value& v = lineage_.value(id);
  const BufferId buffer = v.location;
  if (v.current) away_bytes_ += v.bytes;
  lineage_.set_location(id, {});
  memory_.buffer(buffer).held = {};
  residents_[v.resident_position] = residents_.back();
  lineage_.value(residents_.back()).resident_position = v.resident_position;
  residents_.pop_back();
  candidates_.on_absent(id);
  if (!v.at_hand()) policy_.on_lost(id);
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

void Engine::unlock_last(ValueId value) {
  const auto it = std::find(locked_.rbegin(), locked_.rend(), value);
  if (it == locked_.rend()) return;
  --lineage_.value(value).locks;
  locked_.erase(std::next(it).base());
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
  for (const ValueId value : going_) lineage_.value(value).going = false;
  going_.clear();
  for (const Reserved& reserved : reserved_) --lineage_.value(reserved.value).reserves;
  reserved_.clear();
  plan_number_ = 0;
}

// From now on the copy of a value on probation is what counts.
void Engine::believe_copy(ValueId id) {
  Value& v = lineage_.value(id);
  if (!v.on_probation) return;
  v.on_probation = false;
  if (v.resident()) return;
  policy_.on_found(id);
  candidates_.on_found(id);
}

void Engine::make_leaf(ValueId value) {
  believe_copy(value);
  lineage_.sever(value);
}

void Engine::make_leaves(std::span<const ValueId> values) {
  for (const ValueId id : values) {
    if (lineage_.value(id).alive) make_leaf(id);  // severing one may have collected another
  }
}

// What is in the place of the value is not the value. If the pages cannot be taken out now, they stay as idle
// ones.
void Engine::disown_place_of(ValueId id) {
  const Value& v = lineage_.value(id);
  if (!v.alive || !v.resident()) return;
  vacate(displace(id));
}

// Nothing of interest is in the buffer; one that the program does not know serves others at once.
void Engine::vacate(BufferId buffer) {
  if (memory_.buffer(buffer).program) {
    memory_.make_idle(buffer);
  } else {
    memory_.give_back(buffer);
  }
}

void Engine::copy_in(ValueId id, BufferId to) {
  const Value& v = lineage_.value(id);
  device_.copy_in(v.host, to, v.bytes);
  ++statistics_.restores;
  statistics_.restored_bytes += v.bytes;
}

void Engine::on_value_dead(ValueId id) {
  Value& v = lineage_.value(id);
  if (!v.resident()) candidates_.on_found(id);  // those that it was made from have counted it
  // Its slot may soon be another value's.
  if (v.locks != 0) std::erase(locked_, id);
  std::erase(brought_, id);
  if (v.going) std::erase(going_, id);
  v.going = false;
  if (v.reserves != 0)
    std::erase_if(reserved_, [&](const Reserved& reserved) { return reserved.value == id; });
  v.locks = 0;
  v.reserves = 0;
  release_host(v);
  const BufferId buffer = v.resident() ? displace(id) : BufferId{};
  policy_.on_found(id);
  if (!buffer) return;
  // A buffer of the program's has already got its next version, or is about to; any other is free now.
  if (!memory_.buffer(buffer).program) memory_.give_back(buffer);
}

void Engine::on_op_dead(Payload payload) {
  device_.release_payload(payload);
}

// Everything evicted that is to be read is brought back; what is there is reserved.
Status Engine::bring_operands(std::span<const BufferUse> uses) {
  prepared_.clear();
  if (failing_) return Status::kCorrupt;
  flush_failed_ = false;
  lost_.clear();
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
  return make_resident(lost_);
}

Status Engine::prepare_locked(std::span<const BufferUse> uses) {
  Status status = bring_operands(uses);
  if (status != Status::kOk) return status;
  // Two values that go together are no help to each other.
  for (const BufferUse& use : uses) {
    const ValueId current = memory_.buffer(use.buffer).current;
    if (!use.written || !current) continue;
    lineage_.value(current).going = true;
    going_.push_back(current);
  }
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
  return fill_unwritten(uses, Fill::kAll);
}

// What nothing has written is zero where it is looked at, so that it is the same whenever it is computed
// again.
Status Engine::fill_unwritten(std::span<const BufferUse> uses, Fill which) {
  bool filled = false;
  for (const BufferUse& use : uses) {
    const Buffer& b = memory_.buffer(use.buffer);
    if (b.current || !needs_contents(use)) continue;
    if (which == Fill::kOfOwnPages && (b.adopted || b.pinned)) continue;
    device_.fill(use.buffer, b.extent_bytes);
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
  copy_in(id, storage);
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
  for (const ValueId id : brought_) disown_place_of(id);
  brought_.clear();
  return false;
}

// Values that were computed again only on the way to others, and are of no use to the program.
void Engine::drop_dead() {
  if (!plan_ran_) return;
  plan_ran_ = false;
  std::erase_if(strays_, [this](ValueId id) {
    const Value& v = lineage_.value(id);
    if (!v.alive || !v.resident() || v.current || v.leaf()) return true;
    if (v.locks != 0 || v.reserves != 0) return false;
    memory_.give_back(displace(id));
    return true;
  });
}

// false: not all that was queued since work was last begun has happened.
bool Engine::flush() {
  if (!device_.flush()) flush_failed_ = true;
  return !flush_failed_;
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
  Bytes away_bytes = 0;
  for (std::uint32_t i = 0; i < memory_.buffer_slots(); ++i) {
    const Buffer& b = memory_.buffer({i});
    if (b.current && !lineage_.value(b.current).resident()) away_bytes += lineage_.value(b.current).bytes;
    if (b.current && !lineage_.value(b.current).current) return "a buffer's value is not current";
    if (!b.current || b.held == b.current || !lineage_.value(b.current).resident()) continue;
    if (std::find(aside_.begin(), aside_.end(), b.current) == aside_.end())
      return "a current value is not at home";
  }
  if (away_bytes != away_bytes_) return "what is away does not add up";
  return nullptr;
}

}  // namespace refrain::engine
