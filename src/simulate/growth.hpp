// What grows with the batch, told from a record, and the same record for a larger one. An assumption, not
// knowledge: docs/policies.md says which. Must not run anything.
#pragma once

#include <vector>

#include "simulate/trace.hpp"

namespace refrain::simulate {

// By buffer: whether it grows. Not: what is constant, wanted at the end, made before the first step, or read
// in a later step than it is written in; and what an op reads that reads and writes such buffers of the same
// size (the gradient of a parameter). What comes from the host belongs to the step that reads it first.
std::vector<bool> growing_buffers(const Trace& trace);

// Bytes of what grows, and the time of ops that touch it, times the factor, which is above 0; pages stay
// whole.
Trace scaled(const Trace& trace, const std::vector<bool>& grows, double factor);

}  // namespace refrain::simulate
