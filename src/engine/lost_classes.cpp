// Union-find over lost values. Must not divide a class.
#include "engine/lost_classes.hpp"

#include <algorithm>

namespace refrain::engine {

std::uint32_t LostClasses::root_of(std::uint32_t node) {
  while (nodes_[node].parent != node) {
    nodes_[node].parent = nodes_[nodes_[node].parent].parent;
    node = nodes_[node].parent;
  }
  return node;
}

// The roots of those that are lost: what its op reads, and what others made of it.
template <class Visit>
void LostClasses::visit_neighbours(ValueId id, const Visit& visit) {
  const auto visit_one = [&](ValueId neighbour) {
    const auto it = neighbour ? members_.find(neighbour) : members_.end();
    if (it != members_.end()) visit(root_of(it->second.node));
  };
  const Value& v = lineage_.value(id);
  if (v.producer) {
    for (const OpUse& use : lineage_.op(v.producer).uses) visit_one(use.input);
  }
  for (const OpId consumer : v.consumers) {
    for (const OpUse& use : lineage_.op(consumer).uses) visit_one(use.output);
  }
}

double LostClasses::neighbours_ns(ValueId value) {
  double cost_ns = 0;
  roots_.clear();
  visit_neighbours(value, [&](std::uint32_t root) {
    if (std::find(roots_.begin(), roots_.end(), root) != roots_.end()) return;
    roots_.push_back(root);
    cost_ns += nodes_[root].cost_ns;
  });
  // A sum that costs were taken out of again may be off by a rounding.
  return std::max(cost_ns, 0.0);
}

void LostClasses::add(ValueId value) {
  const Value& v = lineage_.value(value);
  if (v.leaf() || members_.contains(value)) return;
  const double cost_ns = lineage_.cost_ns(lineage_.op(v.producer));
  const auto own = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({own, cost_ns});
  visit_neighbours(value, [&](std::uint32_t root) {
    if (root == own) return;
    nodes_[root].parent = own;
    nodes_[own].cost_ns += nodes_[root].cost_ns;
  });
  members_.emplace(value, Member{own, cost_ns});
  forget_old_nodes();
}

void LostClasses::remove(ValueId value) {
  const auto it = members_.find(value);
  if (it == members_.end()) return;
  nodes_[root_of(it->second.node)].cost_ns -= it->second.cost_ns;
  members_.erase(it);
}

// Every member points to a root of its own class, and what nobody points to is gone.
void LostClasses::forget_old_nodes() {
  if (nodes_.size() < 2 * members_.size() + 1024) return;
  std::unordered_map<std::uint32_t, std::uint32_t> renamed;
  std::vector<Node> kept;
  for (auto& [value, member] : members_) {
    const std::uint32_t root = root_of(member.node);
    const auto [it, is_new] = renamed.emplace(root, static_cast<std::uint32_t>(kept.size()));
    if (is_new) kept.push_back({it->second, nodes_[root].cost_ns});
    member.node = it->second;
  }
  nodes_ = std::move(kept);
}

}  // namespace refrain::engine
