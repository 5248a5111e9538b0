// The equivalence classes of h_DTR_eq (Kirisame et al., appendix C.2): adjacent evicted storages are in one
// class, which has the sum of their costs. A storage that comes back takes its cost out of its class, but the
// class is never divided: what was joined through it stays joined, as published.
#pragma once

#include <vector>

#include "simulate/storages.hpp"

namespace refrain::simulate {

class EvictedClasses {
 public:
  explicit EvictedClasses(const std::vector<Storage>& storages)
      : storages_(storages), node_of_(storages.size(), kNone) {}

  // Of the distinct classes next to the storage. May be below 0: the class of a storage that has never been
  // material has no cost in it, but its cost is taken out all the same.
  std::int64_t neighbours_ns(std::uint32_t storage);

  void on_new(std::uint32_t storage);
  void on_evict(std::uint32_t storage);
  void on_material(std::uint32_t storage);

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  struct Node {
    std::uint32_t parent;  // itself: a root
    std::int64_t compute_ns;
  };
  std::uint32_t new_node(std::int64_t compute_ns);
  std::uint32_t root_of(std::uint32_t node);

  const std::vector<Storage>& storages_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> node_of_;  // by storage; kNone: material
  std::vector<std::uint32_t> roots_;    // seen
};

}  // namespace refrain::simulate
