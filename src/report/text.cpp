// Lays out what the account says. Must not compute anything that the page and the JSON would not say too.
#include "report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "access/demangle.hpp"
#include "refrain/bytes.hpp"
#include "report/words.hpp"

namespace refrain::report {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kRows = 10;
constexpr std::size_t kSparkColumns = 90;
constexpr std::size_t kNameColumns = 46;

std::string about(const Account& a) {
  std::string out;
  const std::string command = command_of(a.header());
  const auto text = [&](const char* name) {
    const auto it = a.header().find(name);
    return it != a.header().end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  if (!command.empty())
    out += fmt::format("      program              {}\n", printable(short_name(command, 72)));
  if (const std::string start = text("start"); !start.empty()) {
    out += fmt::format("      started              {} on {}, ran {}\n", printable(start),
                       printable(text("host")), seconds(a.summary().t_ns));
  }
  return out;
}

std::string course(const Account& a) {
  const std::vector<Step> steps = a.timeline().steps();
  std::vector<std::uint64_t> held;
  std::vector<std::uint64_t> away;
  std::vector<std::uint64_t> lost;
  for (const Step& s : steps) {
    held.push_back(s.held_bytes);
    away.push_back(s.away_bytes);
    lost.push_back(s.lost_ns);
  }
  const auto most = [](const std::vector<std::uint64_t>& v) {
    return v.empty() ? std::uint64_t{0} : *std::max_element(v.begin(), v.end());
  };
  if (most(held) == 0 && most(lost) == 0) return {};
  const std::uint64_t top =
      std::max({most(held), most(away), a.summary().totals.limit_bytes, std::uint64_t{1}});
  std::string out = fmt::format("\nover time ({} from left to right)\n", seconds(a.summary().t_ns));
  out += fmt::format("  held      {}, the top of the line is {}\n  {}\n", format_bytes(most(held)),
                     format_bytes(top), sparkline(held, top, kSparkColumns));
  out += fmt::format("  evicted   {} at most, on the same scale\n  {}\n", format_bytes(most(away)),
                     sparkline(away, top, kSparkColumns));
  out += fmt::format("  time lost {} in the worst of {} steps\n  {}\n", seconds(most(lost)), lost.size(),
                     sparkline(lost, std::max<std::uint64_t>(most(lost), 1), kSparkColumns));
  return out;
}

std::string costs(const std::string& title, const std::vector<Cost>& rows, std::uint64_t lost_ns) {
  if (rows.empty()) return {};
  std::string out = fmt::format("\n{:<46} {:>9} {:>7} {:>9} {:>8} {:>10}\n", title, "time lost", "share",
                                "evictions", "brought", "bytes");
  for (const Cost& row : rows) {
    out += fmt::format("  {:<44} {:>9} {:>7} {:>9} {:>8} {:>10}\n",
                       printable(short_title(row.name, kNameColumns - 2)), seconds(row.lost_ns),
                       share(row.lost_ns, lost_ns), row.evictions, row.rematerialisations,
                       format_bytes(row.bytes));
  }
  return out;
}

std::string decisions(const Account& a) {
  if (a.ways().empty()) return {};
  std::string out = fmt::format("\n{:<46} {:>9} {:>10} {:>12}   {}\n", "how values went", "evictions",
                                "bytes", "to the host", "what they beat");
  for (const Way& way : a.ways()) {
    const std::uint64_t chosen = way.evictions - way.alone;
    const std::string beat =
        chosen == 0
            ? "nothing else could go"
            : fmt::format("{:.1f}x dearer", std::exp(way.log_ratio_sum / static_cast<double>(chosen)));
    out += fmt::format("  {:<44} {:>9} {:>10} {:>12}   {}\n", printable(meaning_of_leave(way.leave)),
                       way.evictions, format_bytes(way.bytes), format_bytes(way.copied_bytes), beat);
  }
  return out;
}

std::string sizes(const Account& a) {
  const auto& counts = a.sizes();
  if (counts.empty()) return {};
  const std::uint64_t most = *std::max_element(counts.begin(), counts.end());
  std::string out = "\nsizes of what was evicted\n";
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const auto bar = static_cast<std::size_t>(
        std::llround(40.0 * static_cast<double>(counts[i]) / static_cast<double>(most)));
    out += fmt::format("  {:>10} and more {:>9}  {}\n", format_bytes(std::uint64_t{1} << i), counts[i],
                       std::string(std::max<std::size_t>(bar, 1), '#'));
  }
  return out;
}

// An entry of a list, broken between words where it is too long for the screen.
std::string entry(const std::string& words) {
  std::string text = printable(words);
  std::string out;
  std::size_t room = kColumns - 2;
  for (const char* indent = "  "; !text.empty(); indent = "      ", room = kColumns - 6) {
    std::size_t end = text.size();
    if (end > room) {
      const std::size_t space = text.rfind(' ', room);
      end = space == std::string::npos || space == 0 ? room : space;
    }
    out += indent + text.substr(0, end) + "\n";
    text.erase(0, end < text.size() && text[end] == ' ' ? end + 1 : end);
  }
  return out;
}

std::string incidents(const Account& a) {
  if (a.incidents().empty()) return {};
  std::string out = "\nincidents\n";
  for (const trace::Line& line : a.incidents()) {
    out += entry(
        fmt::format("seq {}, after {}: {}", line.seq, seconds(line.t_ns), words_of_incident(line.event)));
  }
  return out;
}

std::string notes(const Account& a) {
  if (a.notes().empty()) return {};
  std::string out = "\nwhat was noted\n";
  for (const Told& told : a.notes()) {
    out += entry(told.text + (told.times > 1 ? fmt::format(" ({} times)", told.times) : std::string()));
  }
  return out;
}

}  // namespace

