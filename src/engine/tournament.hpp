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
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  // Who wins a match, with all that the next match asks of him; for a leaf, the slot itself.
  struct Match {
    double slope = kNever;  // numerator / bytes; infinite: nobody
    double last_access_ns = 0;
    double due_ns = kNever;  // the earliest moment at which this one or one below it comes out differently
    std::uint32_t winner = kNobody;
    friend bool operator==(const Match&, const Match&) = default;
  };
  // The two that meet in the match above lie side by side.
  struct alignas(64) Pair {
    Match match[2];
  };
  Match& match(std::size_t node) { return pairs_[node / 2].match[node % 2]; }
  double staleness_ns(const Match& of) const {
    return by_staleness_ ? std::max(now_ns_ - of.last_access_ns, 1.0) : 1.0;
  }
  // false: it came out as before, and so does every match above it.
  bool play(std::size_t node);
  void play_due(std::size_t node);
  double overtakes_ns(const Match& first, const Match& second) const;
  void put(std::uint32_t slot, const Rank& rank);

  bool by_staleness_;
  double now_ns_ = 0;
  std::size_t capacity_ = 0;  // a power of two; slot i is node capacity_ + i, the root is node 1
  std::vector<Rank> ranks_;
  std::vector<Pair> pairs_;
  std::vector<std::size_t> set_later_;  // nodes whose matches are to be played
};

}  // namespace refrain::engine
