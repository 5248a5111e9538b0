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

// On one line, and with nothing in it that a terminal would obey: a log's names come from any program.
inline std::string printable(std::string text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool second_set = i > 0 && text[i - 1] == '\xc2' && c >= 0x80 && c < 0xa0;  // U+0080 to U+009F
    if (c < 0x20 || c == 0x7f) text[i] = '?';
    if (second_set) text.replace(i - 1, 2, "?");
  }
  return text;
}

}  // namespace refrain::report
