// Ops in the order in which they run, the program's own and recomputations, and the schedule that follows:
// a value stays from a run that writes it to the last read before it is written again. Must not choose what
// to recompute.
#pragma once

#include <vector>

#include "planner/iteration.hpp"

namespace refrain::planner {

class Order {
 public:
  explicit Order(const Iteration& iteration) : iteration_(iteration) {}

  void run(OpIndex op) { actions_.push_back({Action::Kind::kRun, op}); }
  void recompute(OpIndex op) { actions_.push_back({Action::Kind::kRecompute, op}); }

  // Each op has run, in order. Total and peak are what check_schedule says; throws std::logic_error where it
  // finds a problem.
  Schedule schedule() const;

 private:
  const Iteration& iteration_;
  std::vector<Action> actions_;  // without drops
};

}  // namespace refrain::planner
