// What becomes of evicted values whose lineage is about to lose a value. Part of class Engine; must leave
// every value that the program can read with a way back.
#include <algorithm>

#include "engine/engine.hpp"

namespace refrain::engine {

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
        if (output.resident() || output.host) {
          dependents.sever.push_back(use.output);
          if (!output.lasts()) lost.push_back(use.output);  // no help to those behind it
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

// Whether the program may overwrite or free a value that others need, with nothing kept of it.
bool Engine::may_be_lost(ValueId id) {
  const Value& v = lineage_.value(id);
  return v.consumers.empty() || v.host || needs_no_guard(id);
}

// It can be computed again, by kernels that have shown that they can, or nobody depends on it who has not a
// copy of his own.
bool Engine::needs_no_guard(ValueId id) {
  const Value& v = lineage_.value(id);
  if (v.leaf()) return false;
  if (settings_.verify == Verify::kOff || statistics_.evictions == 0) return true;
  return evidence_for(id) == Evidence::kTrusted || dependents_of(id).materialise.empty();
}

// A value that the op overwrites although somebody's lineage needs it, and of which there is no copy yet.
ValueId Engine::first_threatened(std::span<const BufferUse> uses) {
  for (const BufferUse& use : uses) {
    const ValueId current = memory_.buffer(use.buffer).current;
    if (!use.written || !current) continue;
    const Value& old = lineage_.value(current);
    const bool aside = old.resident() && old.location != use.buffer;
    if (!aside && !may_be_lost(current)) return current;
  }
  return {};
}

// The bytes of a leaf are about to be overwritten. It is copied elsewhere; or, where that costs more memory
// than they would, those that would need it are brought back and made leaves. Where nothing has ever been
// evicted, leaves cost nothing.
Status Engine::save_dependents(ValueId value) {
  Dependents dependents = dependents_of(value);
  Bytes held_bytes = bytes_of(dependents.materialise);
  if (statistics_.evictions > 0 && asides_are_smaller()) held_bytes += bytes_of(dependents.sever);
  const bool elsewhere_first = lineage_.value(value).bytes < held_bytes;
  if (elsewhere_first) {
    if (keep_elsewhere(value)) return Status::kOk;
    dependents = dependents_of(value);  // the attempt may have evicted some of them
  }
  if (!dependents.materialise.empty()) {
    // Those that are at hand must not be evicted to make room for the others: both become leaves together.
    const std::size_t locks_before = locked_.size();
    const auto brought_back = static_cast<std::uint32_t>(dependents.materialise.size());
    for (const ValueId id : dependents.sever) lock(id);
    // Once, but for a copy on the host that turns out to be wrong: then its value is one more to bring back.
    while (!dependents.materialise.empty()) {
      const Status status = make_resident(dependents.materialise);
      if (status != Status::kOk) {
        unlock_down_to(locks_before);
        return status == Status::kOutOfMemory && !elsewhere_first && keep_elsewhere(value) ? Status::kOk
                                                                                           : status;
      }
      dependents = dependents_of(value);
    }
    const Value& v = lineage_.value(value);
    observer_.on_save({.buffer = v.home,
                       .bytes = v.bytes,
                       .means = Saved::Means::kBroughtBack,
                       .dependents = brought_back});
  }
  make_leaves(dependents.sever);
  return Status::kOk;
}

// On the device where there is room to spare, else on the host. What shares its pages with others is small:
// whole pages would be too much for it.
bool Engine::keep_elsewhere(ValueId value) {
  const Value& v = lineage_.value(value);
  const Saved saved{.buffer = v.home,
                    .bytes = v.bytes,
                    .means = Saved::Means::kOffloaded,
                    .dependents = static_cast<std::uint32_t>(dependents_of(value).materialise.size())};
  const bool roomy =
      memory_.used_bytes() + v.bytes <= memory_.cap_bytes() && !memory_.buffer(v.location).adopted;
  const bool may_copy_out = settings_.offload != Offload::kOff;
  if (may_copy_out && !roomy && copy_out(value)) {
    observer_.on_save(saved);
    return true;
  }
  if (keep_aside(value)) return true;
  if (!may_copy_out || !roomy || !copy_out(value)) return false;
  observer_.on_save(saved);
  return true;
}

bool Engine::keep_aside(ValueId value) {
  const BufferId aside = scratch(lineage_.value(value).bytes);
  if (!aside) return false;
  const Value& v = lineage_.value(value);
  device_.copy(v.location, aside, v.bytes);
  if (!flush()) {
    memory_.give_back(aside);
    return false;
  }
  observer_.on_save({.buffer = v.home,
                     .bytes = v.bytes,
                     .means = Saved::Means::kAside,
                     .dependents = static_cast<std::uint32_t>(dependents_of(value).materialise.size())});
  make_leaf(value);
  displace(value);
  place(value, aside);
  aside_.push_back(value);
  lineage_.value(value).going = false;
  std::erase(going_, value);
  return true;
}

}  // namespace refrain::engine