std::string meaning_of_leave(const std::string& leave) {
  if (leave == "drop") return "dropped, to be computed again";
  if (leave == "offload") return "copied to the host";
  if (leave == "probation") return "dropped on probation, a copy on the host";
  return leave.empty() ? "not said" : leave;
}

std::string words_of_incident(const trace::Event& event) {
  if (const auto* oom = std::get_if<event::Oom>(&event)) {
    return fmt::format("out of memory: asked {}, in use {}, limit {}, evictable {}, pinned {}",
                       format_bytes(oom->asked_bytes), format_bytes(oom->used_bytes),
                       format_bytes(oom->limit_bytes), format_bytes(oom->evictable_bytes),
                       format_bytes(oom->pinned_bytes));
  }
  if (const auto* m = std::get_if<event::Mismatch>(&event)) {
    return fmt::format("came back different, {}: {}; expected {}, found {}",
                       m->repaired != 0 ? "put right" : "NOT put right", m->op, m->expected, m->found);
  }
  if (const auto* t = std::get_if<event::Thrash>(&event)) {
    return fmt::format("thrashing: {} of recomputation beside {} of the program's own",
                       seconds(t->replayed_ns), seconds(t->program_ns));
  }
  return {};
}

std::string short_name(const std::string& name, std::size_t columns) {
  if (name.size() <= columns) return name;
  const std::size_t front = (columns - 3) * 2 / 3;
  return name.substr(0, front) + "..." + name.substr(name.size() - (columns - 3 - front));
}

std::string title_of(const std::string& op) {
  const std::string name = access::demangled(op);
  if (name.empty()) return op;
  // The parameters begin at the last bracket that is open at the top level: names of lambdas have others.
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 1;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) return name.substr(0, i);
  }
  return name;
}

std::string sparkline(const std::vector<std::uint64_t>& values, std::uint64_t top, std::size_t columns) {
  static constexpr const char* kBars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t shown = std::min(columns, values.size());
  std::string out;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t begin = i * values.size() / shown;
    const std::size_t end = std::max(begin + 1, (i + 1) * values.size() / shown);
    std::uint64_t value = 0;
    for (std::size_t j = begin; j < end; ++j) value = std::max(value, values[j]);
    const double part = top == 0 ? 0 : static_cast<double>(value) / static_cast<double>(top);
    out += kBars[static_cast<std::size_t>(std::ceil(std::clamp(part, 0.0, 1.0) * 8))];
  }
  return out;
}

std::string to_text(const Account& a) {
  const std::uint64_t lost_ns = a.summary().totals.replayed_ns;
  return to_text(a.summary()) + about(a) + course(a) +
         costs("kernels that made what was evicted", a.kernels(kRows), lost_ns) +
         costs("tensors", a.tensors(kRows), lost_ns) + decisions(a) + sizes(a) + incidents(a) + notes(a);
}

