// A schedule of a whole trace, followed in the engine: what to bring back before each op and what may go
// after it, by the buffers that hold it. Only advice, as a plan's is; must not look for what repeats.
#pragma once

#include <vector>

#include "engine/engine.hpp"
#include "planner/follower.hpp"
#include "simulate/trace.hpp"

namespace refrain::simulate {

struct Directions {
  planner::Iteration iteration;        // of the whole trace: iteration.hpp
  std::vector<std::uint32_t> buffers;  // of each of its values
  planner::Schedule schedule;
};

class Director {
 public:
  // directions outlives it. ops: of the trace; those before the iteration's first made its constants.
  Director(const Directions& directions, std::size_t ops);

  // Around the op of that number in the trace. buffers: the engine's, by buffer of the trace.
  void before(std::uint32_t op, engine::Engine& engine, const std::vector<engine::BufferId>& buffers);
  void after(std::uint32_t op, engine::Engine& engine, const std::vector<engine::BufferId>& buffers);

 private:
  void carry_out(std::span<const planner::Action> actions, engine::Engine& engine,
                 const std::vector<engine::BufferId>& buffers);
  // Where the buffer still holds it; none: nowhere.
  engine::BufferId place_of(planner::ValueIndex value, const std::vector<engine::BufferId>& buffers) const;

  const Directions& directions_;
  planner::Follower follower_;
  std::uint32_t first_op_;
  std::vector<planner::ValueIndex> latest_;  // by buffer of the trace
  std::vector<engine::BufferId> wanted_;
};

}  // namespace refrain::simulate
