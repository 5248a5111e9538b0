// See revolve.hpp.
#include "planner/revolve.hpp"

namespace refrain::planner {
namespace {

constexpr std::int64_t kImpossible = INT64_MAX / 4;

}  // namespace

Revolve::Revolve(std::span<const std::int64_t> forward_ns, std::size_t places)
    : steps_(forward_ns.size()),
      least_ns_((places + 1) * (steps_ + 1) * (steps_ + 1), kImpossible),
      next_(least_ns_.size()) {
  std::vector<std::int64_t> until{0};
  for (const std::int64_t ns : forward_ns) until.push_back(until.back() + ns);
  for (std::size_t kept = 0; kept <= places; ++kept) {
    for (std::size_t length = 0; length <= steps_; ++length) {
      for (std::size_t begin = 0, end = length; end <= steps_; ++begin, ++end) {
        std::int64_t& least = least_ns_[at(begin, end, kept)];
        if (length <= 1) least = 0;
        for (std::size_t state = begin + 1; state < end && kept > 0; ++state) {
          const std::int64_t ns = until[state] - until[begin] + least_ns_[at(state, end, kept - 1)] +
                                  least_ns_[at(begin, state, kept)];
          if (ns >= least) continue;
          least = ns;
          next_[at(begin, end, kept)] = static_cast<std::uint32_t>(state);
        }
      }
    }
  }
}

std::int64_t Revolve::least_ns(std::size_t begin, std::size_t end, std::size_t places) const {
  return least_ns_[at(begin, end, places)];
}

std::size_t Revolve::next_state(std::size_t begin, std::size_t end, std::size_t places) const {
  return next_[at(begin, end, places)];
}

}  // namespace refrain::planner
