// The runtime of the DTR authors' simulator (github.com/uwsampl/dtr-prototype, simrd), rule by rule, so that
// its published scores can be had again and what beats them is known to. It is a runtime of its own because
// its rules are not the engine's: the engine knows no views, never holds more of a chain than it needs, and
// drops what was computed on the way; this one locks the parents of every level of a recomputation at once,
// and leaves all that it made to be evicted.
#pragma once

#include <vector>

#include "engine/settings.hpp"
#include "simulate/operator_log.hpp"

namespace refrain::simulate {

// What becomes of a storage that the program can no longer read: evicted at once, but can be computed again
// (their best, RuntimeV2EagerOptimized); freed for ever as soon as nothing evicted needs it, and what was
// made from it pinned (RuntimeV1); or nothing, releases are not heard of.
enum class Deallocation : std::uint8_t { kEager, kBanish, kIgnore };

// kThrashed: stopped, because recomputation took more than the base compute.
enum class Outcome : std::uint8_t { kOk, kOutOfMemory, kThrashed };

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

struct PublishedResult {
  Outcome outcome = Outcome::kOk;
  std::uint64_t base_ns = 0;   // of all ops, once
  std::uint64_t clock_ns = 0;  // where it ended, from 1 ns
  std::uint64_t peak_bytes = 0;
  std::uint64_t evictions = 0;  // also at a release
  std::uint64_t rematerialised_ops = 0;
  std::vector<std::uint32_t> decision_ns;  // wall time of each choice of a victim
  double total_over_base() const { return static_cast<double>(clock_ns) / static_cast<double>(base_ns); }
};

// policy and deallocation: such that is_defined.
PublishedResult run_published(const OperatorLog& log, const PublishedSettings& settings);

}  // namespace refrain::simulate
