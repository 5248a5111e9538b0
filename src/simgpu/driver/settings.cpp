// Reading the SIMGPU_* variables. It must not print: cuInit says what is wrong.
#include "simgpu/driver/settings.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "refrain/bytes.hpp"

namespace refrain::simgpu::driver {
namespace {

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

void read_size(const char* name, std::uint64_t& out, std::string& error) {
  const std::string_view text = variable(name);
  if (text.empty()) return;
  if (const auto bytes = parse_bytes(text); bytes && *bytes > 0) {
    out = *bytes;
  } else if (error.empty()) {
    error = fmt::format("{}={} is not a size: write {}", name, text, kByteForms);
  }
}

void read_schedule(Settings& out) {
  const std::string_view text = variable("SIMGPU_SCHEDULE");
  if (text.empty() || text == "eager") return;
  if (text == "lazy") {
    out.schedule = Schedule::kLazy;
    return;
  }
  constexpr std::string_view kPrefix = "random:";
  const auto seed = text.starts_with(kPrefix) ? parse_number(text.substr(kPrefix.size())) : std::nullopt;
  if (seed) {
    out.schedule = Schedule::kRandom;
    out.seed = *seed;
  } else if (out.error.empty()) {
    out.error = fmt::format("SIMGPU_SCHEDULE={} is not one of eager, lazy, random:SEED", text);
  }
}

void read_sm(Settings& out) {
  const std::string_view text = variable("SIMGPU_SM");
  if (text.empty()) return;
  if (const auto sm = parse_number(text); sm && *sm >= 50 && *sm <= 121) {
    out.sm = static_cast<std::uint32_t>(*sm);
  } else if (out.error.empty()) {
    out.error = fmt::format("SIMGPU_SM={} is not a compute capability such as 75 or 90", text);
  }
}

Settings read_settings() {
  Settings out;
  read_size("SIMGPU_MEMORY", out.memory_bytes, out.error);
  read_size("SIMGPU_GRANULARITY", out.granularity_bytes, out.error);
  read_schedule(out);
  read_sm(out);
  out.stats_path = variable("SIMGPU_STATS");
  if (out.error.empty() && (out.granularity_bytes < 4096 || !std::has_single_bit(out.granularity_bytes))) {
    out.error = fmt::format("SIMGPU_GRANULARITY={} is not a power of two of at least 4096 bytes",
                            out.granularity_bytes);
  }
  return out;
}

}  // namespace

const Settings& settings() {
  static const auto* read = new Settings(read_settings());  // never destroyed: used while the process ends
  return *read;
}

}  // namespace refrain::simgpu::driver
