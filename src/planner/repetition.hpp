// Where a sequence repeats itself. Must not know what it is a sequence of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace refrain::planner {

// keys[i] == keys[i + period] for i from begin, as long as both are before end: (end - begin) / period whole
// repeats, at least 2, wherever in it the first one begins.
struct Repetition {
  std::size_t begin = 0, end = 0, period = 0;
  std::size_t repeats() const { return period == 0 ? 0 : (end - begin) / period; }
  std::size_t covered() const { return repeats() * period; }
};

// All that are as long as they can be, those that cover most first, of equal ones the shortest period first.
// Those of one period do not overlap. Only periods at which some key recurs within its next kRecurrences
// occurrences are looked at.
inline constexpr std::size_t kRecurrences = 8;
std::vector<Repetition> repetitions(std::span<const std::uint64_t> keys);

}  // namespace refrain::planner
