// What refrain simulate was asked for: its options, what they mean, and which make sense together. Must not
// open a log.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/settings.hpp"
#include "planner/schemes.hpp"
#include "simulate/published.hpp"
#include "simulate/virtual_device.hpp"

namespace CLI {
class App;
}

namespace refrain::cli {

struct SimulateRequest {
  std::string log;
  std::string format = "trace";
  std::vector<std::string> budgets;
  std::vector<std::string> limits;
  std::vector<std::string> policies;  // empty: planned, as in a run; of a published log, dtr
  std::string blocks;                 // empty: found by repetition
  std::string deallocation = "eager";
  std::string runtime = "engine";
  std::string plan_seconds;  // empty: 2, and with advise, which plans for many caps, 0
  std::string call_ns;       // empty: calls take no time
  std::string json_path;
  bool advise = false;
  std::string max_overhead;  // empty: 10%
  std::string svg_path;
};

inline constexpr const char* kPlanned = "planned";

struct Cap {
  double ratio;
  std::uint64_t bytes;
};

void add_options(CLI::App& command, SimulateRequest& request);
// What was left out.
void fill_defaults(SimulateRequest& request);
// The first thing that is wrong, before anything is read or written. Throws UsageError, as all below do.
void check(const SimulateRequest& request);

std::vector<Cap> caps_of(const SimulateRequest& request, std::uint64_t peak_bytes);
std::vector<engine::PolicyKind> policies_of(const SimulateRequest& request);
std::vector<planner::Scheme> schemes_of(const SimulateRequest& request);
bool is_planned(const SimulateRequest& request);
simulate::Deallocation deallocation_of(const SimulateRequest& request);
// As a part: 0.1 of "10%".
double parse_overhead(std::string_view text);
double parse_plan_seconds(std::string_view text);
simulate::DeviceTimes parse_call_ns(std::string_view text);
// names: of ops, for a pattern.
planner::SchemeSettings scheme_settings(const SimulateRequest& request, planner::Scheme scheme,
                                        const std::vector<std::string>& names);

}  // namespace refrain::cli
