// The best way back over a chain with few places for its states: Griewank and Walther, "Algorithm 799:
// revolve" (2000), for steps that need not take equally long. Must not know what a state is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace refrain::planner {

// Going back over steps i to j - 1 from state i, which is there: states j - 1 down to i are each needed once.
// The table has (steps + 1)^2 / 2 * places entries and takes steps times as long.
class Revolve {
 public:
  // forward_ns: of each step, from its state to the next.
  Revolve(std::span<const std::int64_t> forward_ns, std::size_t places);

  // Of forward runs, the first sweep over the steps included.
  std::int64_t least_ns(std::size_t begin, std::size_t end, std::size_t places) const;
  // The state to keep first, between begin and end; only where end - begin > 1 and places > 0.
  std::size_t next_state(std::size_t begin, std::size_t end, std::size_t places) const;

 private:
  std::size_t at(std::size_t begin, std::size_t end, std::size_t places) const {
    return (places * (steps_ + 1) + begin) * (steps_ + 1) + end;
  }

  std::size_t steps_;
  std::vector<std::int64_t> least_ns_;
  std::vector<std::uint32_t> next_;
};

}  // namespace refrain::planner
