// A trace as the planner takes it: buffers by their versions, each a value. Must not plan.
#pragma once

#include "planner/iteration.hpp"
#include "simulate/trace.hpp"

namespace refrain::simulate {

// A write that may leave something of the old contents reads the version before it. What was never written
// here, and what ops wrote that read nothing and cannot be replayed (constants, copies from the host), counts
// as constant if it is there before the first other op. Where constants stay, later ones are kept from then
// to the end.
//
// names: filled with the name of each op, as the trace numbers them. buffers: with the buffer of each value.
planner::Iteration iteration_of(const Trace& trace, std::vector<std::uint32_t>* names = nullptr,
                                std::vector<std::uint32_t>* buffers = nullptr);

}  // namespace refrain::simulate
