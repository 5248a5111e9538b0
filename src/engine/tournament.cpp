// Matches and their moments. Must not look at more of them than changed or are due.
#include "engine/tournament.hpp"

namespace refrain::engine {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

void Tournament::put(std::uint32_t slot, const Rank& rank) {
  if (slot >= ranks_.size()) {
    ranks_.resize(slot + std::size_t{1});
    lines_.resize(ranks_.size());
  }
  ranks_[slot] = rank;
  lines_[slot] = {rank.numerator / rank.bytes, rank.last_access_ns};
  if (ranks_.size() <= capacity_) return;
  capacity_ = std::max<std::size_t>(capacity_, 1);
  while (capacity_ < ranks_.size()) capacity_ *= 2;
  matches_.assign(capacity_, {});
  for (std::size_t node = capacity_; node-- > 1;) play(node);
}

void Tournament::set(std::uint32_t slot, const Rank& rank) {
  put(slot, rank);
  for (std::size_t node = (capacity_ + slot) / 2; node > 0; node /= 2) play(node);
}

void Tournament::set_later(std::uint32_t slot, const Rank& rank) {
  const std::size_t capacity = capacity_;
  put(slot, rank);
  if (capacity_ != capacity) set_later_.clear();  // all matches have been played
  set_later_.push_back((capacity_ + slot) / 2);
}

// Level by level, each match once.
void Tournament::finish_setting() {
  while (!set_later_.empty()) {
    std::sort(set_later_.begin(), set_later_.end());
    set_later_.erase(std::unique(set_later_.begin(), set_later_.end()), set_later_.end());
    for (std::size_t& node : set_later_) {
      if (node == 0) continue;
      play(node);
      node /= 2;
    }
    std::erase(set_later_, std::size_t{0});
  }
}

std::uint32_t Tournament::lowest(double now_ns) {
  now_ns_ = now_ns;
  if (capacity_ == 0) return kNobody;
  if (due_ns(1) <= now_ns) play_due(1);
  return winner(1);
}

void Tournament::play_due(std::size_t node) {
  for (const std::size_t child : {2 * node, 2 * node + 1}) {
    if (due_ns(child) <= now_ns_) play_due(child);
  }
  play(node);
}

void Tournament::play(std::size_t node) {
  Match& match = matches_[node];
  const std::uint32_t left = winner(2 * node);
  const std::uint32_t right = winner(2 * node + 1);
  match.due_ns = std::min(due_ns(2 * node), due_ns(2 * node + 1));
  if (left == kNobody || right == kNobody) {
    match.winner = left == kNobody ? right : left;
    return;
  }
  const Line& l = lines_[left];
  const Line& r = lines_[right];
  const bool right_wins = r.slope * staleness_ns(l) < l.slope * staleness_ns(r);
  match.winner = right_wins ? right : left;
  match.due_ns = std::min(match.due_ns, right_wins ? overtakes_ns(r, l) : overtakes_ns(l, r));
}

// When the second's score falls below the first's: never, or where the lines (now - last access) * bytes /
// numerator cross. While one of them is younger than 1 ns, their staleness does not grow alike.
double Tournament::overtakes_ns(const Line& first, const Line& second) const {
  if (!by_staleness_) return kNever;
  const double youngest_ns = std::max(first.last_access_ns, second.last_access_ns);
  if (now_ns_ - youngest_ns < 1) return youngest_ns + 1;
  if (second.slope >= first.slope) return kNever;
  return (first.slope * second.last_access_ns - second.slope * first.last_access_ns) /
         (first.slope - second.slope);
}

}  // namespace refrain::engine
