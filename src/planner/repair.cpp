// See repair.hpp.
#include "planner/repair.hpp"

#include <algorithm>
#include <cmath>

namespace refrain::planner {
namespace {

constexpr std::size_t kSample = 48;       // candidates looked at, with noise
constexpr std::int64_t kLeastShare = 8;   // those that hold less than one part in so many of the excess wait
constexpr double kLengthExponent = 0.15;  // dropping over a long time is worth a little more
constexpr double kPriceWeight = 0.05;     // of the newest price in the running mean

}  // namespace

bool Repair::operator()(const RepairEffort& effort) {
  const Timeline& timeline = editor_.timeline();
  for (std::size_t round = 0; timeline.peak_bytes() > editor_.cap_bytes(); ++round) {
    if (round == effort.most_rounds || timeline.recomputed_ns() > effort.limit_ns) return false;
    if ((stopped_ && stopped_()) || (effort.stop && effort.stop())) return false;
    const RunId at = timeline.peak_run();
    find_candidates(at, effort);
    if (candidates_.empty()) return false;
    std::sort(candidates_.begin(), candidates_.end(),
              [](const Candidate& a, const Candidate& b) { return a.price < b.price; });
    try_out(at, effort);
    drop(at, effort.share);
  }
  return true;
}

void Repair::find_candidates(RunId at, const RepairEffort& effort) {
  const double noise = effort.noise;
  const Timeline& timeline = editor_.timeline();
  const std::int64_t excess = timeline.bytes_at(at) - editor_.cap_bytes();
  const std::size_t most = noise > 0 ? kSample : timeline.value_count();
  const auto from = static_cast<ValueIndex>(noise > 0 ? random_() % timeline.value_count() : 0);
  timeline.find_kept_over(at, noise > 0 ? std::max<std::int64_t>(1, excess / kLeastShare) : 1, from, most,
                          kept_);
  if (kept_.size() < 4) timeline.find_kept_over(at, 1, from, most, kept_);
  candidates_.clear();
  for (ValueIndex value : kept_) {
    const auto events = timeline.events(value);
    const std::size_t next = timeline.event_at(value, at);
    const double cost = editor_.cost_of(value, events[next].run, kNever);
    if (cost == kNever) continue;
    const double relief = static_cast<double>(effort.ample ? timeline.bytes_of(value)
                                                           : std::min(excess, timeline.bytes_of(value)));
    const double length = events[next].stage - events[next - 1].stage + 1.0;
    const double luck = noise > 0 ? std::exp(noise * (uniform(random_) - 0.5)) : 1.0;
    candidates_.push_back(
        {luck * cost / (relief * std::pow(length, kLengthExponent)), value, events[next].run});
  }
}

// Puts first the one of the cheapest that proves cheapest. What a change makes superfluous, and the memory
// that the recomputation itself takes where it stands, show only when it is made.
void Repair::try_out(RunId at, const RepairEffort& effort) {
  const Timeline& timeline = editor_.timeline();
  const std::size_t count = std::min(effort.trials, candidates_.size());
  if (count < 2) return;
  const std::int64_t bytes = timeline.bytes_at(at), cost_ns = timeline.recomputed_ns();
  double lowest = kNever;
  std::size_t best = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t start = editor_.mark();
    editor_.recompute(candidates_[i].value, candidates_[i].before);
    const auto net_ns = static_cast<double>(timeline.recomputed_ns() - cost_ns);
    // The run may itself have become superfluous.
    const std::int64_t left = timeline.exists(at) ? timeline.bytes_at(at) : 0;
    const std::int64_t relief = bytes - (effort.ample ? left : std::max(left, editor_.cap_bytes()));
    const std::int64_t over =
        std::max<std::int64_t>(0, editor_.peak_of_insertions(start) - editor_.cap_bytes());
    const double price = std::exp(effort.noise * (uniform(random_) - 0.5)) *
                         (net_ns + editor_.ns_per_byte() * static_cast<double>(over)) /
                         static_cast<double>(std::max<std::int64_t>(relief, 1));
    editor_.undo(start);
    if (price < lowest) lowest = price, best = i;
  }
  std::swap(candidates_[0], candidates_[best]);
}

void Repair::drop(RunId at, double share) {
  const Timeline& timeline = editor_.timeline();
  const std::int64_t bytes = timeline.bytes_at(at);
  const std::int64_t goal =
      bytes - static_cast<std::int64_t>(share * static_cast<double>(bytes - editor_.cap_bytes()));
  for (const Candidate& candidate : candidates_) {
    if (!timeline.exists(at)) return;
    const auto events = timeline.events(candidate.value);
    const std::size_t next = timeline.event_at(candidate.value, at);
    // What was dropped before it may have changed where it is kept.
    if (next == 0 || next == events.size() || events[next].write || events[next].run == at) continue;
    const RunId before = events[next].run;
    follow_price(candidate.value, before, bytes - editor_.cap_bytes());
    editor_.recompute(candidate.value, before);
    if (share == 0 || !timeline.exists(at) || timeline.bytes_at(at) <= goal) return;
  }
}

void Repair::follow_price(ValueIndex value, RunId before, std::int64_t excess) {
  const auto bytes = static_cast<double>(editor_.timeline().bytes_of(value));
  const double price = editor_.cost_of(value, before, kNever) / bytes;
  // By bytes: what small values cost says little.
  const double weight = kPriceWeight * std::min(1.0, bytes / static_cast<double>(excess));
  editor_.set_ns_per_byte(editor_.ns_per_byte() + weight * (price - editor_.ns_per_byte()));
}

}  // namespace refrain::planner
