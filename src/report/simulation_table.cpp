// Columns and fields. Must not compute anything that the two could disagree about.
#include "report/simulation_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "refrain/bytes.hpp"

namespace refrain::report {
namespace {

std::string time_of(double ns) {
  return ns < 1000 ? fmt::format("{:.0f} ns", ns) : fmt::format("{:.1f} us", ns / 1000);
}

}  // namespace

const char* status_of(simulate::Outcome outcome) {
  switch (outcome) {
    case simulate::Outcome::kOk: return "ok";
    case simulate::Outcome::kOutOfMemory: return "out_of_memory";
    case simulate::Outcome::kThrashed: return "over_2x";
  }
  return "";
}

std::string to_text(std::span<const SimulationRow> rows) {
  std::size_t width = 5;
  for (const SimulationRow& row : rows) width = std::max(width, row.model.size());
  const bool device =
      std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.has_device_time; });
  std::string text =
      fmt::format("{:<{}} {:<9} {:>6} {:>11} {:<13} {:>8} {:>11} {:>9} {:>9} {:>10} {:>10}{}\n", "model",
                  width, "policy", "budget", "limit", "status", "compute", "peak", "evicted", "returned",
                  "choice p50", "p99", device ? "       device" : "");
  for (const SimulationRow& row : rows) {
    const simulate::Result& r = row.result;
    const bool ok = r.outcome == simulate::Outcome::kOk;
    text += fmt::format("{:<{}} {:<9} {:>6.3f} {:>11} {:<13} {:>8} {:>11} {:>9} {:>9} {:>10} {:>10}{}\n",
                        row.model, width, row.policy, row.budget_ratio, format_bytes(row.limit_bytes),
                        status_of(r.outcome), ok ? fmt::format("{:.3f}x", r.total_over_base()) : "-",
                        format_bytes(r.peak_bytes), r.evictions, r.rematerialisations,
                        time_of(r.decisions.quantile_ns(0.5)), time_of(r.decisions.quantile_ns(0.99)),
                        ok && row.has_device_time ? fmt::format(" {:>9.1f} us", r.device_ns / 1000) : "");
  }
  return text;
}

nlohmann::ordered_json to_json(std::span<const SimulationRow> rows) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const SimulationRow& row : rows) {
    const simulate::Result& r = row.result;
    nlohmann::ordered_json total = nullptr;
    if (r.outcome == simulate::Outcome::kOk) total = r.total_over_base();
    out.push_back({{"model", row.model},
                   {"policy", row.policy},
                   {"budget_ratio", row.budget_ratio},
                   {"status", status_of(r.outcome)},
                   {"total_over_base_compute", total},
                   {"peak_bytes", r.peak_bytes},
                   {"evictions", r.evictions},
                   {"rematerialisations", r.rematerialisations},
                   {"decision_ns_p50", r.decisions.quantile_ns(0.5)},
                   {"decision_ns_p99", r.decisions.quantile_ns(0.99)}});
    if (row.has_device_time) out.back()["device_ns"] = r.device_ns;
  }
  return out;
}

}  // namespace refrain::report
