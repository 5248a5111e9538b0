// See editor.hpp.
#include "planner/editor.hpp"

#include <algorithm>

namespace refrain::planner {
namespace {
constexpr int kDeepest = 2000;  // ancestors in a row: a bound on the call stack
}

double Editor::cost_of(ValueIndex value, RunId before, double limit_ns) {
  ++visit_;
  recipe_.clear();
  const double restoring = cost_of_restoring(value);
  const double running =
      cost_of_running(timeline_.producer_of(value), before, std::min(limit_ns, restoring), 0);
  if (running < kNever || restoring >= limit_ns) return running;
  restore(value);
  return restoring;
}

double Editor::cost_of_restoring(ValueIndex value) const {
  const std::int64_t ns = iteration_.values[value].restore_ns;
  return ns == kNoRestore ? kNever : static_cast<double>(ns);
}

void Editor::restore(ValueIndex value) {
  recipe_.push_back(timeline_.restore_of(value));
  visited_[value] = visit_;
}

// Appends to the recipe what makes it so; leaves the recipe as it was where the answer is kNever.
double Editor::cost_of_running(OpIndex op, RunId before, double limit_ns, int depth) {
  if (!iteration_.ops[op].replayable || depth > kDeepest) return kNever;
  const std::size_t start = recipe_.size();
  double cost = static_cast<double>(iteration_.ops[op].recompute_ns);
  for (ValueIndex read : timeline_.reads(op)) {
    if (cost >= limit_ns) break;
    cost += cost_of_having(read, before, limit_ns - cost, depth + 1);
  }
  if (cost < limit_ns) {
    recipe_.push_back(op);
    for (ValueIndex written : timeline_.writes(op)) visited_[written] = visit_;
    return cost;
  }
  for (std::size_t i = start; i < recipe_.size(); ++i)
    for (ValueIndex written : timeline_.writes(recipe_[i])) visited_[written] = 0;
  recipe_.resize(start);
  return kNever;
}

double Editor::cost_of_having(ValueIndex value, RunId before, double limit_ns, int depth) {
  if (visited_[value] == visit_) return 0;
  const auto events = timeline_.events(value);
  const std::size_t next = timeline_.event_at(value, before);
  if (next < events.size() && !events[next].write) return 0;  // kept anyway
  const double keeping = cost_of_keeping(value, events[next - 1].run, before);
  if (keeping == 0) return 0;
  const double restoring = cost_of_restoring(value);
  const double otherwise = std::min(keeping, restoring);
  const double running =
      cost_of_running(timeline_.producer_of(value), before, std::min(limit_ns, otherwise), depth);
  if (running < kNever) return running;
  if (otherwise >= limit_ns) return kNever;
  if (restoring < keeping) restore(value);
  return otherwise;
}

double Editor::cost_of_keeping(ValueIndex value, RunId from, RunId before) const {
  const std::int64_t bytes = timeline_.bytes_of(value);
  if (bytes == 0) return 0;
  const std::int64_t peak = std::max(timeline_.peak_between(from, before), timeline_.bytes_before(before));
  return keep_weight_ * ns_per_byte_ *
         static_cast<double>(std::clamp<std::int64_t>(peak + bytes - cap_bytes_, 0, bytes));
}

void Editor::recompute(ValueIndex value, RunId before) {
  cost_of(value, before, kNever);
  superseded_.clear();
  later_.clear();
  const std::size_t start = journal_.size();
  for (OpIndex op : recipe_) insert(op, before);
  for (std::size_t i = start; i < journal_.size(); ++i) note_others(journal_[i].run);
  for (RunId run : superseded_)
    if (timeline_.exists(run) && is_unread(run)) remove(run);
  for (RunId run : later_)
    if (timeline_.exists(run)) try_remove(run);
}

// The runs that wrote what this one writes before it, and those that will write it next after it.
void Editor::note_others(RunId run) {
  for (ValueIndex value : timeline_.writes(timeline_.op_of(run))) {
    const auto events = timeline_.events(value);
    std::size_t i = timeline_.event_at(value, run);
    if (events[i - 1].write) superseded_.push_back(events[i - 1].run);
    for (++i; i < events.size() && !events[i].write;) ++i;
    if (i < events.size()) later_.push_back(events[i].run);
  }
}

bool Editor::is_unread(RunId run) const {
  if (!timeline_.is_recomputation(run)) return false;
  for (ValueIndex value : timeline_.writes(timeline_.op_of(run))) {
    const auto events = timeline_.events(value);
    const std::size_t next = timeline_.event_at(value, run) + 1;
    if (next < events.size() && !events[next].write) return false;
  }
  return true;
}

void Editor::remove(RunId run) {
  doubtful_.assign(1, run);
  for (bool first = true; !doubtful_.empty(); first = false) {
    const RunId next = doubtful_.back();
    doubtful_.pop_back();
    if (!first && !(timeline_.exists(next) && is_unread(next))) continue;
    for (ValueIndex read : timeline_.reads(timeline_.op_of(next))) {
      const auto& source = timeline_.events(read)[timeline_.event_at(read, next) - 1];
      if (source.write && timeline_.is_recomputation(source.run)) doubtful_.push_back(source.run);
    }
    erase(next);
  }
}

bool Editor::try_remove(RunId run) {
  std::size_t kept = 0;
  RunId first = run;
  for (ValueIndex value : timeline_.writes(timeline_.op_of(run))) {
    const auto events = timeline_.events(value);
    const std::size_t i = timeline_.event_at(value, run);
    if (i + 1 == events.size() || events[i + 1].write) continue;
    const RunId last = events[i - 1].run;
    if (timeline_.peak_between(last, run) + timeline_.bytes_of(value) > cap_bytes_) return false;
    if (timeline_.position(last) < timeline_.position(first)) first = last;
    ++kept;
  }
  const std::size_t start = mark();
  const std::uint32_t stage = timeline_.stage_of(run);
  remove(run);
  // Each fits alone; together they may not.
  if (kept < 2 || timeline_.peak_between(first, timeline_.runs_of(stage).back()) <= cap_bytes_) return true;
  undo(start);
  return false;
}

void Editor::clear() {
  while (!timeline_.recomputations().empty()) erase(timeline_.recomputations().back());
}

void Editor::take_up(const std::vector<OpIndex>& ops) {
  clear();
  OpIndex next = 0;
  for (const OpIndex op : ops) {
    if (op == next)
      ++next;
    else
      insert(op, next);
  }
}

void Editor::insert(OpIndex op, RunId before) {
  journal_.push_back({timeline_.insert(op, before), op, true, 0, 0});
}

void Editor::erase(RunId run) {
  journal_.push_back({run, timeline_.op_of(run), false, timeline_.stage_of(run), timeline_.index_of(run)});
  timeline_.remove(run);
}

void Editor::undo(std::size_t mark) {
  while (journal_.size() > mark) {
    const Edit edit = journal_.back();
    journal_.pop_back();
    if (edit.inserted)
      timeline_.remove(edit.run);
    else
      timeline_.insert_as(edit.run, edit.op, edit.stage, edit.index);
  }
}

std::int64_t Editor::peak_of_insertions(std::size_t mark) const {
  std::int64_t peak = kLeastBytes;
  for (std::size_t i = mark; i < journal_.size(); ++i)
    if (journal_[i].inserted && timeline_.exists(journal_[i].run))
      peak = std::max(peak, timeline_.bytes_at(journal_[i].run));
  return peak;
}

}  // namespace refrain::planner
