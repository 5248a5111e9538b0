// Set union over sorted vectors. No meaning is attached to origins here.
#include "access/origins.hpp"

#include <algorithm>

namespace refrain::access {

bool Origins::add(Origin origin) {
  const auto place = std::lower_bound(sorted_.begin(), sorted_.end(), origin);
  if (place != sorted_.end() && *place == origin) return false;
  sorted_.insert(place, origin);
  return true;
}

bool Origins::add(const Origins& more) {
  bool changed = false;
  for (const Origin origin : more.sorted_) changed |= add(origin);
  return changed;
}

bool Origins::contains(OriginKind kind) const noexcept {
  return std::any_of(sorted_.begin(), sorted_.end(),
                     [kind](const Origin& origin) { return origin.kind == kind; });
}

}  // namespace refrain::access
