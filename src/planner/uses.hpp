// Who writes and who reads each value of an iteration. Must not judge what that means.
#pragma once

#include <span>
#include <vector>

#include "planner/iteration.hpp"

namespace refrain::planner {

inline constexpr OpIndex kNobody = UINT32_MAX;

// The iteration has no problem_of. No thread safety.
class Uses {
 public:
  explicit Uses(const Iteration& iteration);

  OpIndex producer(ValueIndex value) const { return producer_[value]; }  // kNobody: constant
  // In the order in which they run.
  std::span<const OpIndex> readers(ValueIndex value) const {
    return {readers_.data() + from_[value], from_[value + 1] - from_[value]};
  }
  bool read_in(ValueIndex value, OpIndex begin, OpIndex end) const;
  // Of a value that somebody reads.
  OpIndex last_reader(ValueIndex value) const { return readers(value).back(); }

 private:
  std::vector<OpIndex> producer_, readers_;
  std::vector<std::size_t> from_;
};

}  // namespace refrain::planner
