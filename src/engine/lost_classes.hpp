// The equivalence classes of h_DTR_eq (Kirisame et al., appendix C.2): lost values that are next to each
// other in the lineage are in one class, which has the sum of their costs. A value that comes back takes its
// cost out of its class, but the class is never divided: what was joined through it stays joined, as
// published. Must not outgrow the values that are lost, however often they are.
#pragma once

#include <unordered_map>
#include <vector>

#include "engine/lineage.hpp"

namespace refrain::engine {

class LostClasses {
 public:
  explicit LostClasses(const Lineage& lineage) : lineage_(lineage) {}

  // Of the distinct classes among the value's parents and children.
  double neighbours_ns(ValueId value);

  void add(ValueId value);
  void remove(ValueId value);  // one that was never added is passed over

  std::size_t node_count() const noexcept { return nodes_.size(); }

 private:
  struct Node {
    std::uint32_t parent;  // itself: a root
    double cost_ns;
  };
  struct Member {
    std::uint32_t node;
    double cost_ns;  // that it brought in: costs of ops change
  };
  std::uint32_t root_of(std::uint32_t node);
  template <class Visit>
  void visit_neighbours(ValueId value, const Visit& visit);
  void forget_old_nodes();

  const Lineage& lineage_;
  std::vector<Node> nodes_;
  std::unordered_map<ValueId, Member> members_;
  std::vector<std::uint32_t> roots_;  // seen; kept between calls for its capacity
};

}  // namespace refrain::engine
