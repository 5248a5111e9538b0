// Small allocations: many share the pages of one pinned buffer. Only address arithmetic: the caller provides
// the slabs.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <unordered_map>

namespace refrain::cuda {

class Slabs {
 public:
  // cudaMalloc promises 256 bytes; 512 is what it gives.
  static constexpr std::uint64_t kAlignment = 512;

  void add(CUdeviceptr base, std::uint64_t bytes) { free_[base] = bytes; }

  // First fit; 0: no slab has room.
  CUdeviceptr take(std::uint64_t bytes) {
    const std::uint64_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second < size) continue;
      const CUdeviceptr base = it->first;
      const std::uint64_t rest = it->second - size;
      free_.erase(it);
      if (rest > 0) free_[base + size] = rest;
      taken_[base] = size;
      return base;
    }
    return 0;
  }

  void give_back(CUdeviceptr base) {
    const auto taken = taken_.find(base);
    if (taken == taken_.end()) return;
    auto it = free_.emplace(base, taken->second).first;
    taken_.erase(taken);
    const auto next = std::next(it);
    if (next != free_.end() && it->first + it->second == next->first) {
      it->second += next->second;
      free_.erase(next);
    }
    if (it == free_.begin()) return;
    const auto previous = std::prev(it);
    if (previous->first + previous->second == it->first) {
      previous->second += it->second;
      free_.erase(it);
    }
  }

 private:
  std::map<CUdeviceptr, std::uint64_t> free_;  // neighbours are always merged
  std::unordered_map<CUdeviceptr, std::uint64_t> taken_;
};

}  // namespace refrain::cuda
