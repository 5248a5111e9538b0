// Which buffer a device pointer is in. Sorted ranges in one array: a look-up is a binary search over
// contiguous memory.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "engine/ids.hpp"

namespace refrain::cuda {

class Arena;

struct Range {
  CUdeviceptr base = 0;
  std::uint64_t bytes = 0;  // as the program asked for
  engine::BufferId buffer;
  Arena* arena = nullptr;  // divided among parts: the buffer is only its range
};

class Addresses {
 public:
  void insert(const Range& range) { ranges_.insert(position(range.base), range); }
  void erase(CUdeviceptr base) {
    const auto it = position(base);
    if (it != ranges_.end() && it->base == base) ranges_.erase(it);
  }
  // The range that contains the address; nullptr: not ours. Valid until the next insert or erase.
  const Range* find(CUdeviceptr address) const noexcept {
    auto it = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                               [](CUdeviceptr a, const Range& range) { return a < range.base; });
    if (it == ranges_.begin()) return nullptr;
    --it;
    return address - it->base < it->bytes ? &*it : nullptr;
  }
  void divide(CUdeviceptr base, Arena& arena) { position(base)->arena = &arena; }
  const std::vector<Range>& all() const noexcept { return ranges_; }

 private:
  std::vector<Range>::iterator position(CUdeviceptr base) {
    return std::lower_bound(ranges_.begin(), ranges_.end(), base,
                            [](const Range& range, CUdeviceptr b) { return range.base < b; });
  }
  std::vector<Range> ranges_;
};

}  // namespace refrain::cuda
