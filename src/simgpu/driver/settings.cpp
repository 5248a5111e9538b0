// Reading the SIMGPU_* variables. It must not print: cuInit says what is wrong.
#include "simgpu/driver/settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string_view>
#include <thread>

#include "refrain/bytes.hpp"
#include "simgpu/driver/error.hpp"
#include "simgpu/driver/profile.hpp"

namespace refrain::simgpu::driver {
namespace {

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Each reader of a type in settings.def returns what is wrong, or nothing.
using Wrong = std::optional<std::string>;
constexpr Wrong kRight = std::nullopt;

Wrong read_Size(std::string_view text, std::uint64_t& out) {
  const auto bytes = parse_bytes(text);
  if (!bytes || *bytes == 0) return fmt::format("is not a size: write {}", kByteForms);
  out = *bytes;
  return kRight;
}

Wrong read_Devices(std::string_view text, Ordinal& out) {
  const auto count = parse_number(text);
  if (!count || *count < 1 || *count > kMaxDevices)
    return fmt::format("is not a number of devices, 1 to {}", kMaxDevices);
  out = static_cast<Ordinal>(*count);
  return kRight;
}

Wrong read_Granularity(std::string_view text, std::uint64_t& out) {
  if (const Wrong wrong = read_Size(text, out)) return wrong;
  if (out < 4096 || !std::has_single_bit(out)) return "is not a power of two of at least 4096 bytes";
  return kRight;
}

Wrong read_Device(std::string_view text, const Profile*& out) {
  out = find_profile(text);
  if (out == nullptr) return fmt::format("is not one of {}", profile_names());
  return kRight;
}

Wrong read_Capability(std::string_view text, std::uint32_t& out) {
  if (text == "profile") return kRight;
  const auto sm = parse_number(text);
  if (!sm || *sm < 50 || *sm > 121) return "is not a compute capability such as 75 or 90";
  out = static_cast<std::uint32_t>(*sm);
  return kRight;
}

Wrong read_Schedule(std::string_view text, Schedule& out) {
  constexpr std::string_view kPrefix = "random:";
  out = {};
  if (text == "eager") return kRight;
  out.kind = text == "lazy" ? Schedule::kLazy : Schedule::kRandom;
  if (text == "lazy") return kRight;
  const auto seed = text.starts_with(kPrefix) ? parse_number(text.substr(kPrefix.size())) : std::nullopt;
  if (!seed) return "is not one of eager, lazy, random:SEED";
  out.seed = *seed;
  return kRight;
}

bool* check_named(std::string_view name, Checks& checks) {
  if (name == "bounds") return &checks.bounds;
  if (name == "uninitialised") return &checks.uninitialised;
  return name == "barriers" ? &checks.barriers : nullptr;
}

Wrong read_Checks(std::string_view text, Checks& out) {
  out = {};
  while (!text.empty()) {
    std::string_view name = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), name.size() + 1));
    const bool wanted = !name.starts_with('-');
    if (!wanted) name.remove_prefix(1);
    if (wanted && name == "all") {
      out = {true, true, true};
    } else if (wanted && name == "none") {
      out = {};
    } else if (bool* check = check_named(name, out); check != nullptr) {
      *check = wanted;
    } else {
      return "is not all, none, or a list of bounds, uninitialised, barriers (-NAME leaves one out)";
    }
  }
  return kRight;
}

Wrong read_choice(std::string_view text, std::string_view no, std::string_view yes, bool& out) {
  if (text != no && text != yes) return fmt::format("is not one of {}, {}", no, yes);
  out = text == yes;
  return kRight;
}
Wrong read_OnMistake(std::string_view text, bool& out) {
  return read_choice(text, "fault", "report", out);
}
Wrong read_Atomics(std::string_view text, bool& out) {
  return read_choice(text, "any", "ordered", out);
}

Wrong read_Workers(std::string_view text, unsigned& out) {
  constexpr std::uint64_t kMost = 256;
  out = std::min(std::max(std::thread::hardware_concurrency(), 1u), static_cast<unsigned>(kMost));
  if (text == "cores") return kRight;
  const auto workers = parse_number(text);
  if (!workers || *workers < 1 || *workers > kMost) return "is not a number of threads, 1 to 256, or cores";
  out = static_cast<unsigned>(*workers);
  return kRight;
}

Wrong read_Text(std::string_view text, std::string& out) {
  out = text;
  return kRight;
}

Wrong read_Failures(std::string_view text, std::vector<Failure>& out) {
  const auto failures = parse_failures(text);
  if (!failures)
    return "is not a list of FUNCTION:USE:ERROR, such as cuMemMap:3:2 (the third use) or cuMemMap:3+:2 (and "
           "all later ones)";
  out = *failures;
  return kRight;
}

Settings read_settings() {
  Settings out;
  const auto read = [&](const char* variable, const char* otherwise, auto reader, auto& member) {
    const char* set = std::getenv(variable);
    const std::string_view text = set == nullptr || *set == '\0' ? otherwise : set;
    const Wrong wrong = reader(text, member);
    if (wrong && out.error.empty()) out.error = fmt::format("{}={} {}", variable, text, *wrong);
  };
#define SIMGPU_SETTING(type, member, variable, text, help) read(variable, text, read_##type, out.member);
#include "simgpu/driver/settings.def"
#undef SIMGPU_SETTING
  if (out.sm == 0 && out.profile != nullptr) out.sm = out.profile->capability;
  return out;
}

void report(const std::string& text) {
  say(of_this_program(text));
}

}  // namespace

const Settings& settings() {
  static const auto* read = new Settings(read_settings());  // never destroyed: used while the process ends
  return *read;
}

std::string expand_path(std::string path) {
  const auto place = path.find("%p");
  if (place != std::string::npos) path.replace(place, 2, std::to_string(getpid()));
  return path;
}

std::vector<int> visible_devices(std::string_view text, Ordinal count) {
  std::vector<int> out;
  while (true) {
    const std::size_t end = text.find(',');
    const auto number = parse_number(text.substr(0, end));
    if (!number || *number >= count) return out;
    const int device = static_cast<int>(*number);
    if (std::find(out.begin(), out.end(), device) != out.end()) return out;
    out.push_back(device);
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::vector<int> visible_devices() {
  if (const char* set = std::getenv("CUDA_VISIBLE_DEVICES"); set != nullptr)
    return visible_devices(set, settings().devices);
  std::vector<int> all(settings().devices);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

ExecutionSettings execution_settings(Ordinal device) {
  const Settings& all = settings();
  return {.device = device,
          .workers = all.workers,
          .ordered_atomics = all.ordered_atomics,
          .check_uninitialised = all.checks.uninitialised,
          .check_barriers = all.checks.barriers,
          .report = all.report ? report : nullptr};
}

}  // namespace refrain::simgpu::driver
