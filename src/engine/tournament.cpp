// Matches and their moments. Must not look at more of them than changed or are due.
#include "engine/tournament.hpp"

namespace refrain::engine {

void Tournament::put(std::uint32_t slot, const Rank& rank) {
  if (slot >= ranks_.size()) ranks_.resize(slot + std::size_t{1});
  ranks_[slot] = rank;
  const auto place = [&](std::uint32_t at) {
    const Rank& r = ranks_[at];
    const bool takes_part = r.numerator < kNever;
    match(capacity_ + at) = {.slope = takes_part ? r.numerator / r.bytes : kNever,
                             .last_access_ns = r.last_access_ns,
                             .due_ns = kNever,
                             .winner = takes_part ? at : kNobody};
  };
  if (ranks_.size() <= capacity_) return place(slot);
  capacity_ = std::max<std::size_t>(capacity_, 1);
  while (capacity_ < ranks_.size()) capacity_ *= 2;
  pairs_.assign(capacity_, {});
  for (std::uint32_t i = 0; i < ranks_.size(); ++i) place(i);
  for (std::size_t node = capacity_; node-- > 1;) play(node);
}

void Tournament::set(std::uint32_t slot, const Rank& rank) {
  put(slot, rank);
  for (std::size_t node = (capacity_ + slot) / 2; node > 0 && play(node); node /= 2) {
  }
}

void Tournament::set_later(std::uint32_t slot, const Rank& rank) {
  const std::size_t capacity = capacity_;
  put(slot, rank);
  if (capacity_ != capacity) set_later_.clear();  // all matches have been played
  if (capacity_ > 1) set_later_.push_back((capacity_ + slot) / 2);
}

// Level by level, each match once.
void Tournament::finish_setting() {
  while (!set_later_.empty()) {
    std::sort(set_later_.begin(), set_later_.end());
    set_later_.erase(std::unique(set_later_.begin(), set_later_.end()), set_later_.end());
    for (std::size_t& node : set_later_) {
      node = play(node) ? node / 2 : 0;
    }
    std::erase(set_later_, std::size_t{0});
  }
}

std::uint32_t Tournament::lowest(double now_ns) {
  now_ns_ = now_ns;
  if (capacity_ == 0) return kNobody;
  if (match(1).due_ns <= now_ns) play_due(1);
  return match(1).winner;
}

void Tournament::play_due(std::size_t node) {
  for (const std::size_t child : {2 * node, 2 * node + 1}) {
    if (match(child).due_ns <= now_ns_) play_due(child);
  }
  play(node);
}

bool Tournament::play(std::size_t node) {
  const Pair& pair = pairs_[node];
  const Match& left = pair.match[0];
  const Match& right = pair.match[1];
  const bool right_wins =
      left.winner == kNobody ||
      (right.winner != kNobody && right.slope * staleness_ns(left) < left.slope * staleness_ns(right));
  const Match& first = right_wins ? right : left;
  const Match& second = right_wins ? left : right;
  double due_ns = std::min(left.due_ns, right.due_ns);
  if (second.winner != kNobody) due_ns = std::min(due_ns, overtakes_ns(first, second));
  const Match outcome{
      .slope = first.slope, .last_access_ns = first.last_access_ns, .due_ns = due_ns, .winner = first.winner};
  Match& before = match(node);
  if (before == outcome) return false;
  before = outcome;
  return true;
}

// When the second's score falls below the first's: never, or where the lines (now - last access) / slope
// cross. While one of them is younger than 1 ns, their staleness does not grow alike.
double Tournament::overtakes_ns(const Match& first, const Match& second) const {
  if (!by_staleness_) return kNever;
  const double youngest_ns = std::max(first.last_access_ns, second.last_access_ns);
  if (now_ns_ - youngest_ns < 1) return youngest_ns + 1;
  if (second.slope >= first.slope) return kNever;
  return (first.slope * second.last_access_ns - second.slope * first.last_access_ns) /
         (first.slope - second.slope);
}

}  // namespace refrain::engine
