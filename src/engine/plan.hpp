// The order in which lost values are computed again. A plan is only a list: making it changes nothing, and it
// knows nothing of memory; the engine carries it out step by step.
//
// Every step is one recorded op, or brings one value back from its host copy. An op's reads are served by
// values that are resident or by instances that earlier steps made; each of its writes goes to an instance. A
// write that starts from an older version of its buffer gets that version first: copied, if there is one on
// the device or the host, else computed in place by earlier steps (a private instance).
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "engine/lineage.hpp"

namespace refrain::engine {

enum class InstanceKind {
  kKept,     // somebody reads it: the plan's target or a later step
  kDiscard,  // a side output that nobody asked for
  kPrivate,  // an older version, made where the version that overwrites it will be
};

struct Instance {
  ValueId value;  // none for a discarded output that is remembered no longer
  InstanceKind kind = InstanceKind::kDiscard;
  std::int32_t overwritten_by = -1;  // kPrivate: the instance that takes its storage over
  std::uint32_t reads = 0;           // by steps of this plan
  bool target = false;
  Bytes bytes = 0;
};

struct StepUse {
  std::int32_t instance = -1;  // read from or written to; -1: `resident` is read where it is
  ValueId resident;            // for a read: the value; for a write: the old version to copy in first, which
                               // may be on the host
};

struct Step {
  OpId op;                    // none: the only use's instance is copied in from the host
  std::vector<StepUse> uses;  // one for each of the op's
};

struct Plan {
  std::vector<Instance> instances;
  std::vector<Step> steps;
  std::vector<ValueId> boundary;  // the `resident` of all uses: must be at hand until that step is done
};

// How to make every target resident. Targets have no location; they have a producer or a host copy. A target
// on probation is computed again although there is a copy of it; it must be the only one, so that nothing is
// made from it before it has been compared.
Plan plan_rematerialisation(const Lineage& lineage, std::span<const ValueId> targets);

}  // namespace refrain::engine
