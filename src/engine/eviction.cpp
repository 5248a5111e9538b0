// Making room: which value goes, and what must be kept of it before it does. Part of class Engine; must never
// let go of bytes that could not be had again.
#include <algorithm>
#include <limits>

#include "engine/engine.hpp"

namespace refrain::engine {

bool Engine::may_leave(const Value& v) const {
  if (stopped_ || !v.resident() || v.locks != 0) return false;
  const Buffer& b = memory_.buffer(v.location);
  return !b.adopted && !b.pinned && b.holds == 0;
}

std::optional<Payload> Engine::payload_of(const Value& v) const {
  if (v.leaf()) return std::nullopt;
  return lineage_.op(v.producer).payload;
}

bool Engine::may_drop(const Value& v) const {
  if (v.leaf() || v.reserves != 0) return false;
  // Without host memory, what has not been shown to come back stays.
  return !host_is_full_ || v.host || settings_.verify == Verify::kOff || !v.current ||
         trust_.trusted(lineage_.op(v.producer).cost_class);
}

bool Engine::offloads(const Value& v) const {
  return settings_.offload == Offload::kAuto || (settings_.offload == Offload::kLeaves && v.leaf());
}

bool Engine::may_offload(const Value& v) const {
  return offloads(v) && (!host_is_full_ || v.host);
}

bool Engine::obtain(BufferId buffer) {
  while (!memory_.back(buffer)) {
    if (!make_room(memory_.buffer(buffer).bytes)) return false;
  }
  return true;
}

Bytes Engine::whole_pages(Bytes bytes) const {
  const Bytes unit = settings_.granularity_bytes;
  return (bytes + unit - 1) / unit * unit;
}

BufferId Engine::scratch(Bytes bytes) {
  const BufferId buffer = memory_.acquire(whole_pages(bytes));
  if (!buffer) return {};
  if (obtain(buffer)) return buffer;
  memory_.give_back(buffer);
  return {};
}

// Gives up one thing: the cheapest value; or one that is still wanted here, by way of the host; or a leaf
// that only others' lineage needs.
bool Engine::make_room(Bytes need_bytes) {
  if (!memory_.fits_cap(need_bytes)) return false;
  ++attempt_;
  host_is_full_ = false;
  if (give_up_let_go(need_bytes)) return true;
  if (advised_) return forget_dead_leaf();  // no value goes for it
  for (const bool reserved : {false, true}) {
    Eviction why{};
    ValueId victim;
    while (choose(need_bytes, reserved, why, victim)) {
      const Evicted evicted = evict(victim, why);
      if (evicted == Evicted::kDone) return true;
      if (evicted == Evicted::kFailed) return false;
      lineage_.value(victim).refused = attempt_;
    }
  }
  return forget_dead_leaf();
}

void Engine::describe_need(Bytes need_bytes, Eviction& why) const {
  why = {};
  why.need_bytes = need_bytes;
  why.free_bytes = memory_.cap_bytes() - std::min(memory_.cap_bytes(), memory_.used_bytes());
}

bool Engine::choose(Bytes need_bytes, bool reserved, Eviction& why, ValueId& victim) {
  victim = {};
  describe_need(need_bytes, why);
  why.score = std::numeric_limits<double>::infinity();
  why.runner_up_score = why.score;
  if (stopped_) return false;
  observer_.on_choice(true);
  candidates_.begin(now_ns_, residents_, [this](ValueId id) { return least(id); });
  if (policy_.is_random()) {
    choose_any(reserved, why, victim);
  } else {
    ValueId next;
    while ((next = candidates_.lowest()) && (!victim || candidates_.bound(next) < why.score)) {
      consider(next, reserved, why, victim);
    }
    if (next) why.runner_up_score = std::min(why.runner_up_score, candidates_.bound(next));
  }
  why.candidates += candidates_.count();
  candidates_.end();
  if (why.candidates == 1) why.runner_up_score = why.score;
  observer_.on_choice(false);
  return static_cast<bool>(victim);
}

Rank Engine::least(ValueId id) const {
  const Value& v = lineage_.value(id);
  const Buffer& b = memory_.buffer(v.location);
  if (b.adopted || b.pinned) return {};
  return policy_.least(id, !v.leaf(), offloads(v));
}

void Engine::consider(ValueId id, bool reserved, Eviction& why, ValueId& victim) {
  const Value& v = lineage_.value(id);
  const bool offload = may_offload(v);
  const bool drop = may_drop(v) && !(offload && prefer_offload_);
  if ((v.reserves != 0) != reserved || v.refused == attempt_ || !may_leave(v) || (!drop && !offload))
    return candidates_.set_aside(id, least(id));
  const double most_ns = policy_.cost_ns_at(id, why.runner_up_score, now_ns_);
  const Candidate candidate = policy_.weigh(id, drop, offload, most_ns);
  // What may leave in one way less than usual may be cheaper the next time.
  const bool as_usual = drop != v.leaf() && offload == offloads(v) && policy_.keeps_weights();
  candidates_.set_aside(id, as_usual ? candidate.rank : least(id));
  ++why.candidates;
  const double score = policy_.score(candidate.rank, now_ns_);
  if (score < why.score || !victim) {
    why.runner_up_score = why.score;
    why.score = score;
    why.leave = candidate.leave;
    victim = id;
  } else {
    why.runner_up_score = std::min(why.runner_up_score, score);
  }
}

// Those that count its op from now on are worth more than was known: they are looked at later.
void Engine::raise_neighbours(ValueId lost) {
  policy_.find_counting(lost, neighbours_);
  const double ns = neighbours_.empty() ? 0 : lineage_.cost_ns(lineage_.op(lineage_.value(lost).producer));
  for (const ValueId id : neighbours_) {
    const Value& v = lineage_.value(id);
    if (v.resident()) candidates_.raise(id, ns, offloads(v) ? policy_.offload_cost_ns(v) : Policy::kAnyCost);
  }
}

// Any that may leave: the first from a random place on.
void Engine::choose_any(bool reserved, Eviction& why, ValueId& victim) {
  const std::size_t first = residents_.empty() ? 0 : policy_.random_below(residents_.size());
  for (std::size_t i = 0; i < residents_.size() && !victim; ++i) {
    consider_any(residents_[(first + i) % residents_.size()], reserved, why, victim);
  }
}

void Engine::consider_any(ValueId id, bool reserved, Eviction& why, ValueId& victim) {
  const Value& v = lineage_.value(id);
  if ((v.reserves != 0) != reserved || v.refused == attempt_ || !may_leave(v)) return;
  const bool offload = may_offload(v);
  const bool drop = may_drop(v) && !(offload && prefer_offload_);
  if (!drop && !offload) return;
  const Candidate candidate = policy_.weigh(id, drop, offload);
  why.score = why.runner_up_score = policy_.score(candidate.rank, now_ns_);
  why.leave = candidate.leave;
  victim = id;
}

Engine::Evicted Engine::evict(ValueId id, Eviction& eviction) {
  Value& v = lineage_.value(id);
  const bool current = v.current;
  eviction.payload = payload_of(v);
  eviction.buffer = v.home;
  eviction.bytes = memory_.buffer(v.location).bytes;
  eviction.idle_ns = now_ns_ - v.last_access_ns;
  // Else it is scratch of the plan that is being carried out, past its last reader.
  if (current || v.leaf() || v.reserves != 0) {
    const Evicted ready = ready_to_leave(id, eviction);
    if (ready != Evicted::kDone) return ready;
  }
  if (!memory_.unback(v.location)) {
    v.on_probation = false;
    return Evicted::kFailed;
  }
  v.let_go = false;
  const BufferId buffer = displace(id);
  if (!v.at_hand()) raise_neighbours(id);
  if (!memory_.buffer(buffer).program) memory_.give_back(buffer);
  if (!current) return Evicted::kDone;  // not the program's to know
  ++statistics_.evictions;
  statistics_.evicted_bytes += eviction.bytes;
  observer_.on_evict(eviction);
  return Evicted::kDone;
}

// Whatever must be known or kept of the value before its pages go.
Engine::Evicted Engine::ready_to_leave(ValueId id, Eviction& eviction) {
  Value& v = lineage_.value(id);
  const bool was_to_drop = eviction.leave == Leave::kDrop;
  if (was_to_drop) {
    const Evidence evidence = settings_.verify == Verify::kOff ? Evidence::kTrusted : evidence_for(id);
    eviction.on_probation = evidence == Evidence::kUntrusted;
    const bool may_copy = may_offload(v);
    if (evidence == Evidence::kQuarantined && !may_copy) return Evicted::kRefused;
    if (evidence == Evidence::kQuarantined || (may_copy && !replay_fits(v))) {
      eviction.leave = Leave::kOffload;
      eviction.on_probation = false;
    }
  }
  const bool needs_copy = eviction.leave == Leave::kOffload || eviction.on_probation;
  if (needs_copy && !v.host) {
    if (!copy_out(id)) {
      if (was_to_drop || !may_drop(v)) return Evicted::kRefused;
      eviction.leave = Leave::kDrop;  // dearer, but there is no room on the host
      return ready_to_leave(id, eviction);
    }
    eviction.copied_bytes = v.bytes;
  }
  const bool checked = settings_.verify == Verify::kAll || eviction.on_probation ||
                       (settings_.verify == Verify::kSample && v.producer &&
                        trust_.sampled(lineage_.op(v.producer).cost_class));
  if (checked && v.current && !v.digested) {
    if (!flush()) return Evicted::kFailed;
    const std::optional<Digest> digest = device_.digest(v.location);
    if (!digest) return Evicted::kFailed;
    v.digest = *digest;
    v.digested = true;
  }
  v.on_probation = eviction.on_probation && v.current;
  v.to_compare = checked && v.digested;
  return Evicted::kDone;
}

// The op that made it ran under this cap, but with its operands in their places; elsewhere they may take
// more.
bool Engine::replay_fits(const Value& v) const {
  Bytes bytes = 0;
  for (const OpUse& use : lineage_.op(v.producer).uses) bytes += whole_pages(use.bytes);
  return bytes <= memory_.cap_bytes();
}

// The least that is known of all kernels that would have to run to have the value again.
Engine::Evidence Engine::evidence_for(ValueId id) {
  const std::uint64_t stamp = lineage_.new_stamp();
  const OpId own = lineage_.value(id).producer;
  std::vector<ValueId> missing{id};
  Evidence evidence = Evidence::kTrusted;
  while (!missing.empty()) {
    const OpId producer = lineage_.value(missing.back()).producer;
    missing.pop_back();
    Op& op = lineage_.op(producer);
    if (op.visited == stamp) continue;
    op.visited = stamp;
    if (trust_.quarantined(op.cost_class)) return Evidence::kQuarantined;
    const bool trusted =
        producer == own ? trust_.trusted(op.cost_class) : trust_.trusted_on_the_way(op.cost_class);
    if (!trusted) evidence = Evidence::kUntrusted;
    for (const OpUse& use : op.uses) {
      if (use.input && !lineage_.value(use.input).lasts()) missing.push_back(use.input);
    }
  }
  return evidence;
}

bool Engine::copy_out(ValueId id) {
  Value& v = lineage_.value(id);
  if (v.host) return true;
  // A value that was only queued must really be there.
  if (!flush()) return false;
  HostId host = host_.acquire(v.bytes);
  while (!host && drop_clean_copy()) host = host_.acquire(v.bytes);
  if (!host) {
    host_is_full_ = true;
    return false;
  }
  if (!device_.copy_out(v.location, host, v.bytes)) {
    host_.give_back(host, v.bytes);
    return false;
  }
  v.host = host;
  candidates_.on_changed(id);  // the way out is paid for
  ++statistics_.offloads;
  statistics_.offloaded_bytes += v.bytes;
  return true;
}

// A copy of what is on the device as well. Not of a value in use: the copy may be why it may be overwritten.
bool Engine::drop_clean_copy() {
  for (const ValueId id : residents_) {
    Value& v = lineage_.value(id);
    if (!v.host || v.locks != 0 || v.reserves != 0) continue;
    if (!v.current && !needs_no_guard(id)) continue;
    release_host(v);
    return true;
  }
  return false;
}

void Engine::release_host(Value& v) {
  if (!v.host) return;
  host_.give_back(v.host, v.bytes);
  v.host = {};
  v.on_probation = false;
}

// Frees a leaf that the program can no longer read, where all who need it are at hand: they become leaves
// instead.
bool Engine::forget_dead_leaf() {
  for (const ValueId id : residents_) {
    const Value& v = lineage_.value(id);
    if (v.current || !v.leaf() || v.locks != 0 || v.reserves != 0 || memory_.buffer(v.location).adopted)
      continue;
    const Dependents dependents = dependents_of(id);
    // What is on probation may be about to be computed from it.
    const auto at_hand = [&](ValueId dependent) { return lineage_.value(dependent).at_hand(); };
    if (!dependents.materialise.empty() ||
        !std::all_of(dependents.sever.begin(), dependents.sever.end(), at_hand)) {
      continue;
    }
    // What becomes a leaf here may have been queued only: it must really be there.
    if (!flush()) return false;
    make_leaves(dependents.sever);
    return !lineage_.value(id).alive;
  }
  return false;
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
    if (v.current || !v.leaf() || v.locks != 0 || v.reserves != 0 || v.location != v.home) continue;
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
      make_leaves(dependents.sever);
    }
    held_bytes -= oldest.bytes;  // severing one dependent may have freed several
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
    if (v.alive && v.resident() && !v.leaf()) make_leaf(id);
  }
  // What evicted values need cannot go: the next attempt waits until the records have grown again.
  record_bound_ = std::max(settings_.max_ops, lineage_.op_count() + lineage_.op_count() / 4);
}

}  // namespace refrain::engine
