// Arithmetic of registers on plain numbers; for the lanes only. Everything wraps, nothing overflows.
#pragma once

#include <cstdint>

#include "access/lanes.hpp"

namespace refrain::access {

inline std::int64_t wrapped(std::uint64_t value, unsigned bits) {
  if (bits >= 64) return static_cast<std::int64_t>(value);
  if (bits == 1) return static_cast<std::int64_t>(value & 1);
  if (bits == 32) return static_cast<std::int32_t>(value);
  return static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
}

inline std::uint64_t bits_of(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

inline std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(bits_of(a) + bits_of(b));
}
inline std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(bits_of(a) - bits_of(b));
}
inline std::int64_t times(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(bits_of(a) * bits_of(b));
}

inline Wide floor_div(Wide a, std::int64_t b) {
  const Wide q = a / b;
  return q * b > a ? q - 1 : q;
}

inline bool small(Wide value) {
  constexpr Wide kMost = Wide{1} << 62;
  return value > -kMost && value < kMost;
}

// Of numbers whose difference is from low to high.
struct Answer {
  bool yes = false, no = false;
};
inline Answer answer_of(Relation relation, Wide low, Wide high) {
  const bool less = high<0, not_less = low >= 0, more = low> 0, not_more = high <= 0;
  const bool equal = low == 0 && high == 0, apart = less || more;
  switch (relation) {
    case Relation::kEq: return {equal, apart};
    case Relation::kNe: return {apart, equal};
    case Relation::kLt: return {less, not_less};
    case Relation::kLe: return {not_more, more};
    case Relation::kGt: return {more, not_more};
    default: return {not_less, less};
  }
}

}  // namespace refrain::access
