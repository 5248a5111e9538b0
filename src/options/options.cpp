// Parsing of option values, one parser a type. Must not read the environment by itself or print.
#include "options/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <numeric>
#include <type_traits>

#include "refrain/bytes.hpp"

namespace refrain::options {
namespace {

constexpr Description kDescriptions[] = {
#define OPTION(type, member, environment, flag, default_text, help) \
  {#member, environment, flag, default_text, help, #type},
#include "options/options.def"
#undef OPTION
};

std::optional<Switch> parse_switch(std::string_view text) {
  for (const std::string_view yes : {"1", "true", "yes", "on"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"0", "false", "no", "off"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

std::optional<Level> parse_level(std::string_view text) {
  if (text.size() == 1 && text[0] >= '0' && text[0] <= '3') return text[0] - '0';
  return std::nullopt;
}

// The words of each type that has words: in the order of its values.
template <class T>
constexpr std::string_view kWords[] = {""};
template <>
constexpr auto kWords<Policy> = [] {
  std::array<std::string_view, engine::kPolicyNames.size() + 1> words{};
  std::copy(engine::kPolicyNames.begin(), engine::kPolicyNames.end(), words.begin());
  words.back() = "planned";
  return words;
}();
template <>
constexpr std::string_view kWords<LogLevel>[] = {"evict"};
template <>
constexpr std::string_view kWords<Children>[] = {"follow", "off"};
template <>
constexpr std::string_view kWords<CostsFrom>[] = {"auto", "cupti", "events"};
template <>
constexpr std::string_view kWords<Offload>[] = {"off", "leaves", "auto"};
template <>
constexpr std::string_view kWords<Verify>[] = {"off", "sample", "all"};
template <>
constexpr std::string_view kWords<OnMismatch>[] = {"continue", "stop", "fail"};
template <>
constexpr std::string_view kWords<OnThrash>[] = {"report", "stop", "offload", "fail"};

template <class T>
std::string words_of() {
  std::string list;
  for (const std::string_view word : kWords<T>) list += (list.empty() ? "" : ", ") + std::string(word);
  return list;
}

// One overload a type, so that the table below needs no list of its own.
bool parse_into(Limit& out, std::string_view text) {
  const auto value = parse_limit(text);
  if (value) out = *value;
  return value.has_value();
}
bool parse_into(DeviceLimit& out, std::string_view text) {
  if (text.find('=') == std::string_view::npos) return parse_into(out.any, text);
  while (true) {
    const std::string_view entry = text.substr(0, text.find(','));
    const std::size_t equals = std::min(entry.find('='), entry.size());
    int device = -1;
    const auto [rest, error] = std::from_chars(entry.data(), entry.data() + equals, device);
    const bool named = error == std::errc{} && rest == entry.data() + equals && device >= 0;
    const auto limit = named && equals < entry.size() ? parse_limit(entry.substr(equals + 1)) : std::nullopt;
    const auto same = [device](const auto& other) { return other.first == device; };
    if (!limit || std::any_of(out.devices.begin(), out.devices.end(), same)) return false;
    out.devices.emplace_back(device, *limit);
    if (entry.size() == text.size()) return true;
    text.remove_prefix(entry.size() + 1);
  }
}
bool parse_into(Text& out, std::string_view text) {
  out = text;
  return true;
}
template <class T, class Parser>
bool take(T& out, std::string_view text, Parser parser) {
  const auto value = parser(text);
  if (value) out = *value;
  return value.has_value();
}
bool parse_into(Switch& out, std::string_view text) {
  return take(out, text, parse_switch);
}
bool parse_into(Level& out, std::string_view text) {
  return take(out, text, parse_level);
}
bool parse_into(HostLimit& out, std::string_view text) {
  return parse_into(static_cast<Limit&>(out), text);
}
bool parse_into(Size& out, std::string_view text) {
  const auto value = text.ends_with('%') ? std::nullopt : parse_limit(text);
  if (value) out.bytes = value->bytes;
  return value.has_value();
}
bool parse_into(Share& out, std::string_view text) {
  const auto value = text.ends_with('%') ? parse_limit(text) : std::nullopt;
  if (value) out.value = value->percent / 100;
  return value.has_value();
}
template <class T>
requires std::is_enum_v<T>
bool parse_into(T& out, std::string_view text) {
  const auto word = std::find(std::begin(kWords<T>), std::end(kWords<T>), text);
  if (word == std::end(kWords<T>)) return false;
  out = static_cast<T>(word - std::begin(kWords<T>));
  return true;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view name_of(Source source) {
  switch (source) {
    case Source::kDefault: return "default";
    case Source::kEnvironment: return "environment";
    case Source::kFlag: return "flag";
  }
  return "";
}

std::span<const Description> descriptions() {
  return kDescriptions;
}

Limit DeviceLimit::of(int device) const {
  for (const auto& [number, limit] : devices) {
    if (number == device) return limit;
  }
  return devices.empty() ? any : Limit{};
}

std::optional<Limit> parse_limit(std::string_view text) {
  if (text == "off") return Limit{};
  if (text.ends_with('%')) {
    double percent = 0;
    const char* end = text.data() + text.size() - 1;
    const auto [rest, error] = std::from_chars(text.data(), end, percent);
    if (error != std::errc{} || rest != end || !(percent > 0) || percent > 100) return std::nullopt;
    return Limit{.kind = Limit::Kind::kPercent, .bytes = 0, .percent = percent};
  }
  const std::optional<std::uint64_t> bytes = parse_bytes(text);
  if (!bytes || *bytes == 0) return std::nullopt;
  return Limit{.kind = Limit::Kind::kBytes, .bytes = *bytes, .percent = 0};
}

std::string forms_of(std::string_view type) {
  const std::string one = "8GiB, 8G, 512MiB, 1.5G (with a unit), 80% (above 0, at most 100), or off";
  if (type == "HostLimit") return one;
  if (type == "DeviceLimit") return one + "; or one of these for each GPU: 0=8GiB,1=80%";
  if (type == "Size") return "1GiB, 100M, 1.5G (with a unit), or off";
  if (type == "Children") return words_of<Children>();
  if (type == "CostsFrom") return words_of<CostsFrom>();
  if (type == "Share") return "90% (above 0, at most 100)";
  if (type == "Switch") return "on, off, 1, 0, true, false, yes, no";
  if (type == "Level") return "0, 1, 2, 3";
  if (type == "Policy") return words_of<Policy>();
  if (type == "Offload") return words_of<Offload>();
  if (type == "Verify") return words_of<Verify>();
  if (type == "OnMismatch") return words_of<OnMismatch>();
  if (type == "OnThrash") return words_of<OnThrash>();
  if (type == "LogLevel") return words_of<LogLevel>();
  return "text";
}

std::vector<std::string> conflicts(const Options& options) {
  std::vector<std::string> sentences;
  constexpr std::uint64_t kLeastLogBytes = 64 << 10;  // a header and some lines
  if (options.log_size.value.bytes != 0 && options.log_size.value.bytes < kLeastLogBytes) {
    sentences.push_back("a log of " + options.log_size.text + " has no room for its header; at least 64KiB");
  }
  const std::pair<const char*, std::string_view> outputs[] = {{"log", options.log.value},
                                                              {"record", options.record.value},
                                                              {"metrics", options.metrics.value},
                                                              {"summary", options.summary.value}};
  for (const auto& [name, path] : outputs) {
    for (const auto& [other, same] : outputs) {
      if (name == other) break;
      const std::filesystem::path place = path;
      if (!path.empty() && place.lexically_normal() == std::filesystem::path(same).lexically_normal())
        sentences.push_back("the " + std::string(other) + " and the " + name + " cannot both be written to " +
                            std::string(path));
    }
  }
  if (!options.limit.value.is_set() || options.host_limit.value.kind != Limit::Kind::kOff) return sentences;
  if (options.verify.value != Verify::kOff) {
    sentences.push_back(
        "verification (" + options.verify.text +
        ") keeps copies on the host until kernels are trusted, and the host limit is off: give it "
        "some memory, or turn verification off");
  }
  if (options.offload.value != Offload::kOff && options.offload.source != Source::kDefault) {
    sentences.push_back(
        "offload (" + options.offload.text +
        ") copies to the host, and the host limit is off: give it some memory, or turn offload off");
  }
  return sentences;
}

std::string set(Options& options, std::string_view environment, std::string_view text, Source source,
                std::string_view called) {
#define OPTION(type, member, environment_name, flag, default_text, help) \
  if (environment == environment_name) {                                 \
    Setting<type> setting;                                               \
    if (!parse_into(setting.value, text)) {                              \
      return std::string(called) + "=" + std::string(text) +             \
             " is not understood; accepted: " + forms_of(#type);         \
    }                                                                    \
    setting.text = text;                                                 \
    setting.source = source;                                             \
    options.member = setting;                                            \
    return {};                                                           \
  }
#include "options/options.def"
#undef OPTION
  return "unknown option " + std::string(called);
}

FromEnvironment from_environment(const char* const* environment) {
  FromEnvironment result;
  std::vector<std::string_view> known;
  for (const Description& row : kDescriptions) {
    set(result.options, row.environment, row.default_text, Source::kDefault, row.environment);
    known.push_back(row.environment);
  }
  for (; environment && *environment; ++environment) {
    const std::string_view entry(*environment);
    const std::size_t equals = entry.find('=');
    if (!entry.starts_with("REFRAIN_") || equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    const std::string_view text = entry.substr(equals + 1);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string_view guess = nearest(name, known);
      result.errors.push_back("unknown variable " + std::string(name) +
                              (guess.empty() ? "" : "; did you mean " + std::string(guess) + "?"));
    } else if (!text.empty()) {
      std::string error = set(result.options, name, text, Source::kEnvironment, name);
      if (!error.empty()) result.errors.push_back(std::move(error));
    }
  }
  return result;
}

std::string_view nearest(std::string_view name, std::span<const std::string_view> known) {
  std::string_view best;
  std::size_t best_distance = 4;  // more than three letters off is no misspelling
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace refrain::options
