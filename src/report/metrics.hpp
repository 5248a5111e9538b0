// Totals of a run as Prometheus text, for a node exporter's textfile directory. One metric for each number of
// the `end` event, with its meaning from events.def as help. No I/O.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "refrain/event.hpp"

namespace refrain::report {

using Labels = std::vector<std::pair<std::string, std::string>>;
struct Sample {
  Labels labels;
  event::End totals;
};

// The text exposition format, version 0.0.4: counters end in _total, levels are gauges.
std::string to_metrics(const std::vector<Sample>& samples);
// The numbers of such text by name, without labels: of several samples the largest. What is no whole number
// is passed over.
std::map<std::string, std::uint64_t> from_metrics(std::istream& in);

}  // namespace refrain::report