std::string worst_verdict(const std::vector<Account>& accounts) {
  static constexpr const char* kWorstFirst[] = {"corrupt", "oom", "killed", "partial", "ok"};
  for (const char* word : kWorstFirst) {
    for (const Account& a : accounts) {
      if (verdict(a.summary()) == word) return word;
    }
  }
  return "idle";
}

std::string overview_text(const std::vector<Account>& accounts) {
  std::string out =
      fmt::format("refrain: {} - the worst of {}\n", worst_verdict(accounts), count(accounts.size(), "log"));
  out += fmt::format("  {:<30} {:<8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8}\n", "log", "verdict", "wanted",
                     "held", "limit", "evictions", "lost", "share");
  std::uint64_t evictions = 0;
  std::uint64_t lost_ns = 0;
  std::uint64_t program_ns = 0;
  const auto row = [&](const std::string& name, const std::string& word, const std::string& wanted,
                       const std::string& held, const std::string& limit, std::uint64_t gone,
                       std::uint64_t lost, std::uint64_t program) {
    out += fmt::format("  {:<30} {:<8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8}\n", name, word, wanted, held,
                       limit, gone, seconds(lost), share(lost, program));
  };
  for (const Account& a : accounts) {
    const event::End& t = a.summary().totals;
    row(printable(short_name(a.log_path(), 30)), verdict(a.summary()), format_bytes(t.wanted_bytes),
        format_bytes(t.peak_bytes), t.limit_bytes == 0 ? "none" : format_bytes(t.limit_bytes), t.evictions,
        t.replayed_ns, t.program_ns);
    evictions += t.evictions;
    lost_ns += t.replayed_ns;
    program_ns += t.program_ns;
  }
  row("all", "", "", "", "", evictions, lost_ns, program_ns);
  return out;
}

std::string diff_text(const Account& before, const Account& after) {
  std::string out = fmt::format("{:<30} {:>20} {:>20} {:>12}\n", "", "before", "after", "change");
  const auto row = [&](const std::string& name, std::uint64_t a, std::uint64_t b, const std::string& words_a,
                       const std::string& words_b) {
    if (a == b) return;
    const std::string change =
        a == 0 ? std::string("new")
               : fmt::format("{:+.1f} %", 100.0 * (static_cast<double>(b) - static_cast<double>(a)) /
                                              static_cast<double>(a));
    out += fmt::format("{:<30} {:>20} {:>20} {:>12}\n", name, words_a, words_b, change);
  };
  const std::string verdict_a = verdict(before.summary());
  const std::string verdict_b = verdict(after.summary());
  out += fmt::format("{:<30} {:>20} {:>20} {:>12}\n", "verdict", verdict_a, verdict_b,
                     verdict_a == verdict_b ? "" : "differs");
  nlohmann::ordered_json totals_a = to_json(before.summary());
  nlohmann::ordered_json totals_b = to_json(after.summary());
  for (const auto& [name, value] : totals_a.items()) {
    if (!value.is_number_unsigned()) continue;
    const auto a = value.get<std::uint64_t>();
    const auto b = totals_b[name].get<std::uint64_t>();
    const auto words = [&](std::uint64_t number) {
      if (name.ends_with("_bytes")) return format_bytes(number);
      if (name.ends_with("_ns")) return seconds(number);
      return std::to_string(number);
    };
    row(name, a, b, words(a), words(b));
  }
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> kernels;
  for (const Cost& cost : before.kernels(1000)) kernels[cost.name].first = cost.lost_ns;
  for (const Cost& cost : after.kernels(1000)) kernels[cost.name].second = cost.lost_ns;
  std::vector<std::pair<std::string, std::pair<std::uint64_t, std::uint64_t>>> changed(kernels.begin(),
                                                                                       kernels.end());
  const auto distance = [](const auto& entry) {
    return std::max(entry.second.first, entry.second.second) -
           std::min(entry.second.first, entry.second.second);
  };
  std::stable_sort(changed.begin(), changed.end(),
                   [&](const auto& a, const auto& b) { return distance(a) > distance(b); });
  if (changed.size() > kRows) changed.resize(kRows);
  for (const auto& [name, lost] : changed) {
    row("lost: " + printable(short_title(name, 24)), lost.first, lost.second, seconds(lost.first),
        seconds(lost.second));
  }
  return out;
}

}  // namespace refrain::report
