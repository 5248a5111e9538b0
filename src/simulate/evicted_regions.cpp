// Absorbing and rebuilding regions. Must not read whether a storage is material outside of a rebuild.
#include "simulate/evicted_regions.hpp"

#include <algorithm>

namespace refrain::simulate {

void EvictedRegions::on_evict(std::uint32_t storage) {
  for (const std::uint32_t parent : region(storage, kUp).frontier) absorb(parent, storage, kDown);
  for (const std::uint32_t child : region(storage, kDown).frontier) absorb(child, storage, kUp);
  region(storage, kUp) = {};
  region(storage, kDown) = {};
}

// The evicted storage, at the edge until now, and its own region become part of the base's.
void EvictedRegions::absorb(std::uint32_t base, std::uint32_t evicted, Direction direction) {
  Region& into = region(base, direction);
  const Region& from = region(evicted, direction);
  std::erase(into.frontier, evicted);
  frontier_marks_.clear();
  for (const std::uint32_t storage : into.frontier) frontier_marks_.add(storage);
  for (const std::uint32_t storage : from.frontier) {
    if (frontier_marks_.add(storage)) into.frontier.push_back(storage);
  }
  const auto include = [&](std::uint32_t storage) {
    into.interior.push_back(storage);
    into.compute_ns += storages_[storage].compute_ns;
  };
  include(evicted);
  if (from.interior.empty()) return;
  interior_marks_.clear();
  for (const std::uint32_t storage : into.interior) interior_marks_.add(storage);
  for (const std::uint32_t storage : from.interior) {
    if (interior_marks_.add(storage)) include(storage);
  }
}

void EvictedRegions::rebuild(std::uint32_t base, Direction direction) {
  Region& region = this->region(base, direction);
  region.interior.clear();
  region.frontier.clear();
  region.compute_ns = 0;
  interior_marks_.clear();
  frontier_marks_.clear();
  frontier_marks_.add(base);
  stack_.assign(1, base);
  while (!stack_.empty()) {
    const Storage& at = storages_[stack_.back()];
    stack_.pop_back();
    for (const std::uint32_t next : direction == kDown ? at.children : at.parents) {
      if (storages_[next].material) {
        if (frontier_marks_.add(next)) region.frontier.push_back(next);
      } else if (interior_marks_.add(next)) {
        region.interior.push_back(next);
        region.compute_ns += storages_[next].compute_ns;
        stack_.push_back(next);
      }
    }
  }
}

void EvictedRegions::on_material(const std::vector<std::uint32_t>& storages) {
  std::vector<std::uint32_t> above;
  std::vector<std::uint32_t> below;
  for (const std::uint32_t storage : storages) {
    rebuild(storage, kDown);
    rebuild(storage, kUp);
    const auto& up = region(storage, kUp).frontier;
    const auto& down = region(storage, kDown).frontier;
    above.insert(above.end(), up.begin(), up.end());
    below.insert(below.end(), down.begin(), down.end());
  }
  for (const std::uint32_t storage : above) rebuild(storage, kDown);
  for (const std::uint32_t storage : below) rebuild(storage, kUp);
}

}  // namespace refrain::simulate
