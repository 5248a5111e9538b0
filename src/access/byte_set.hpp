// A set of bytes, gathered as runs that repeat at strides and told as plain ranges. It knows nothing of
// kernels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace refrain::access {

// Bytes [begin, end) relative to an address; may lie before it.
struct Range {
  std::int64_t begin;
  std::int64_t end;
  friend bool operator==(const Range&, const Range&) = default;
};

// How often a run of bytes comes again along each dimension of a grid, and how far apart. A count of 1: not.
struct Repeat {
  std::int64_t stride_bytes = 0;
  std::int64_t count = 1;
  auto operator<=>(const Repeat&) const = default;  // NOLINT(modernize-use-nullptr): not about pointers
};
using Repeats = std::array<Repeat, 3>;

// Sorts and merges what touches or overlaps.
void merge(std::vector<Range>& ranges);

class ByteSet {
 public:
  void add(Range run, Repeats repeats);
  bool empty() const noexcept { return runs_.empty(); }

  // Sorted, disjoint, not adjacent. More than `most` ranges: the one range that holds all if `may`, else none
  // of those that would not fit.
  std::vector<Range> ranges(bool may, std::size_t most) const;

 private:
  struct Runs {
    std::vector<Range> list;
    std::size_t compact_at = 1024;
  };
  std::map<Repeats, Runs> runs_;
};

}  // namespace refrain::access
