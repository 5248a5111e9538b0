// What simulated runs came to, as a table for people and as JSON rows. No I/O.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "simulate/outcome.hpp"

namespace refrain::report {

struct SimulationRow {
  std::string model;
  std::string policy;
  double budget_ratio = 0;  // of what the run takes at most where nothing limits it
  std::uint64_t limit_bytes = 0;
  bool has_device_time = false;  // result's, with what the driver's calls take
  simulate::Result result;
};

// ok, out_of_memory, over_2x.
const char* status_of(simulate::Outcome outcome);
// A line each under a head. Where a run did not reach its end there is no overhead.
std::string to_text(std::span<const SimulationRow> rows);
nlohmann::ordered_json to_json(std::span<const SimulationRow> rows);

}  // namespace refrain::report
