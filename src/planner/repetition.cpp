// See repetition.hpp.
#include "planner/repetition.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace refrain::planner {
namespace {

std::set<std::size_t> periods_of(std::span<const std::uint64_t> keys) {
  std::map<std::uint64_t, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < keys.size(); ++i) places[keys[i]].push_back(i);
  std::set<std::size_t> periods;
  for (const auto& [key, at] : places)
    for (std::size_t i = 0; i < at.size(); ++i)
      for (std::size_t next = 1; next <= kRecurrences && i + next < at.size(); ++next)
        if (const std::size_t period = at[i + next] - at[i]; period <= keys.size() / 2)
          periods.insert(period);
  return periods;
}

void add_all(std::span<const std::uint64_t> keys, std::size_t period, std::vector<Repetition>& found) {
  std::size_t begin = 0, taken = 0;
  for (std::size_t i = 0; i + period <= keys.size(); ++i) {
    if (i + period < keys.size() && keys[i] == keys[i + period]) continue;
    const Repetition repetition{std::max(begin, taken), i + period, period};
    if (i > begin && repetition.end >= repetition.begin + 2 * period) {
      found.push_back(repetition);
      taken = repetition.end;
    }
    begin = i + 1;
  }
}

}  // namespace

std::vector<Repetition> repetitions(std::span<const std::uint64_t> keys) {
  std::vector<Repetition> found;
  for (const std::size_t period : periods_of(keys)) add_all(keys, period, found);
  std::stable_sort(found.begin(), found.end(),
                   [](const Repetition& a, const Repetition& b) { return a.covered() > b.covered(); });
  return found;
}

}  // namespace refrain::planner
