// Pinned host memory: a driver allocation each, but for small ones, of which many share one. Knows nothing of
// what is in it.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <map>
#include <vector>

#include "cuda/driver.hpp"

namespace refrain::cuda {

// Thread safety: the caller's lock. Pointers are portable: every context may use them.
class HostPool {
 public:
  explicit HostPool(const Driver& driver) : driver_(driver) {}

  // nullptr: none to be had.
  void* take(std::size_t bytes);
  // Nothing on any device uses it any longer.
  void give_back(void* pointer, std::size_t bytes);
  // The context that all was allocated in is going or gone, and with it all that was taken and not given
  // back.
  void forget() { small_.clear(); }

 private:
  static std::size_t small_size(std::size_t bytes);
  void* allocate(std::size_t bytes);

  const Driver& driver_;
  std::map<std::size_t, std::vector<void*>> small_;  // free ones, by size
};

}  // namespace refrain::cuda
