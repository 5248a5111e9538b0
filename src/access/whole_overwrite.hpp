// Which pointers of a kernel its launches can be known to overwrite whole: nothing loaded from memory decides
// whether and where it stores through them. A property of the code, for all launches; what one launch
// certainly writes says footprint.hpp. It must not run or follow anything.
#pragma once

#include <vector>

#include "access/slice.hpp"

namespace refrain::access {

// One for each of slice.pointers: something is stored through it, nothing is read through it, and for no
// store do unknown values decide its address, its guard or the way to it. Pure; false where it would take too
// long.
std::vector<bool> whole_overwrites(const Slice& slice);

}  // namespace refrain::access
