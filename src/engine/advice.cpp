// What a plan may ask of the engine. Part of class Engine; must go the ways that every value goes: advice
// that cannot be had, or that is wrong, costs time and nothing else.
#include <algorithm>

#include "engine/engine.hpp"

namespace refrain::engine {

// Also where it is not resident now: it may be made on the way to something else.
void Engine::let_go(BufferId buffer, bool to_host) {
  const Buffer& b = memory_.buffer(buffer);
  const ValueId current = b.program ? b.current : b.held;
  if (!current || lineage_.value(current).let_go) return;
  // Where nothing needs room, nobody looks at the list: it must not grow with the program.
  if (let_go_.size() > 2 * lineage_.value_count()) {
    std::erase_if(let_go_,
                  [this](ValueId id) { return !lineage_.value(id).alive || !lineage_.value(id).let_go; });
  }
  lineage_.value(current).let_go = true;
  lineage_.value(current).to_host = to_host;
  let_go_.push_back(current);
}

void Engine::forget_let_go() {
  for (const ValueId id : let_go_) lineage_.value(id).let_go = false;
  let_go_.clear();
}

// The first that may go now, of those whose pages serve the need as they are, or else of all. What is in use,
// or on its way, has its turn later.
bool Engine::give_up_let_go(Bytes need_bytes) {
  std::erase_if(let_go_, [this](ValueId id) {
    const Value& v = lineage_.value(id);
    return !v.alive || !v.let_go;
  });
  for (const bool as_they_are : {true, false}) {
    for (auto it = let_go_.begin(); it != let_go_.end(); ++it) {
      const Value& v = lineage_.value(*it);
      if (v.reserves != 0 || v.refused == attempt_ || !evictable(v)) continue;
      if (as_they_are && memory_.buffer(v.location).bytes != need_bytes) continue;
      if (!give_up(*it, need_bytes)) continue;
      let_go_.erase(it);
      return true;
    }
  }
  return false;
}

bool Engine::give_up(ValueId id, Bytes need_bytes) {
  Value& v = lineage_.value(id);
  const bool offload = may_offload(v);
  Eviction why{};
  describe_need(need_bytes, why);
  const Candidate candidate = policy_.weigh(id, may_drop(v) && !(offload && prefer_offload_), offload);
  why.score = why.runner_up_score = policy_.score(candidate.rank, now_ns_);
  why.leave = v.to_host && offload ? Leave::kOffload : candidate.leave;
  why.candidates = static_cast<std::uint32_t>(let_go_.size());
  if (evict(id, why) == Evicted::kDone) return true;
  v.refused = attempt_;
  return false;
}

Status Engine::bring_back(std::span<const BufferId> buffers) {
  if (failing_) return Status::kCorrupt;
  lost_.clear();
  for (const BufferId buffer : buffers) {
    const ValueId current = memory_.buffer(buffer).current;
    if (!current) continue;
    Value& v = lineage_.value(current);
    v.let_go = false;
    if (v.resident()) {
      reserve(current);
    } else {
      lost_.push_back(current);
    }
  }
  advised_ = true;
  const Status status = make_resident(lost_);
  advised_ = false;
  if (status != Status::kOk) settle_brought();
  abandon();
  drop_dead();
  return status;
}

}  // namespace refrain::engine
