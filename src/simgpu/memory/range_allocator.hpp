// First-fit allocation of number ranges: addresses of the device, offsets in its backing file.
// It holds no memory and knows nothing of what the numbers mean. Not thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace refrain::simgpu {

class RangeAllocator {
 public:
  RangeAllocator(std::uint64_t begin, std::uint64_t end);

  // The lowest free range; alignment is a power of two.
  std::optional<std::uint64_t> take(std::uint64_t size, std::uint64_t alignment);
  bool take_at(std::uint64_t begin, std::uint64_t size);
  void give_back(std::uint64_t begin, std::uint64_t size);
  bool empty_but_for_free() const noexcept { return free_bytes_ == total_; }

 private:
  void carve(std::map<std::uint64_t, std::uint64_t>::iterator from, std::uint64_t begin, std::uint64_t size);

  std::map<std::uint64_t, std::uint64_t> free_;  // begin -> end
  std::uint64_t free_bytes_;
  std::uint64_t total_;
};

}  // namespace refrain::simgpu
