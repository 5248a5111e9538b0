// Keeping bounds below costs. Must not compute a neighbourhood's cost.
#include "engine/candidates.hpp"

namespace refrain::engine {

void Candidates::make_slots() {
  if (states_.size() == lineage_.value_slots()) return;
  states_.resize(lineage_.value_slots(), State::kAbsent);
  bounds_.resize(states_.size());
  is_changed_.resize(states_.size());
  takes_part_.resize(states_.size());
  walked_[0].resize(states_.size());
  walked_[1].resize(states_.size());
}

void Candidates::change(ValueId value, State state) {
  make_slots();
  states_[value.index] = state;
  if (is_changed_[value.index]) return;
  is_changed_[value.index] = true;
  changed_.push_back(value.index);
}

void Candidates::on_resident(ValueId value) {
  if (!begun_) return;
  change(value, State::kNew);
  on_found(value);
}

void Candidates::on_absent(ValueId value) {
  if (begun_) change(value, State::kAbsent);
}

void Candidates::lower(ValueId value) {
  if (states_[value.index] == State::kIn) change(value, State::kIn);
}

// What has been lowered since the last decision has its cheap bound from the next one on, whatever is said
// here.
void Candidates::raise(ValueId value, double ns, double most_ns) {
  if (!begun_ || value.index >= states_.size()) return;
  if (states_[value.index] != State::kIn || is_changed_[value.index]) return;
  Rank rank = tournament_.rank(value.index);
  if (rank.numerator == std::numeric_limits<double>::infinity()) return;
  rank.numerator = std::max(rank.numerator, std::min(rank.numerator + ns, most_ns));
  tournament_.set_later(value.index, rank);
}

void Candidates::on_changed(ValueId value) {
  if (begun_) change(value, State::kNew);
}

void Candidates::on_found(ValueId value) {
  if (!begun_) return;
  walk(value, true);
  walk(value, false);
}

// From the value through lost ones, to those made from it or to those that it was made from: the resident
// values at the end have counted it.
void Candidates::walk(ValueId start, bool down) {
  make_slots();
  std::vector<std::uint64_t>& walked = walked_[down ? 1 : 0];
  const auto reach = [&](ValueId id) {
    if (!id) return;
    const Value& v = lineage_.value(id);
    if (v.resident()) return lower(id);
    if (walked[id.index] == epoch_) return;
    walked[id.index] = epoch_;
    stack_.push_back(id);
  };
  stack_.assign(1, start);
  while (!stack_.empty()) {
    const Value& v = lineage_.value(stack_.back());
    stack_.pop_back();
    if (down) {
      for (const OpId consumer : v.consumers) {
        for (const OpUse& use : lineage_.op(consumer).uses) reach(use.output);
      }
    } else if (v.producer) {
      for (const OpUse& use : lineage_.op(v.producer).uses) reach(use.input);
    }
  }
}

void Candidates::begin_epoch(double now_ns, const std::vector<ValueId>& residents) {
  now_ns_ = now_ns;
  ++epoch_;
  if (!begun_) {
    begun_ = true;
    for (std::uint32_t slot = 0; slot < states_.size(); ++slot) change({slot}, State::kAbsent);
    for (const ValueId id : residents) change(id, State::kNew);
  }
  tournament_.lowest(now_ns);
}

void Candidates::enter(std::uint32_t slot, const Rank& bound) {
  const bool takes_part = bound.numerator < std::numeric_limits<double>::infinity();
  if (states_[slot] == State::kNew) states_[slot] = takes_part ? State::kIn : State::kOut;
  if (takes_part != takes_part_[slot]) takes_part ? ++count_ : --count_;
  takes_part_[slot] = takes_part;
  tournament_.set_later(slot, bound);
}

void Candidates::set_aside(ValueId value, const Rank& rank) {
  --count_;
  tournament_.set(value.index, {});
  aside_.push_back({value.index, rank});
}

// They are back when the next decision begins.
void Candidates::end() {
  for (const Aside& aside : aside_) tournament_.set_later(aside.slot, aside.rank);
  count_ += static_cast<std::uint32_t>(aside_.size());
  aside_.clear();
}

}  // namespace refrain::engine
