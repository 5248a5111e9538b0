// Keeping bounds below costs. Must not compute a neighbourhood's cost.
#include "engine/candidates.hpp"

namespace refrain::engine {

void Candidates::make_slots() {
  if (states_.size() == lineage_.value_slots()) return;
  states_.resize(lineage_.value_slots(), State::kAbsent);
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
  change(value, State::kUnknown);
  on_found(value);
}

void Candidates::on_absent(ValueId value) {
  if (begun_) change(value, State::kAbsent);
}

void Candidates::lower(ValueId value) {
  if (!begun_) return;
  make_slots();
  if (states_[value.index] == State::kBounded) change(value, State::kUnknown);
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
  std::vector<std::uint32_t>& walked = walked_[down ? 1 : 0];
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

void Candidates::begin(double now_ns, const std::vector<ValueId>& residents) {
  now_ns_ = now_ns;
  ++epoch_;
  if (!begun_) {
    begun_ = true;
    for (std::uint32_t slot = 0; slot < states_.size(); ++slot) change({slot}, State::kAbsent);
    for (const ValueId id : residents) change(id, State::kUnknown);
  }
  tournament_.lowest(now_ns);
  for (const std::uint32_t slot : changed_) apply(slot);
  changed_.clear();
  tournament_.finish_setting();
}

void Candidates::apply(std::uint32_t slot) {
  is_changed_[slot] = false;
  const bool takes_part = states_[slot] == State::kUnknown;
  if (takes_part != takes_part_[slot]) takes_part ? ++count_ : --count_;
  takes_part_[slot] = takes_part;
  // What nothing is known of is looked at first.
  tournament_.set_later(slot, takes_part ? Rank{.numerator = 0, .bytes = 1, .last_access_ns = 0} : Rank{});
}

void Candidates::set_bound(ValueId value, const Rank& rank) {
  states_[value.index] = State::kBounded;
  tournament_.set(value.index, rank);
}

void Candidates::set_aside(ValueId value, const Rank& rank) {
  --count_;
  tournament_.set(value.index, {});
  aside_.push_back({value.index, rank});
}

void Candidates::take_out(ValueId value) {
  --count_;
  takes_part_[value.index] = false;
  states_[value.index] = State::kOut;
  tournament_.set(value.index, {});
}

void Candidates::end() {
  for (const Aside& aside : aside_) tournament_.set(aside.slot, aside.rank);
  count_ += static_cast<std::uint32_t>(aside_.size());
  aside_.clear();
}

}  // namespace refrain::engine
