// Adds events to their steps. Must not keep the events.
#include "report/timeline.hpp"

#include <algorithm>

namespace refrain::report {
namespace {

void merge(Step& into, const Step& from) {
  into.held_bytes = std::max(into.held_bytes, from.held_bytes);
  into.away_bytes = std::max(into.away_bytes, from.away_bytes);
  into.evictions += from.evictions;
  into.rematerialisations += from.rematerialisations;
  into.lost_ns += from.lost_ns;
  into.known = into.known || from.known;
}

}  // namespace

void Timeline::halve() {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (i % 2 == 0) {
      steps_[i / 2] = steps_[i];
    } else {
      merge(steps_[i / 2], steps_[i]);
    }
  }
  steps_.resize((steps_.size() + 1) / 2);
  step_ns_ *= 2;
}

void Timeline::add(const Moment& moment) {
  while (moment.t_ns / step_ns_ >= kSteps) halve();
  const auto index = static_cast<std::size_t>(moment.t_ns / step_ns_);
  if (steps_.size() <= index) steps_.resize(index + 1);
  merge(steps_[index], {.held_bytes = moment.held_bytes,
                        .away_bytes = moment.away_bytes,
                        .evictions = moment.eviction ? 1u : 0u,
                        .rematerialisations = moment.rematerialisation ? 1u : 0u,
                        .lost_ns = moment.lost_ns,
                        .known = moment.levels});
}

std::vector<Step> Timeline::steps() const {
  std::vector<Step> out(steps_);
  for (std::size_t i = 1; i < out.size(); ++i) {
    if (out[i].known) continue;
    out[i].held_bytes = out[i - 1].held_bytes;
    out[i].away_bytes = out[i - 1].away_bytes;
  }
  return out;
}

}  // namespace refrain::report
