// The evicted neighbourhoods of h_DTR (Kirisame et al., appendix C.1): of each material storage, the evicted
// ones reached through evicted ones, in one direction, and the material ones at their edge. They are kept as
// the published simulator keeps them, who brings them up to date at certain moments only: between these, what
// an op that is still being prepared adds to the graph may or may not be counted.
#pragma once

#include <vector>

#include "simulate/storages.hpp"

namespace refrain::simulate {

class EvictedRegions {
 public:
  // storages: all that there will be.
  explicit EvictedRegions(const std::vector<Storage>& storages)
      : storages_(storages),
        regions_(storages.size()),
        interior_marks_(storages.size()),
        frontier_marks_(storages.size()) {}

  std::uint64_t descendants_ns(std::uint32_t storage) const { return compute_ns(storage, kDown); }
  std::uint64_t ancestors_ns(std::uint32_t storage) const { return compute_ns(storage, kUp); }

  void on_evict(std::uint32_t storage);
  // All that one op made material.
  void on_material(const std::vector<std::uint32_t>& storages);

 private:
  enum Direction : int { kDown, kUp };
  struct Region {
    std::vector<std::uint32_t> interior;
    std::vector<std::uint32_t> frontier;
    std::uint64_t compute_ns = 0;
  };

  std::uint64_t compute_ns(std::uint32_t storage, Direction direction) const {
    return regions_[storage].of[direction].compute_ns;
  }
  Region& region(std::uint32_t storage, Direction direction) { return regions_[storage].of[direction]; }
  void absorb(std::uint32_t base, std::uint32_t evicted, Direction direction);
  void rebuild(std::uint32_t base, Direction direction);

  const std::vector<Storage>& storages_;
  struct Both {
    Region of[2];
  };
  std::vector<Both> regions_;  // by storage
  Marks interior_marks_;
  Marks frontier_marks_;
  std::vector<std::uint32_t> stack_;
};

}  // namespace refrain::simulate
