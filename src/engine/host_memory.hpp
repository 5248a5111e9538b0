// Pinned host memory for copies of values, under a cap of its own. Knows nothing of values: it never decides
// which copy to give up.
#pragma once

#include <map>
#include <vector>

#include "engine/device.hpp"

namespace refrain::engine {

class HostMemory {
 public:
  HostMemory(Device& device, Bytes cap_bytes) : device_(device), cap_bytes_(cap_bytes) {}

  // Of exactly that size. none: no room under the cap, or the host has none left.
  HostId acquire(Bytes bytes);
  // Kept for the next copy of that size until the room is wanted.
  void give_back(HostId host, Bytes bytes);
  void release_idle();

  Bytes cap_bytes() const noexcept { return cap_bytes_; }
  Bytes used_bytes() const noexcept { return held_bytes_ - idle_bytes_; }
  Bytes held_bytes() const noexcept { return held_bytes_; }
  Bytes peak_held_bytes() const noexcept { return peak_held_bytes_; }

  const char* check_invariants() const;

 private:
  void destroy_largest();

  Device& device_;
  Bytes cap_bytes_;
  Bytes held_bytes_ = 0;
  Bytes idle_bytes_ = 0;
  Bytes peak_held_bytes_ = 0;
  std::map<Bytes, std::vector<HostId>> idle_;
};

}  // namespace refrain::engine
