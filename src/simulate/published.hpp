// The runtime of the DTR authors' simulator (github.com/uwsampl/dtr-prototype, simrd), rule by rule, so that
// its published scores can be had again and what beats them is known to. It is a runtime of its own because
// its rules are not the engine's: the engine knows no views, never holds more of a chain than it needs, and
// drops what was computed on the way; this one locks the parents of every level of a recomputation at once,
// and leaves all that it made to be evicted.
#pragma once

#include "engine/settings.hpp"
#include "simulate/operator_log.hpp"
#include "simulate/outcome.hpp"

namespace refrain::simulate {

// What becomes of a storage that the program can no longer read: evicted at once, but can be computed again
// (their best, RuntimeV2EagerOptimized); freed for ever as soon as nothing evicted needs it, and what was
// made from it pinned (RuntimeV1); or nothing, releases are not heard of.
enum class Deallocation : std::uint8_t { kEager, kBanish, kIgnore };

struct PublishedSettings {
  engine::PolicyKind policy = engine::PolicyKind::kDtr;
  Deallocation deallocation = Deallocation::kEager;
  std::uint64_t budget_bytes = engine::kNoCap;
  double most_total_over_base = 2.0;
  std::uint64_t seed = 1;  // of random choices
};

// With kBanish there are neither regions nor classes: h_DTR_eq and h_MSPS are not defined, and h_DTR is of
// the undirected neighbourhood and its most recent access.
bool is_defined(engine::PolicyKind policy, Deallocation deallocation);

// policy and deallocation: such that is_defined. Of the result: evictions are also those at a release;
// rematerialisations are ops that ran again; the clock starts at 1 ns, and total_ns is where it ended.
Result run_published(const OperatorLog& log, const PublishedSettings& settings);

}  // namespace refrain::simulate
