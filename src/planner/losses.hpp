// Which values are lost, and what would have to run to have some of them again. Must not run it.
#pragma once

#include <span>

#include "planner/uses.hpp"

namespace refrain::planner {

// Needs the iteration and its uses to outlive it. No thread safety.
class Losses {
 public:
  Losses(const Iteration& iteration, const Uses& uses)
      : iteration_(iteration), uses_(uses), lost_(iteration.values.size()) {}

  void lose(ValueIndex value) { lost_[value] = true; }
  void regain(ValueIndex value) { lost_[value] = false; }
  bool is_lost(ValueIndex value) const { return lost_[value]; }

  // The ops that write these values, and what of their inputs is lost, and so on; in the order of the
  // program.
  std::vector<OpIndex> ops_for(std::span<const ValueIndex> values) const;

 private:
  const Iteration& iteration_;
  const Uses& uses_;
  std::vector<bool> lost_;
};

}  // namespace refrain::planner
