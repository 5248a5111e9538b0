// Matches and their moments. Must not look at more of them than changed or are due.
#include "engine/tournament.hpp"

namespace refrain::engine {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

void Tournament::grow(std::uint32_t slot) {
  if (slot < ranks_.size()) return;
  ranks_.resize(slot + std::size_t{1});
  if (ranks_.size() <= capacity_) return;
  capacity_ = std::max<std::size_t>(capacity_, 1);
  while (capacity_ < ranks_.size()) capacity_ *= 2;
  matches_.assign(capacity_, {});
  for (std::size_t node = capacity_; node-- > 1;) play(node);
}

void Tournament::set(std::uint32_t slot, const Rank& rank) {
  grow(slot);
  ranks_[slot] = rank;
  for (std::size_t node = (capacity_ + slot) / 2; node > 0; node /= 2) play(node);
}

void Tournament::set_later(std::uint32_t slot, const Rank& rank) {
  grow(slot);
  ranks_[slot] = rank;
  set_later_.push_back(slot);
}

// One by one, or all matches at once where that is less.
void Tournament::finish_setting() {
  if (set_later_.size() * 16 > capacity_) {
    for (std::size_t node = capacity_; node-- > 1;) play(node);
  } else {
    for (const std::uint32_t slot : set_later_) {
      for (std::size_t node = (capacity_ + slot) / 2; node > 0; node /= 2) play(node);
    }
  }
  set_later_.clear();
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
  const bool right_wins = score(right) < score(left);
  match.winner = right_wins ? right : left;
  const Rank& first = ranks_[match.winner];
  const Rank& second = ranks_[right_wins ? left : right];
  match.due_ns = std::min(match.due_ns, overtakes_ns(first, second));
}

// When the second's score falls below the first's: never, or where the lines (now - last access) * bytes /
// numerator cross. While one of them is younger than 1 ns, their staleness does not grow alike.
double Tournament::overtakes_ns(const Rank& first, const Rank& second) const {
  if (!by_staleness_) return kNever;
  const double youngest_ns = std::max(first.last_access_ns, second.last_access_ns);
  if (now_ns_ - youngest_ns < 1) return youngest_ns + 1;
  const double first_slope = first.numerator / first.bytes;
  const double second_slope = second.numerator / second.bytes;
  if (second_slope >= first_slope) return kNever;
  return (first_slope * second.last_access_ns - second_slope * first.last_access_ns) /
         (first_slope - second_slope);
}

}  // namespace refrain::engine
