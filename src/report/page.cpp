// The page's words and tables around the charts. Must not link to anything outside of the page.
#include "report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "refrain/bytes.hpp"
#include "report/chart.hpp"
#include "report/page_style.hpp"
#include "report/text.hpp"
#include "report/words.hpp"

namespace refrain::report {
namespace {

constexpr std::size_t kRows = 25;
constexpr std::size_t kBars = 10;

// Rows of cells; the second of each cell, where there is one, is what the column is sorted by.
struct Cell {
  std::string words;
  std::string sort_key;
};
Cell number(std::uint64_t value, const std::string& words) {
  return {words, std::to_string(value)};
}
Cell number(std::uint64_t value) {
  return number(value, std::to_string(value));
}
Cell bytes(std::uint64_t value) {
  return number(value, format_bytes(value));
}
Cell time(std::uint64_t value) {
  return number(value, seconds(value));
}
Cell text(const std::string& words) {
  return {words, {}};
}

std::string table(const std::vector<const char*>& head, const std::vector<std::vector<Cell>>& rows) {
  std::string out = "<div class=\"wide\"><table><thead><tr>";
  for (const char* name : head) out += fmt::format("<th scope=\"col\">{}</th>", escape_html(name));
  out += "</tr></thead><tbody>\n";
  for (const std::vector<Cell>& row : rows) {
    out += "<tr>";
    for (const Cell& cell : row) {
      out += cell.sort_key.empty() ? fmt::format("<td>{}</td>", escape_html(cell.words))
                                   : fmt::format("<td class=\"n\" data-n=\"{}\">{}</td>", cell.sort_key,
                                                 escape_html(cell.words));
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string ledger(const Summary& s) {
  const event::End& t = s.totals;
  std::vector<std::vector<Cell>> rows;
  const auto row = [&](const char* name, Cell value, const std::string& more) {
    rows.push_back({text(name), std::move(value), text(more)});
  };
  if (t.wanted_bytes >= t.peak_bytes && t.peak_bytes > 0) {
    row("live at peak", bytes(t.wanted_bytes), "what the program's tensors took at most");
    row("\xe2\x88\x92 not held then", bytes(t.wanted_bytes - t.peak_bytes),
        count(t.evictions, "eviction") + ", " + format_bytes(t.evicted_bytes) + " in all");
    row("= on the GPU at most", bytes(t.peak_bytes),
        t.limit_bytes == 0 ? "no limit" : "limit " + format_bytes(t.limit_bytes));
  } else {
    row("evicted", bytes(t.evicted_bytes), count(t.evictions, "eviction"));
    row("on the GPU at most", bytes(t.peak_bytes),
        t.limit_bytes == 0 ? "no limit" : "limit " + format_bytes(t.limit_bytes));
  }
  row("device time lost", time(t.replayed_ns),
      share(t.replayed_ns, t.program_ns) + " of the program's own " + seconds(t.program_ns) + "; " +
          count(t.rematerialisations, "value") + ", " + count(t.replayed_ops, "op"));
  row("on the host at most", bytes(t.host_peak_bytes),
      count(t.offloads, "value") + " copied out (" + format_bytes(t.offloaded_bytes) + "), back " +
          format_bytes(t.restored_bytes));
  row("compared", number(t.compared),
      t.mismatches == 0
          ? "all as they were"
          : fmt::format("{} differed, {} put right", t.mismatches, t.mismatches - t.unrepaired));
  row("refused for want of memory", number(t.oom), "");
  row("launches that cannot be replayed", number(t.unreplayable), fmt::format("of {}", t.launches));
  row("calls that could not be followed", number(t.barriers), "all was made resident before each");
  row("memory not managed", bytes(t.unmanaged_bytes), "");
  if (!t.costs.empty()) row("durations of kernels", text(""), t.costs);
  return table({"", "", ""}, rows);
}

std::string costs(const char* what, const std::vector<Cost>& all, std::uint64_t lost_ns) {
  std::vector<std::vector<Cell>> rows;
  for (const Cost& c : all) {
    rows.push_back({text(title_of(c.name)), time(c.lost_ns), number(c.lost_ns, share(c.lost_ns, lost_ns)),
                    number(c.evictions), number(c.rematerialisations), number(c.from_host), bytes(c.bytes),
                    number(c.first_seq)});
  }
  return table(
      {what, "time lost", "share", "evictions", "brought back", "from the host", "bytes", "first seq"}, rows);
}

std::string decisions(const Account& a) {
  std::vector<std::vector<Cell>> rows;
  for (const Way& way : a.ways()) {
    const std::uint64_t chosen = way.evictions - way.alone;
    rows.push_back({text(meaning_of_leave(way.leave)), number(way.evictions), bytes(way.bytes),
                    bytes(way.copied_bytes), number(way.alone),
                    text(chosen == 0 ? ""
                                     : fmt::format("{:.1f} times", std::exp(way.log_ratio_sum /
                                                                            static_cast<double>(chosen))))});
  }
  std::string out = table({"how it was to come back", "evictions", "bytes", "copied to the host",
                           "nothing else could go", "the next candidate was dearer"},
                          rows);
  rows.clear();
  for (const Decision& d : a.largest()) {
    const event::Evict& e = d.evict;
    rows.push_back({number(d.seq), time(d.t_ns), text(fmt::format("buffer {}", e.buffer)),
                    text(e.op.empty() ? "(leaf)" : title_of(e.op)), bytes(e.bytes), bytes(e.need_bytes),
                    text(fmt::format("{:.3g}", e.score)), text(fmt::format("{:.3g}", e.runner_up_score)),
                    number(e.candidates), time(e.idle_ns), text(e.leave)});
  }
  out += "<h3>The largest evictions</h3>\n";
  out += table({"seq", "at", "what", "made by", "bytes", "needed", "score", "next score", "candidates",
                "idle", "leaves by"},
               rows);
  return out;
}

std::string incidents(const Account& a) {
  std::string out;
  for (const trace::Line& line : a.incidents()) {
    out += fmt::format("<li>seq {}, after {}: {}</li>\n", line.seq, seconds(line.t_ns),
                       escape_html(words_of_incident(line.event)));
  }
  return out.empty() ? "<p>None.</p>\n" : "<ul>\n" + out + "</ul>\n";
}

std::string notes(const Account& a) {
  std::string out;
  for (const Told& told : a.notes()) {
    out += fmt::format("<li>{}{}</li>\n", escape_html(told.text),
                       told.times > 1 ? fmt::format(" ({} times)", told.times) : std::string());
  }
  return out.empty() ? "<p>Everything was managed.</p>\n" : "<ul>\n" + out + "</ul>\n";
}

std::string run_facts(const Account& a) {
  std::vector<std::vector<Cell>> rows;
  const auto field = [&](const char* name) {
    const auto it = a.header().find(name);
    if (it == a.header().end()) return std::string();
    return it->is_string() ? it->get<std::string>() : it->dump();
  };
  rows.push_back({text("command"), text(command_of(a.header()))});
  rows.push_back(
      {text("started"), text(field("start") + " on " + field("host") + ", process " + field("pid"))});
  rows.push_back({text("ran"), text(seconds(a.summary().t_ns))});
  rows.push_back({text("refrain, driver"), text(field("name_version") + ", " + field("driver"))});
  const auto options = a.header().find("options");
  if (options != a.header().end() && options->is_object()) {
    for (const auto& [name, value] : options->items()) {
      if (!value.is_object() || value.value("from", "default") == "default") continue;
      rows.push_back({text(name), text(value.value("value", ""))});
    }
  }
  return table({"", ""}, rows);
}

std::string section(const Account& a) {
  const std::uint64_t lost_ns = a.summary().totals.replayed_ns;
  const std::string summary = to_text(a.summary());
  std::string out = fmt::format("<h2>{}</h2>\n<p class=\"verdict {}\">{}</p>\n", escape_html(a.log_path()),
                                verdict(a.summary()), escape_html(summary.substr(9, summary.find('\n') - 9)));
  out += "<h3>Memory over time</h3>\n" + memory_chart(a);
  out += "<h3>Evictions, and what came back</h3>\n" + activity_chart(a);
  out += "<h3>The account</h3>\n" + ledger(a.summary());
  out += "<h3>Time lost, by kernel</h3>\n" + lost_chart(a.kernels(kBars), lost_ns) +
         costs("kernel", a.kernels(kRows), lost_ns);
  out += "<h3>Tensors that cost most</h3>\n" + costs("tensor", a.tensors(kRows), lost_ns);
  out += "<h3>Why values went</h3>\n" + decisions(a);
  out += "<h3>Incidents</h3>\n" + incidents(a);
  out += "<h3>What was not managed, and why</h3>\n" + notes(a);
  out += "<h3>The run</h3>\n" + run_facts(a);
  return out;
}

std::string overview(const std::vector<Account>& accounts) {
  std::vector<std::vector<Cell>> rows;
  for (const Account& a : accounts) {
    const event::End& t = a.summary().totals;
    rows.push_back({text(a.log_path()), text(verdict(a.summary())), bytes(t.wanted_bytes),
                    bytes(t.peak_bytes), t.limit_bytes == 0 ? text("none") : bytes(t.limit_bytes),
                    number(t.evictions), time(t.replayed_ns),
                    number(t.replayed_ns, share(t.replayed_ns, t.program_ns))});
  }
  return "<h2>All logs</h2>\n" +
         table({"log", "verdict", "wanted", "held", "limit", "evictions", "time lost", "share"}, rows);
}

}  // namespace

std::string to_page(const std::vector<Account>& accounts) {
  const std::string worst = worst_verdict(accounts);
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light "
      "dark\">\n"
      "<title>refrain: {}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n<h1>refrain report</h1>\n",
      escape_html(worst), kPageStyle);
  if (accounts.size() > 1) out += overview(accounts);
  for (std::size_t i = 0; i < std::min(accounts.size(), kSectionsInFull); ++i) out += section(accounts[i]);
  if (accounts.size() > kSectionsInFull) {
    out += fmt::format("<p>{} more logs are in the table above; report them on their own for the rest.</p>\n",
                       accounts.size() - kSectionsInFull);
  }
  out += fmt::format("</main>\n<script>{}</script>\n</body>\n</html>\n", kPageScript);
  return out;
}

}  // namespace refrain::report
