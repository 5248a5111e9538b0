// Ways to divide a forward pass. Must not know what becomes of the parts.
#pragma once

#include <span>

#include "planner/forward.hpp"

namespace refrain::planner {

// So many parts, or fewer, that keep about equally many bytes for after the turn; each border is moved, by at
// most half a part, to where least crosses.
std::vector<Segment> even_segments(const Forward& forward, std::size_t count);

// Blocks, in order, with gaps between them. Of each period with which ops repeat, all repetitions are blocks
// that begin where least crosses; the period counts with which least is kept for after the turn: what leaves
// the blocks, what is outside, and all of the largest block. The same again in the gaps, as long as that
// saves a tenth of what the pass keeps. Blocks are as short as they can be. keys: of all ops of the
// iteration.
std::vector<Segment> repeated_blocks(const Forward& forward, const Sequence& sequence);

// A block begins at each op for which it is true, by op of the iteration; the last ends at the turn.
std::vector<Segment> marked_blocks(const Forward& forward, const std::vector<bool>& begins);

// The pass as a chain: a border where exactly one value crosses, at the first such place of that value.
// state: that value, by segment; of the first: kNoState.
inline constexpr ValueIndex kNoState = UINT32_MAX;
struct Chain {
  std::vector<Segment> segments;
  std::vector<ValueIndex> state;
};
// At most `most` segments: of more, neighbours become one.
Chain chain_of(const Forward& forward, std::size_t most);

}  // namespace refrain::planner
