// The lowest of many scores of the form numerator / (bytes * staleness), where staleness grows with the clock
// at the same rate for all: a kinetic tournament. Each match between two keeps the moment at which its
// outcome would change, so that a clock that moves on costs only the matches that are due. O(log n) for a
// change.
//
// The lowest is exact at every moment, except that two scores which differ by less than rounding (1e-12 of
// them) may stand for each other. Knows nothing of values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace refrain::engine {

struct Rank {
  double numerator = std::numeric_limits<double>::infinity();
  double bytes = 1;
  double last_access_ns = 0;
};

// by_staleness: of a policy that divides by it.
inline double score_of(const Rank& rank, double now_ns, bool by_staleness) noexcept {
  // One nanosecond: what was touched by the op just issued is as fresh as can be, not infinitely so.
  const double staleness_ns = by_staleness ? std::max(now_ns - rank.last_access_ns, 1.0) : 1.0;
  return rank.numerator / (rank.bytes * staleness_ns);
}

class Tournament {
 public:
  static constexpr std::uint32_t kNobody = 0xffffffffu;
  explicit Tournament(bool by_staleness) : by_staleness_(by_staleness) {}

  std::size_t slots() const noexcept { return ranks_.size(); }
  const Rank& rank(std::uint32_t slot) const { return ranks_[slot]; }
  // An infinite numerator: does not take part. Slots are numbered from 0; more of them are made as needed.
  void set(std::uint32_t slot, const Rank& rank);
  // Many at once; takes effect with the next `finish_setting`.
  void set_later(std::uint32_t slot, const Rank& rank);
  void finish_setting();

  // now_ns never goes back. kNobody: no one takes part.
  std::uint32_t lowest(double now_ns);
  double score(std::uint32_t slot) const { return score_of(ranks_[slot], now_ns_, by_staleness_); }

 private:
  struct Match {
    std::uint32_t winner = kNobody;
    double due_ns = std::numeric_limits<double>::infinity();  // the earliest below it, or its own
  };
  std::uint32_t winner(std::size_t node) const {
    if (node < capacity_) return matches_[node].winner;
    const std::size_t slot = node - capacity_;
    return slot < ranks_.size() && ranks_[slot].numerator < std::numeric_limits<double>::infinity()
               ? static_cast<std::uint32_t>(slot)
               : kNobody;
  }
  double due_ns(std::size_t node) const {
    return node < capacity_ ? matches_[node].due_ns : std::numeric_limits<double>::infinity();
  }
  // What matches need of a rank: numerator / bytes, and the access.
  struct Line {
    double slope = 0;
    double last_access_ns = 0;
  };
  double staleness_ns(const Line& line) const {
    return by_staleness_ ? std::max(now_ns_ - line.last_access_ns, 1.0) : 1.0;
  }
  void play(std::size_t node);
  void play_due(std::size_t node);
  double overtakes_ns(const Line& first, const Line& second) const;
  void put(std::uint32_t slot, const Rank& rank);

  bool by_staleness_;
  double now_ns_ = 0;
  std::size_t capacity_ = 0;  // a power of two; slot i is node capacity_ + i, the root is node 1
  std::vector<Rank> ranks_;
  std::vector<Line> lines_;
  std::vector<Match> matches_;
  std::vector<std::size_t> set_later_;  // nodes whose matches are to be played
};

}  // namespace refrain::engine
