// Numbers as people read them: durations, counts, shares. Nothing else.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace refrain::report {

inline std::string seconds(std::uint64_t ns) {
  const double s = static_cast<double>(ns) / 1e9;
  if (s < 0.001) return fmt::format("{:.0f} us", s * 1e6);
  if (s < 1) return fmt::format("{:.1f} ms", s * 1e3);
  if (s < 60) return fmt::format("{:.1f} s", s);
  const auto whole = static_cast<std::uint64_t>(s);
  return fmt::format("{} m {} s", whole / 60, whole % 60);
}

inline std::string count(std::uint64_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

// "12.3 %"; 0 where there is nothing to be a part of.
inline std::string share(std::uint64_t part, std::uint64_t whole) {
  return fmt::format("{:.1f} %",
                     whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace refrain::report
