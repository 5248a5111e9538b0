// Brings a timeline under its cap: while some run needs too much, something kept over it is dropped there and
// recomputed before its next read. Which, is a matter of price; with noise, of chance too. Must not judge the
// whole.
#pragma once

#include <functional>
#include <random>
#include <utility>

#include "planner/editor.hpp"

namespace refrain::planner {

using Random = std::minstd_rand;

inline double uniform(Random& random) {
  return std::uniform_real_distribution<double>(0, 1)(random);
}

struct RepairEffort {
  std::int64_t limit_ns = 0;    // of recomputation: give up beyond
  std::size_t most_rounds = 0;  // give up beyond
  double share = 0;    // how much of the excess to take away before prices are looked at again; 0: one value
  double noise = 0;    // on prices, as an exponent; 0: none, and all candidates are looked at
  bool ample = false;  // what is freed beyond the excess counts too: something else may be kept instead
  std::function<bool()> stop = nullptr;  // asked before each drop: give up
  std::size_t trials = 0;                // so many candidates are tried out for what they really cost
};

class Repair {
 public:
  // stopped: as RepairEffort's stop, of every repair.
  Repair(Editor& editor, Random& random, std::function<bool()> stopped)
      : editor_(editor), random_(random), stopped_(std::move(stopped)) {}

  // False: given up, with the timeline still over the cap.
  bool operator()(const RepairEffort& effort);

 private:
  struct Candidate {
    double price;  // ns per byte
    ValueIndex value;
    RunId before;  // its next read
  };

  void find_candidates(RunId at, const RepairEffort& effort);
  void try_out(RunId at, const RepairEffort& effort);
  void drop(RunId at, double share);
  void follow_price(ValueIndex value, RunId before, std::int64_t excess);

  Editor& editor_;
  Random& random_;
  const std::function<bool()> stopped_;
  std::vector<Candidate> candidates_;
  std::vector<ValueIndex> kept_;
};

}  // namespace refrain::planner
