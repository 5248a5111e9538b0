// Changes to a timeline that make sense: a value recomputed before a run with what that needs, a
// recomputation taken out with what it alone needed. Everything can be taken back. Must not choose what to
// change.
//
// No thread safety; needs the iteration to outlive it.
#pragma once

#include <limits>
#include <vector>

#include "planner/timeline.hpp"

namespace refrain::planner {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

class Editor {
 public:
  Editor(const Iteration& iteration, std::int64_t cap_bytes)
      : iteration_(iteration), timeline_(iteration), cap_bytes_(cap_bytes) {
    visited_.assign(iteration.values.size(), 0);
  }

  const Timeline& timeline() const { return timeline_; }
  std::int64_t cap_bytes() const { return cap_bytes_; }
  void set_cap_bytes(std::int64_t bytes) { cap_bytes_ = bytes; }
  // What it costs elsewhere to have a byte more over the cap: by this, keeping something is weighed against
  // recomputing it.
  double ns_per_byte() const { return ns_per_byte_; }
  void set_ns_per_byte(double price) { ns_per_byte_ = price; }

  void set_keep_weight(double weight) { keep_weight_ = weight; }

  // What recomputing the value right before the run is expected to cost, with the ancestors that are cheaper
  // to recompute than to keep, or restoring it where that is cheaper; kNever when it is not below the limit,
  // or not possible.
  double cost_of(ValueIndex value, RunId before, double limit_ns);
  // Does it. What became superfluous is removed: earlier recomputations that nobody reads any more, later
  // ones that the cap does not need.
  void recompute(ValueIndex value, RunId before);
  // Of a recomputation, with those that only it needed.
  void remove(RunId run);
  // Only if what is kept in its place fits under the cap.
  bool try_remove(RunId run);

  // Takes out all recomputations.
  void clear();
  // In their place, those of a list of runs: the ops in order.
  void take_up(const std::vector<OpIndex>& ops);

  std::size_t mark() const { return journal_.size(); }
  void undo(std::size_t mark);
  void forget() { journal_.clear(); }
  // The highest memory at the recomputations inserted since the mark; kLeastBytes without one.
  std::int64_t peak_of_insertions(std::size_t mark) const;

 private:
  struct Edit {
    RunId run;
    OpIndex op;
    bool inserted;
    std::uint32_t stage, index;  // where it was, if removed
  };

  double cost_of_having(ValueIndex value, RunId before, double limit_ns, int depth);
  double cost_of_running(OpIndex op, RunId before, double limit_ns, int depth);
  double cost_of_keeping(ValueIndex value, RunId from, RunId before) const;
  double cost_of_restoring(ValueIndex value) const;
  void restore(ValueIndex value);
  void note_others(RunId run);
  bool is_unread(RunId run) const;
  void insert(OpIndex op, RunId before);
  void erase(RunId run);

  const Iteration& iteration_;
  Timeline timeline_;
  std::int64_t cap_bytes_;
  double ns_per_byte_ = 0;
  double keep_weight_ = 1;
  std::vector<Edit> journal_;
  // The ops of the last cost_of, in order; the values that they write are marked by its number.
  std::vector<OpIndex> recipe_;
  std::vector<std::uint32_t> visited_;
  std::uint32_t visit_ = 0;
  std::vector<RunId> superseded_, later_, doubtful_;
};

}  // namespace refrain::planner
