// The static schemes of the field, computed for a recorded iteration: what is kept from the forward pass to
// the backward pass, and what is computed a second time. Each has the memory that it has; none is told a cap.
// Must not search.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "planner/iteration.hpp"

namespace refrain::planner {

enum class Scheme : std::uint8_t {
  kFull,    // Korthikanti et al. 2022: of each block only what enters it is kept, and of the rest too
  kSqrt,    // Chen et al. 2016: sqrt(n) even segments of n ops whose results are kept; the last is not lost
  kBlocks,  // what enters each block is kept, and all outside of blocks: torch.utils.checkpoint
  kSelective,  // Korthikanti et al. 2022: what expensive ops write is kept, the rest is not
  kRevolve,    // Griewank and Walther 2000: few states of a chain, from which it is gone through again and
               // again
};

inline constexpr std::array<std::string_view, 5> kSchemeNames = {"full", "sqrt", "blocks", "selective",
                                                                 "revolve"};

struct SchemeSettings {
  Scheme scheme = Scheme::kFull;
  // Blocks: by name, a block begins at each op of that name; or so many, even ones. Neither: by repetition.
  std::vector<bool> block_names = {};
  std::size_t block_count = 0;
  // Of revolve: states kept beside the one that is being gone through; 0: the binary logarithm of the steps.
  std::size_t places = 0;
};

struct SchemeSchedule {
  Schedule schedule;    // where there is no refusal; check_schedule accepts it
  std::string refusal;  // why the scheme cannot be computed, as the end of a sentence
};

// iteration: without a problem_of. names: by op, the same for the same work.
//
// What is computed again are ops of the forward passes that steps_of finds. A value is lost after its last
// read in the pass where the scheme does not keep it, every reader is in the same step, those after the turn
// read it after a detour, it is not wanted at the end, and its op may run again. It comes back right before
// the first later read, with all of its segment that is read later. An op is expensive where it takes more
// time for the bytes that it reads and writes than the forward pass takes for its own. A step that the scheme
// does not fit is left as it is, unless it is the one that keeps most: then the scheme is refused.
SchemeSchedule schedule_of(const Iteration& iteration, std::span<const std::uint32_t> names,
                           const SchemeSettings& settings);

}  // namespace refrain::planner
