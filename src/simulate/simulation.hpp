// A trace driven through the real engine on a virtual device: what is decided is what would be decided in a
// run.
#pragma once

#include "engine/settings.hpp"
#include "guide/planning.hpp"
#include "simulate/decision_times.hpp"
#include "simulate/director.hpp"
#include "simulate/outcome.hpp"
#include "simulate/virtual_device.hpp"

namespace refrain::simulate {

struct SimulationSettings {
  engine::Settings engine;  // with the cap
  DeviceTimes times{};
  double most_total_over_base = 2.0;       // thrashed above it; op time only
  guide::Planning* planning = nullptr;     // where what repeats is to be planned, and the plans followed
  const Directions* directions = nullptr;  // where a schedule of the whole trace is to be followed
};

// At the end, what the program still holds is brought back and held, as the published simulator does.
Result simulate(const Trace& trace, const SimulationSettings& settings);

}  // namespace refrain::simulate
