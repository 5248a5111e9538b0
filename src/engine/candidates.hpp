// Resident values in the order in which a policy would give them up, without looking at all of them: each has
// a bound that its true cost is never below, the lowest bound is looked at first, and what has been looked at
// gets its true cost for a bound, until something may have made it cheaper.
//
// Costs of neighbourhoods rise when values are lost, which leaves bounds as they are, true or too low; those
// next to an evicted value are raised by what they count it for, or many of them would be looked at in vain.
// They fall when a lost value is found again or forgotten: then every resident value that counted it is
// lowered, by a walk over the lost values around it. Staleness only shrinks when a value is used, which again
// leaves bounds too low. So the lowest bound never passes over a value that is cheaper; candidates_test.cpp
// compares with a full scan after every op of random programs.
//
// Does nothing at all until the first decision: a program without pressure pays nothing.
#pragma once

#include <vector>

#include "engine/lineage.hpp"
#include "engine/tournament.hpp"

namespace refrain::engine {

class Candidates {
 public:
  Candidates(Lineage& lineage, bool by_staleness) : lineage_(lineage), tournament_(by_staleness) {}

  void on_resident(ValueId value);
  void on_absent(ValueId value);
  // A value whose bytes could only be computed can be copied now, or will never be needed again.
  void on_found(ValueId value);
  // It costs so much more from now on, but never more than most_ns: until something is found that it counts.
  void raise(ValueId value, double ns, double most_ns);
  // What is cheap to have of it has changed.
  void on_changed(ValueId value);
  // All may have become cheaper. residents: every resident value.
  void reset() { begun_ = false; }

  // A decision: `begin`, then `lowest` until enough have been looked at, then `end`. bound_of(value) is a
  // rank that is cheap to have and never above the true one; with an infinite numerator the value can never
  // leave.
  template <class BoundOf>
  void begin(double now_ns, const std::vector<ValueId>& residents, const BoundOf& bound_of) {
    begin_epoch(now_ns, residents);
    for (const std::uint32_t slot : changed_) {
      is_changed_[slot] = false;
      if (states_[slot] == State::kNew) bounds_[slot] = bound_of(ValueId{slot});
      enter(slot, states_[slot] == State::kNew || states_[slot] == State::kIn ? bounds_[slot] : Rank{});
    }
    changed_.clear();
    tournament_.finish_setting();
  }
  // None: no more.
  ValueId lowest() {
    const std::uint32_t slot = tournament_.lowest(now_ns_);
    return slot == Tournament::kNobody ? ValueId{} : ValueId{slot};
  }
  double bound(ValueId value) const { return tournament_.score(value.index); }
  // Not again in this decision; the rank is its bound for the next.
  void set_aside(ValueId value, const Rank& rank);
  void end();
  // Values that take part, without those set aside.
  std::uint32_t count() const noexcept { return count_; }

 private:
  // kNew: its cheap bound is not known yet. kOut: it can never leave.
  enum class State : std::uint8_t { kAbsent, kNew, kIn, kOut };

  void change(ValueId value, State state);
  void begin_epoch(double now_ns, const std::vector<ValueId>& residents);
  void enter(std::uint32_t slot, const Rank& bound);
  void make_slots();
  void walk(ValueId value, bool down);
  void lower(ValueId value);

  Lineage& lineage_;
  Tournament tournament_;
  bool begun_ = false;  // since the last reset
  double now_ns_ = 0;
  std::uint32_t count_ = 0;
  std::vector<State> states_;           // by slot, which is the value's index
  std::vector<Rank> bounds_;            // the cheap ones, of kIn: true for as long as the value is there
  std::vector<bool> takes_part_;        // as the tournament was last told
  std::vector<bool> is_changed_;        // in changed_
  std::vector<std::uint32_t> changed_;  // since the tournament was last told
  struct Aside {
    std::uint32_t slot;
    Rank rank;
  };
  std::vector<Aside> aside_;
  // Lost values that a walk has been through since the last decision, each way: what is behind them has been
  // lowered, and only decisions raise bounds.
  std::uint64_t epoch_ = 1;
  std::vector<std::uint64_t> walked_[2];
  std::vector<ValueId> stack_;
};

}  // namespace refrain::engine
