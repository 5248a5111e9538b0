// Sorted lists of byte ranges as sets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "simgpu/exec/access_record.hpp"

namespace refrain::access::test {

using Range = simgpu::ByteRange;
using Ranges = std::vector<Range>;

// Sorted, and joined where they touch.
inline Ranges joined(Ranges ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  Ranges out;
  for (const Range& range : ranges) {
    if (range.begin >= range.end) continue;
    if (!out.empty() && range.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, range.end);
    } else {
      out.push_back(range);
    }
  }
  return out;
}

// What of `from` is not in `taken`; both joined.
inline Ranges without(const Ranges& from, const Ranges& taken) {
  Ranges out;
  auto next = taken.begin();
  for (Range range : from) {
    while (next != taken.end() && next->end <= range.begin) ++next;
    for (auto it = next; it != taken.end() && it->begin < range.end; ++it) {
      if (it->begin > range.begin) out.push_back({range.begin, it->begin});
      range.begin = std::min(it->end, range.end);
    }
    if (range.begin < range.end) out.push_back(range);
  }
  return out;
}

inline std::uint64_t bytes_of(const Ranges& ranges) {
  std::uint64_t bytes = 0;
  for (const Range& range : ranges) bytes += range.end - range.begin;
  return bytes;
}

}  // namespace refrain::access::test
