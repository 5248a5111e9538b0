// Words and numbers of the summary. Must not compute anything that the log does not say.
#include "report/summary.hpp"

#include <fmt/format.h>

#include "refrain/bytes.hpp"
#include "report/words.hpp"

namespace refrain::report {
namespace {

std::string headline(const Summary& s) {
  const event::End& t = s.totals;
  const std::string wanted = format_bytes(t.wanted_bytes);
  const std::string word = verdict(s);
  if (word == "idle") return "idle - loaded, but the program got no device memory and launched no kernel";
  if (word == "killed")
    return "killed - the log ends early (killed, or disk full?); totals are added up from its events";
  if (word == "oom") {
    return fmt::format("oom - {} request{} refused; the program wanted {} at peak, limit {}", t.oom,
                       t.oom == 1 ? " was" : "s were", wanted, format_bytes(t.limit_bytes));
  }
  if (word == "corrupt") {
    return fmt::format(
        "CORRUPT - {} came back different, with no copy to put in {} place: do not use the results",
        count(t.unrepaired, "value"), t.unrepaired == 1 ? "its" : "their");
  }
  const std::string inside = t.limit_bytes == 0
                                 ? fmt::format("no limit, held {} at peak", format_bytes(t.peak_bytes))
                                 : fmt::format("ran inside {}", format_bytes(t.limit_bytes));
  return fmt::format("{} - program wanted {} at peak, {}", word, wanted, inside);
}

}  // namespace

Summary from_totals(const event::End& totals, std::string log_path, std::uint64_t t_ns) {
  return {.totals = totals, .ended = true, .log_path = std::move(log_path), .t_ns = t_ns};
}

std::string verdict(const Summary& s) {
  if (!s.ended) return "killed";
  if (s.totals.unrepaired > 0) return "corrupt";
  if (s.totals.oom > 0) return "oom";
  if (s.totals.launches == 0 && s.totals.peak_bytes == 0 && s.totals.unmanaged_bytes == 0) return "idle";
  if (s.totals.unmanaged_bytes > 0) return "partial";
  return "ok";
}

std::string to_text(const Summary& s) {
  const event::End& t = s.totals;
  std::string text = "refrain: " + headline(s) + "\n";
  const auto row = [&](std::string_view name, const std::string& value, const std::string& more) {
    text += fmt::format("      {:<20} {:>11}{}{}\n", name, value, more.empty() ? "" : "   ", more);
  };
  if (t.wanted_bytes >= t.peak_bytes && t.peak_bytes > 0) {
    row("live at peak", format_bytes(t.wanted_bytes), "");
    row("- not held then", format_bytes(t.wanted_bytes - t.peak_bytes),
        fmt::format("{}, {} in all", count(t.evictions, "eviction"), format_bytes(t.evicted_bytes)));
    row("= on the GPU at most", format_bytes(t.peak_bytes),
        t.limit_bytes == 0 ? "no limit" : "limit " + format_bytes(t.limit_bytes));
  } else {
    row("evicted", format_bytes(t.evicted_bytes), count(t.evictions, "eviction"));
  }
  if (t.rematerialisations > 0) {
    std::string more = count(t.rematerialisations, "value") + ", " + count(t.replayed_ops, "op");
    if (t.program_ns > 0) {
      more = fmt::format("{:.1f} % of its own; ",
                         100.0 * static_cast<double>(t.replayed_ns) / static_cast<double>(t.program_ns)) +
             more;
    }
    row("device time lost", seconds(t.replayed_ns), more);
  }
  if (t.plans > 0) {
    row("run as planned",
        fmt::format("{:.1f} %", 100.0 * static_cast<double>(t.planned_ops) / static_cast<double>(t.ops)),
        fmt::format("of {} ops; {} in {}, left {} times", t.ops, count(t.plans, "plan"),
                    seconds(t.planning_ns), t.plans_left));
  }
  if (t.offloads > 0) {
    row("on the host at most", format_bytes(t.host_peak_bytes),
        fmt::format("{} copied out, {}; back {}", count(t.offloads, "value"), format_bytes(t.offloaded_bytes),
                    format_bytes(t.restored_bytes)));
  }
  if (t.compared > 0) {
    row("compared", count(t.compared, "value"),
        t.mismatches == 0 ? "all as they were"
                          : fmt::format("{} differed, {} put right; {} in quarantine", t.mismatches,
                                        t.mismatches - t.unrepaired, count(t.quarantined, "kernel")));
  }
  if (t.unreplayable > 0) {
    row("not replayable", fmt::format("{}", t.unreplayable),
        fmt::format("of {} kernel launches", t.launches));
  }
  if (t.barriers > 0)
    row("not followed", fmt::format("{}", t.barriers), "calls; all was made resident before each");
  if (t.unmanaged_bytes > 0)
    row("not managed", format_bytes(t.unmanaged_bytes), "other device memory of the program");
  if (!t.costs.empty() && t.evictions > 0) {
    constexpr std::size_t kRoom = 100 - 27;  // columns that the name leaves
    text += fmt::format("      {:<20} {}\n", "kernel durations", printable(t.costs).substr(0, kRoom));
  }
  if (!s.log_path.empty()) text += fmt::format("      next: refrain report {}\n", s.log_path);
  return text;
}

nlohmann::ordered_json to_json(const Summary& s) {
  nlohmann::ordered_json out = {{"verdict", verdict(s)}, {"ended", s.ended}, {"t_ns", s.t_ns}};
  event::visit(s.totals, [&](std::string_view name, const auto& field) { out[std::string(name)] = field; });
  return out;
}

}  // namespace refrain::report
