// See forward.hpp.
#include "planner/forward.hpp"

#include <algorithm>
#include <numeric>

namespace refrain::planner {

Forward::Forward(const Iteration& iteration, const Uses& uses, const Step& step)
    : iteration_(iteration),
      uses_(uses),
      step_(step),
      depth_(depths_in(iteration, uses, step.begin, step.end)),
      stashed_bytes_(step.turn - step.begin),
      crossing_bytes_(step.turn - step.begin + 1),
      crossing_values_(crossing_bytes_.size()) {
  for (OpIndex op = step.begin; op < step.turn; ++op) {
    for (const ValueIndex value : iteration.ops[op].writes) {
      if (!may_go(value)) continue;
      const std::int64_t bytes = iteration.values[value].bytes;
      if (is_stashed(value)) stashed_bytes_[op - step.begin] += bytes;
      const OpIndex last = last_reader_in_pass(value);
      crossing_bytes_[op + 1 - step.begin] += bytes;
      crossing_bytes_[last + 1 - step.begin] -= bytes;
      ++crossing_values_[op + 1 - step.begin];
      --crossing_values_[last + 1 - step.begin];
    }
    all_stashed_bytes_ += stashed_bytes_[op - step.begin];
    if (stashed_bytes_[op - step.begin] > 0) ++stashing_ops_;
  }
  std::partial_sum(crossing_bytes_.begin(), crossing_bytes_.end(), crossing_bytes_.begin());
  std::partial_sum(crossing_values_.begin(), crossing_values_.end(), crossing_values_.begin());
}

bool Forward::may_go(ValueIndex value) const {
  const OpIndex op = uses_.producer(value);
  if (op == kNobody || op < step_.begin || op >= step_.turn || !iteration_.ops[op].replayable) return false;
  if (iteration_.values[value].wanted || uses_.readers(value).empty()) return false;
  const OpIndex last = uses_.last_reader(value);
  if (last >= step_.end) return false;
  return last < step_.turn || depth_[last - step_.begin] > depth_[op - step_.begin] + 1;
}

bool Forward::is_stashed(ValueIndex value) const {
  return may_go(value) && uses_.last_reader(value) >= step_.turn;
}

OpIndex Forward::last_reader_in_pass(ValueIndex value) const {
  const auto readers = uses_.readers(value);
  const auto after = std::lower_bound(readers.begin(), readers.end(), step_.turn);
  return after == readers.begin() ? uses_.producer(value) : *(after - 1);
}

}  // namespace refrain::planner
