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

// What a row is, which its numbers do not say.
std::string notes_of(std::span<const SimulationRow> rows) {
  using Account = simulate::Result::Account;
  std::string text;
  bool planned_on_paper = false, directed = false;
  for (const SimulationRow& row : rows) {
    const simulate::Result& r = row.result;
    planned_on_paper = planned_on_paper || (r.account == Account::kPaper && row.policy == "planned");
    directed = directed || r.account == Account::kDirectedRun;
    if (r.account == Account::kGuidedRun)
      text += fmt::format("{} {:.3f}: {} of {} ops as planned; plans {}, left {} times, given up {}\n",
                          row.policy, row.budget_ratio, r.planned_ops, r.ops, r.plans, r.left, r.given_up);
  }
  if (planned_on_paper)
    text +=
        "planned: the plan's own account of one iteration, carried out on paper; nothing ran in the engine\n";
  if (directed)
    text +=
        "static schemes: first the scheme's own account on paper, then the engine's, following it in as much "
        "memory\n";
  return text;
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
  return text + notes_of(rows);
}

nlohmann::ordered_json to_json(std::span<const SimulationRow> rows) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const SimulationRow& row : rows) {
    const simulate::Result& r = row.result;
    nlohmann::ordered_json total = nullptr;
    if (r.outcome == simulate::Outcome::kOk) total = r.total_over_base();
    nlohmann::ordered_json fields = {{"model", row.model},
                                     {"policy", row.policy},
                                     {"budget_ratio", row.budget_ratio},
                                     {"status", status_of(r.outcome)},
                                     {"total_over_base_compute", total},
                                     {"peak_bytes", r.peak_bytes},
                                     {"evictions", r.evictions},
                                     {"rematerialisations", r.rematerialisations},
                                     {"decision_ns_p50", r.decisions.quantile_ns(0.5)},
                                     {"decision_ns_p99", r.decisions.quantile_ns(0.99)}};
    if (row.has_device_time) fields["device_ns"] = r.device_ns;
    if (r.account == simulate::Result::Account::kPaper) fields["account"] = "paper";
    if (r.account == simulate::Result::Account::kDirectedRun) fields["account"] = "engine";
    if (r.account == simulate::Result::Account::kGuidedRun) {
      fields["account"] = "run";
      fields["plans"] = r.plans;
      fields["plans_given_up"] = r.given_up;
      fields["plans_left"] = r.left;
      fields["ops"] = r.ops;
      fields["planned_ops"] = r.planned_ops;
    }
    out.push_back(std::move(fields));
  }
  return out;
}

}  // namespace refrain::report
