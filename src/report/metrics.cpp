// The end event's fields, expanded from the table of events. Must not list any of them again.
#include "report/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <type_traits>

namespace refrain::report {
namespace {

// Levels and settings; all else only grows.
bool is_level(std::string_view name) {
  constexpr std::string_view kLevels[] = {"host_peak_bytes", "wanted_bytes", "peak_bytes",
                                          "held_bytes",      "limit_bytes",  "unmanaged_bytes"};
  for (const std::string_view level : kLevels) {
    if (name == level) return true;
  }
  return false;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

std::string labels_of(const Labels& labels) {
  std::string out;
  for (const auto& [name, value] : labels) {
    out += fmt::format("{}{}=\"{}\"", out.empty() ? "" : ",", name, escaped(value));
  }
  return out.empty() ? out : "{" + out + "}";
}

template <class Value>
void add_metric(std::string& out, std::string_view name, std::string_view meaning,
                const std::vector<Sample>& samples, Value&& value) {
  if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(value(samples[0].totals))>>) {
    const bool level = is_level(name);
    const std::string full = fmt::format("refrain_{}{}", name, level ? "" : "_total");
    out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", full, meaning, full, level ? "gauge" : "counter");
    for (const Sample& sample : samples) {
      out += fmt::format("{}{} {}\n", full, labels_of(sample.labels), value(sample.totals));
    }
  }
}

// Calls add(name, meaning, value of a total) for each field of one event.
template <class Which, class Add>
void each_field(Add&& add) {
#define BEGIN_EVENT(Type, kind) if constexpr (std::is_same_v<event::Type, Which>) {
#define FIELD(type, name, meaning) add(#name, meaning, [](const Which& totals) { return totals.name; });
#define END_EVENT(Type) }
#include "refrain/events.def"
#undef BEGIN_EVENT
#undef FIELD
#undef END_EVENT
}

}  // namespace

std::string to_metrics(const std::vector<Sample>& samples) {
  std::string out;
  if (samples.empty()) return out;
  each_field<event::End>([&](std::string_view name, std::string_view meaning, auto&& value) {
    add_metric(out, name, meaning, samples, value);
  });
  return out;
}

std::map<std::string, std::uint64_t> from_metrics(std::istream& in) {
  std::map<std::string, std::uint64_t> out;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t at = line.rfind(' ') + 1;
    std::uint64_t number = 0;
    const auto [rest, error] = std::from_chars(line.data() + at, line.data() + line.size(), number);
    if (error != std::errc() || rest != line.data() + line.size()) continue;
    std::uint64_t& largest = out[line.substr(0, line.find_first_of("{ "))];
    largest = std::max(largest, number);
  }
  return out;
}

}  // namespace refrain::report
