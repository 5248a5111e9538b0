// Plans an iteration under a cap: what to drop, and what to recompute when, so that little is recomputed.
//
// A pure algorithm: it asks no clock, does no I/O, starts no thread; the caller says how far its time has
// gone. The same iteration, cap, seed and answers give the same plan. No thread safety: one thread at a time.
// The problem is that of Jain et al., "Checkmate" (MLSys 2020): here solved by local search on the order of
// runs.
#pragma once

#include <functional>

#include "planner/repair.hpp"

namespace refrain::planner {

// How much of the caller's time is gone: 0 at first, 1 or more when it is to stop. Asked every few
// microseconds to milliseconds.
using Progress = std::function<double()>;

class Planner {
 public:
  // The iteration has no problem_of, and outlives the planner. stopped: of a caller who cannot wait; where it
  // says so, everything ends within one drop of a value, with what had been found before.
  Planner(const Iteration& iteration, std::int64_t cap_bytes, std::uint32_t seed,
          std::function<bool()> stopped = nullptr);

  // A first plan, in milliseconds where the cap is not low. False: none found, or none exists.
  bool start(const Progress& progress);
  // Better ones, for as long as there is time. Only after start.
  void improve(const Progress& progress);

  // Of the best plan so far.
  std::int64_t recomputed_ns() const { return best_ns_; }
  Schedule schedule() const;

 private:
  bool start_at_once();
  bool lower_the_cap(std::int64_t goal_bytes, const Progress& progress);
  void begin_anew(const Progress& progress);
  // Between two points of progress, from a temperature down.
  struct Cooling {
    double from, to, hot;
  };
  std::int64_t anneal(const Progress& progress, const Cooling& cooling);
  bool change(double allowed_ns);
  void take_out(RunId first);
  void take_out_across(std::uint32_t stage);
  void take_out_all(OpIndex op);
  bool run_earlier(RunId run);
  RunId earlier_place(RunId run);
  std::uint32_t missing_since(RunId run) const;
  double random_weight(double low, double high);
  void fill(std::size_t tries);
  void keep_if_best();

  const Iteration& iteration_;
  Random random_, best_random_;
  Editor editor_;
  Repair repair_;
  unsigned trial_bits_;
  double first_price_ = 0;    // ns per byte
  std::int64_t base_ns_ = 0;  // of the program's own runs
  std::int64_t best_ns_ = INT64_MAX, best_peak_bytes_ = 0;
  std::vector<OpIndex> best_;  // the ops in the order of the runs
  std::vector<RunId> same_;
};

// No run's own values fit under less; with constants.
std::int64_t least_bytes(const Iteration& iteration);

}  // namespace refrain::planner
