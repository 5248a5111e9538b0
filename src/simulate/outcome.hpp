// What a simulated run came to, whichever runtime it was.
#pragma once

#include <cstdint>

#include "simulate/decision_times.hpp"

namespace refrain::simulate {

// kThrashed: stopped, because all op time had passed the set multiple of the base compute.
enum class Outcome : std::uint8_t { kOk, kOutOfMemory, kThrashed };

struct Result {
  Outcome outcome = Outcome::kOk;
  double base_ns = 0;    // of all ops, once
  double total_ns = 0;   // of all ops that ran; where it ended early, until then
  double device_ns = 0;  // with transfers, fills and page mapping, where these take time
  std::uint64_t peak_bytes = 0;
  std::uint64_t evictions = 0;
  std::uint64_t rematerialisations = 0;  // values of the program's that came back
  // kDirectedRun: a static scheme, followed in the engine. kPaper: nothing ran: a plan's own account.
  enum class Account : std::uint8_t { kRun, kGuidedRun, kDirectedRun, kPaper };
  Account account = Account::kRun;
  // Of kGuidedRun: plans that were taken up, and given up because they cost more; ops of the program's, and
  // of these, that a plan expected; how often the program left one.
  std::uint64_t plans = 0;
  std::uint64_t given_up = 0;
  std::uint64_t ops = 0;
  std::uint64_t planned_ops = 0;
  std::uint64_t left = 0;
  DecisionTimes decisions;
  double total_over_base() const { return total_ns / base_ns; }
};

}  // namespace refrain::simulate
