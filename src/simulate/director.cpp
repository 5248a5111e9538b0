// See director.hpp.
#include "simulate/director.hpp"

#include <algorithm>
#include <numeric>

namespace refrain::simulate {
namespace {

constexpr planner::ValueIndex kNoValue = UINT32_MAX;

std::vector<std::uint64_t> numbers(std::size_t count) {
  std::vector<std::uint64_t> all(count);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

Director::Director(const Directions& directions, std::size_t ops)
    : directions_(directions),
      follower_(directions.schedule, numbers(directions.iteration.ops.size())),
      first_op_(static_cast<std::uint32_t>(ops - directions.iteration.ops.size())) {}

void Director::before(std::uint32_t op, engine::Engine& engine,
                      const std::vector<engine::BufferId>& buffers) {
  latest_.resize(buffers.size(), kNoValue);
  if (op < first_op_) return;
  if (const auto actions = follower_.before(op - first_op_)) carry_out(*actions, engine, buffers);
}

void Director::after(std::uint32_t op, engine::Engine& engine, const std::vector<engine::BufferId>& buffers) {
  if (op < first_op_) return;
  for (const planner::ValueIndex value : directions_.iteration.ops[op - first_op_].writes)
    latest_[directions_.buffers[value]] = value;
  carry_out(follower_.after(), engine, buffers);
}

engine::BufferId Director::place_of(planner::ValueIndex value,
                                    const std::vector<engine::BufferId>& buffers) const {
  const std::uint32_t buffer = directions_.buffers[value];
  return latest_[buffer] == value ? buffers[buffer] : engine::BufferId{};
}

void Director::carry_out(std::span<const planner::Action> actions, engine::Engine& engine,
                         const std::vector<engine::BufferId>& buffers) {
  wanted_.clear();
  for (const planner::Action& action : actions) {
    if (action.drops()) {
      const engine::BufferId buffer = place_of(action.index, buffers);
      if (!buffer) continue;
      std::erase(wanted_, buffer);
      engine.let_go(buffer);
    } else if (action.kind == planner::Action::Kind::kRecompute) {
      for (const planner::ValueIndex value : directions_.iteration.ops[action.index].writes)
        if (const engine::BufferId buffer = place_of(value, buffers)) wanted_.push_back(buffer);
    }
  }
  if (!wanted_.empty()) engine.bring_back(wanted_);
}

}  // namespace refrain::simulate
