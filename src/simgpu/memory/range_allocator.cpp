// A sorted map of free ranges, neighbours always merged. No policy beyond lowest-first.
#include "simgpu/memory/range_allocator.hpp"

namespace refrain::simgpu {

RangeAllocator::RangeAllocator(std::uint64_t begin, std::uint64_t end)
    : free_{{begin, end}}, free_bytes_(end - begin), total_(end - begin) {}

void RangeAllocator::carve(std::map<std::uint64_t, std::uint64_t>::iterator from, std::uint64_t begin,
                           std::uint64_t size) {
  const std::uint64_t end = from->second;
  if (from->first == begin) {
    free_.erase(from);
  } else {
    from->second = begin;
  }
  if (begin + size != end) free_.emplace(begin + size, end);
  free_bytes_ -= size;
}

std::optional<std::uint64_t> RangeAllocator::take(std::uint64_t size, std::uint64_t alignment) {
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const std::uint64_t begin = (it->first + alignment - 1) & ~(alignment - 1);
    if (begin < it->first || begin > it->second || it->second - begin < size) continue;
    carve(it, begin, size);
    return begin;
  }
  return std::nullopt;
}

bool RangeAllocator::take_at(std::uint64_t begin, std::uint64_t size) {
  auto it = free_.upper_bound(begin);
  if (it == free_.begin()) return false;
  --it;
  if (begin >= it->second || it->second - begin < size) return false;
  carve(it, begin, size);
  return true;
}

void RangeAllocator::give_back(std::uint64_t begin, std::uint64_t size) {
  auto [it, added] = free_.emplace(begin, begin + size);
  free_bytes_ += size;
  if (const auto after = std::next(it); after != free_.end() && after->first == it->second) {
    it->second = after->second;
    free_.erase(after);
  }
  if (it != free_.begin()) {
    const auto before = std::prev(it);
    if (before->second == it->first) {
      before->second = it->second;
      free_.erase(it);
    }
  }
}

}  // namespace refrain::simgpu
