// Sizes as people write them: the one parser and the one printer. Header only, no allocation in the parser.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace refrain {

// What `parse_bytes` accepts, for messages.
inline constexpr std::string_view kByteForms =
    "a number with a unit: 512KiB, 8GiB, 8G, 1.5GB (K, M, G, T are powers of 1024)";

// A decimal number, fractions allowed, and a unit: B, K, M, G or T, with or without "B" or "iB" after it, in
// either case. Nothing may be left over; a number without a unit is refused, because bytes and gigabytes are
// both guessed. Fractions of a byte are dropped. nullopt: not of this form, or 2^63 and more.
inline std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept {
  double number = 0;
  double place = 0;  // weight of the next fractional digit; 0 before the point
  std::size_t i = 0;
  bool digits = false;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c >= '0' && c <= '9') {
      digits = true;
      number = place == 0 ? number * 10 + (c - '0') : number + (c - '0') * place;
      place /= 10;
    } else if (c == '.' && place == 0) {
      place = 0.1;
    } else {
      break;
    }
  }
  if (!digits || i == text.size()) return std::nullopt;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  constexpr std::string_view kUnits = "bkmgt";
  const std::size_t unit = kUnits.find(lower(text[i++]));
  if (unit == std::string_view::npos) return std::nullopt;
  if (unit > 0) {
    if (i < text.size() && lower(text[i]) == 'i') {
      if (++i == text.size() || lower(text[i]) != 'b') return std::nullopt;
    }
    if (i < text.size() && lower(text[i]) == 'b') ++i;
  }
  if (i != text.size()) return std::nullopt;
  const double bytes = std::floor(std::ldexp(number, static_cast<int>(unit) * 10));
  if (bytes >= 0x1p63) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

// "0 B", "512 B", "1.5 KiB", "8.0 GiB": one decimal from KiB on.
inline std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // 1023.95 would be printed as 1024.0 of the smaller unit.
  while (value >= (unit == 0 ? 1024.0 : 1023.95) && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  const std::uint64_t tenths = static_cast<std::uint64_t>(std::llround(value * 10));
  std::string text = std::to_string(tenths / 10);
  if (unit > 0) text += "." + std::to_string(tenths % 10);
  return text.append(" ").append(kUnits[unit]);
}

}  // namespace refrain
