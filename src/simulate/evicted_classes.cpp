// Union-find over evicted storages. Must not divide a class.
#include "simulate/evicted_classes.hpp"

#include <algorithm>

namespace refrain::simulate {

std::uint32_t EvictedClasses::new_node(std::int64_t compute_ns) {
  const auto node = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({node, compute_ns});
  return node;
}

std::uint32_t EvictedClasses::root_of(std::uint32_t node) {
  while (nodes_[node].parent != node) {
    nodes_[node].parent = nodes_[nodes_[node].parent].parent;
    node = nodes_[node].parent;
  }
  return node;
}

std::int64_t EvictedClasses::neighbours_ns(std::uint32_t storage) {
  std::int64_t compute_ns = 0;
  roots_.clear();
  const auto add = [&](const std::vector<std::uint32_t>& neighbours) {
    for (const std::uint32_t neighbour : neighbours) {
      if (storages_[neighbour].material) continue;
      const std::uint32_t root = root_of(node_of_[neighbour]);
      if (std::find(roots_.begin(), roots_.end(), root) != roots_.end()) continue;
      roots_.push_back(root);
      compute_ns += nodes_[root].compute_ns;
    }
  };
  add(storages_[storage].parents);
  add(storages_[storage].children);
  return compute_ns;
}

void EvictedClasses::on_new(std::uint32_t storage) {
  node_of_[storage] = new_node(0);
}

void EvictedClasses::on_evict(std::uint32_t storage) {
  const std::uint32_t own = new_node(static_cast<std::int64_t>(storages_[storage].compute_ns));
  node_of_[storage] = own;
  const auto join = [&](const std::vector<std::uint32_t>& neighbours) {
    for (const std::uint32_t neighbour : neighbours) {
      if (storages_[neighbour].material) continue;
      const std::uint32_t root = root_of(node_of_[neighbour]);
      if (root == own) continue;
      nodes_[root].parent = own;
      nodes_[own].compute_ns += nodes_[root].compute_ns;
    }
  };
  join(storages_[storage].parents);
  join(storages_[storage].children);
}

void EvictedClasses::on_material(std::uint32_t storage) {
  nodes_[root_of(node_of_[storage])].compute_ns -= static_cast<std::int64_t>(storages_[storage].compute_ns);
  node_of_[storage] = kNone;
}

}  // namespace refrain::simulate
