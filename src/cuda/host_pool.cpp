// Carving small blocks out of larger ones. Must not give a chunk back while any block of it may be in use,
// and so never does: chunks serve again.
#include "cuda/host_pool.hpp"

#include <bit>

namespace refrain::cuda {
namespace {

constexpr std::size_t kChunkBytes = 1 << 20;
constexpr std::size_t kLargestSmall = 64 << 10;  // beyond it, the driver's rounding up wastes little
constexpr std::size_t kSmallest = 64;

}  // namespace

std::size_t HostPool::small_size(std::size_t bytes) {
  return std::bit_ceil(bytes < kSmallest ? kSmallest : bytes);
}

void* HostPool::allocate(std::size_t bytes) {
  void* pointer = nullptr;
  return driver_.cuMemHostAlloc(&pointer, bytes, CU_MEMHOSTALLOC_PORTABLE) == CUDA_SUCCESS ? pointer
                                                                                           : nullptr;
}

void* HostPool::take(std::size_t bytes) {
  if (bytes > kLargestSmall) return allocate(bytes);
  const std::size_t size = small_size(bytes);
  std::vector<void*>& free = small_[size];
  if (free.empty()) {
    auto* const chunk = static_cast<std::byte*>(allocate(kChunkBytes));
    if (!chunk) return nullptr;
    for (std::size_t at = kChunkBytes; at >= size; at -= size) free.push_back(chunk + at - size);
  }
  void* const pointer = free.back();
  free.pop_back();
  return pointer;
}

void HostPool::give_back(void* pointer, std::size_t bytes) {
  if (bytes > kLargestSmall) {
    driver_.cuMemFreeHost(pointer);
  } else {
    small_[small_size(bytes)].push_back(pointer);
  }
}

}  // namespace refrain::cuda
