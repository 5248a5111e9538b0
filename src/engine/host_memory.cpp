// A cache of host allocations by size. Must not hold more than its cap, not even for a moment.
#include "engine/host_memory.hpp"

#include <algorithm>

namespace refrain::engine {

HostId HostMemory::acquire(Bytes bytes) {
  const auto same = idle_.find(bytes);
  if (same != idle_.end()) {
    const HostId host = same->second.back();
    same->second.pop_back();
    if (same->second.empty()) idle_.erase(same);
    idle_bytes_ -= bytes;
    return host;
  }
  // Nothing is destroyed for a request that would not fit even so.
  if (bytes > cap_bytes_ || used_bytes() > cap_bytes_ - bytes) return {};
  while (held_bytes_ > cap_bytes_ - bytes) destroy_largest();
  const std::optional<HostId> host = device_.create_host(bytes);
  if (!host) return {};
  held_bytes_ += bytes;
  peak_held_bytes_ = std::max(peak_held_bytes_, held_bytes_);
  return *host;
}

void HostMemory::destroy_largest() {
  const auto largest = std::prev(idle_.end());
  device_.destroy_host(largest->second.back());
  largest->second.pop_back();
  held_bytes_ -= largest->first;
  idle_bytes_ -= largest->first;
  if (largest->second.empty()) idle_.erase(largest);
}

void HostMemory::release_idle() {
  while (!idle_.empty()) destroy_largest();
}

void HostMemory::give_back(HostId host, Bytes bytes) {
  idle_[bytes].push_back(host);
  idle_bytes_ += bytes;
}

const char* HostMemory::check_invariants() const {
  Bytes idle = 0;
  for (const auto& [bytes, hosts] : idle_) idle += bytes * hosts.size();
  if (idle != idle_bytes_) return "idle host bytes are not the sum of idle host memory";
  if (idle_bytes_ > held_bytes_) return "more host memory is idle than held";
  if (held_bytes_ > cap_bytes_) return "the host cap is exceeded";
  return nullptr;
}

}  // namespace refrain::engine
