// See follower.hpp.
#include "planner/follower.hpp"

#include <utility>

namespace refrain::planner {

Follower::Follower(Schedule schedule, std::vector<std::uint64_t> identities)
    : schedule_(std::move(schedule)), identities_(std::move(identities)) {}

std::optional<std::span<const Action>> Follower::before(std::uint64_t identity) {
  if (!lost_ && next_op_ == identities_.size()) restart();
  if (lost_ || identities_.empty() || identities_[next_op_] != identity) {
    lost_ = true;
    return std::nullopt;
  }
  std::size_t run = position_;
  while (schedule_.actions[run].kind != Action::Kind::kRun) ++run;
  const std::span<const Action> first = take(run);
  ++position_;  // the program's own run
  ++next_op_;
  return first;
}

std::span<const Action> Follower::after() {
  if (lost_) return {};
  std::size_t end = position_;
  while (end < schedule_.actions.size() && schedule_.actions[end].drops()) ++end;
  // After the last op, what is recomputed for the end of the iteration belongs to it too.
  return take(next_op_ == identities_.size() ? schedule_.actions.size() : end);
}

void Follower::restart() {
  position_ = 0;
  next_op_ = 0;
  lost_ = false;
}

std::span<const Action> Follower::take(std::size_t end) {
  const std::span<const Action> taken(schedule_.actions.data() + position_, end - position_);
  position_ = end;
  return taken;
}

}  // namespace refrain::planner
