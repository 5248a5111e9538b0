// See planner.hpp. A change of the plan: a few recomputations are taken out or done earlier, what is then
// over the cap is repaired, what now fits is left out. Must not judge whether it is kept.
#include <algorithm>
#include <cmath>

#include "planner/planner.hpp"

namespace refrain::planner {
namespace {

// All measured on the published logs (docs/planning.md).
constexpr double kNoise = 3.0;
constexpr double kLowWeight = 3, kHighWeight = 10;
constexpr std::size_t kRounds = 50;
constexpr std::size_t kFillTries = 64;
constexpr double kEarlier = 0.3;  // of the changes; the others take out
constexpr double kAmple = 0.3;    // of the repairs
constexpr std::size_t kMostRemoved = 3;
// Which more are taken out: those that run soon after, those missing at the same time, those of the same op.
constexpr double kSoon = 0.6, kAcross = 0.2;
constexpr std::uint32_t kNear = 16;  // stages
constexpr int kAcrossTries = 3;

}  // namespace

double Planner::random_weight(double low, double high) {
  return low * std::pow(high / low, uniform(random_));
}

bool Planner::change(double allowed_ns) {
  const Timeline& timeline = editor_.timeline();
  const auto all = timeline.recomputations();
  const RunId first = all[random_() % all.size()];
  editor_.set_keep_weight(random_weight(kLowWeight, kHighWeight));
  if (uniform(random_) >= kEarlier)
    take_out(first);
  else if (!run_earlier(first))
    return false;
  const auto limit = static_cast<std::int64_t>(allowed_ns);
  if (!repair_({.limit_ns = limit,
                .most_rounds = kRounds,
                .noise = kNoise,
                .ample = uniform(random_) < kAmple,
                .trials = std::size_t{1} << random_() % trial_bits_}))
    return false;
  fill(kFillTries);
  return timeline.recomputed_ns() <= limit;
}

// What is taken out together should make room for one another, or be there for one another's sake.
void Planner::take_out(RunId first) {
  const Timeline& timeline = editor_.timeline();
  const OpIndex op = timeline.op_of(first);
  const std::uint32_t stage = timeline.stage_of(first), gap = missing_since(first);
  const auto moment = gap + static_cast<std::uint32_t>(random_() % (stage - gap + 1));
  editor_.remove(first);
  for (std::size_t more = random_() % kMostRemoved; more > 0; --more) {
    const double kind = uniform(random_);
    if (kind < kSoon) {
      const auto runs = timeline.runs_of(
          std::min<std::uint32_t>(timeline.end(), stage + static_cast<std::uint32_t>(random_() % kNear)));
      if (runs.size() > 1) editor_.remove(runs[random_() % (runs.size() - 1)]);
    } else if (kind < kSoon + kAcross) {
      take_out_across(moment);
    } else {
      take_out_all(op);
    }
  }
}

void Planner::take_out_across(std::uint32_t stage) {
  const Timeline& timeline = editor_.timeline();
  const auto all = timeline.recomputations();
  for (int tries = 0; tries < kAcrossTries && !all.empty(); ++tries) {
    const RunId run = all[random_() % all.size()];
    if (timeline.stage_of(run) < stage || missing_since(run) > stage) continue;
    editor_.remove(run);
    return;
  }
}

void Planner::take_out_all(OpIndex op) {
  const Timeline& timeline = editor_.timeline();
  same_.clear();
  for (const RunId run : timeline.recomputations())
    if (timeline.op_of(run) == op) same_.push_back(run);
  for (const RunId run : same_)
    if (timeline.exists(run)) editor_.remove(run);
}

// The first stage from which on something that the recomputation brings back is missing.
std::uint32_t Planner::missing_since(RunId run) const {
  const Timeline& timeline = editor_.timeline();
  std::uint32_t stage = timeline.stage_of(run);
  for (const ValueIndex value : timeline.writes(timeline.op_of(run))) {
    const auto events = timeline.events(value);
    const std::size_t at = timeline.event_at(value, run);
    if (at + 1 < events.size() && !events[at + 1].write) stage = std::min(stage, events[at - 1].stage);
  }
  return stage;
}

// Repairs recompute right before a read. Earlier, more of what it takes may still be there, and the result
// may be smaller than that.
bool Planner::run_earlier(RunId run) {
  const Timeline& timeline = editor_.timeline();
  const auto writes = timeline.writes(timeline.op_of(run));
  const ValueIndex value = writes[random_() % writes.size()];
  const auto events = timeline.events(value);
  const std::size_t at = timeline.event_at(value, run);
  if (at + 1 == events.size() || events[at + 1].write) return false;
  const RunId before = earlier_place(run);
  if (before == kNoRun || timeline.position(before) >= timeline.position(run) ||
      timeline.position(before) <= timeline.position(events[at - 1].run))
    return false;
  editor_.recompute(value, before);
  if (timeline.exists(run)) editor_.remove(run);
  return true;
}

// Where one of those that it is computed from, however far back, was last there and was not recomputed for
// it.
RunId Planner::earlier_place(RunId run) {
  const Timeline& timeline = editor_.timeline();
  for (;;) {
    const auto reads = timeline.reads(timeline.op_of(run));
    if (reads.empty()) return kNoRun;
    const ValueIndex read = reads[random_() % reads.size()];
    const auto events = timeline.events(read);
    std::size_t source = timeline.event_at(read, run) - 1;
    while (!events[source].write) --source;
    if (source == 0) return kNoRun;  // the program's own run: there all along
    run = events[source].run;
    if (random_() % 2 == 0) return timeline.next(events[source - 1].run);
  }
}

}  // namespace refrain::planner
