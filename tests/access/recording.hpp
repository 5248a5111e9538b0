// Files that SIMGPU_ACCESSES made, read line by line: modules are kept, launches are handed on. It must not
// judge anything.
#pragma once

#include <functional>
#include <istream>
#include <string>

#include "checker.hpp"

namespace refrain::access::test {

struct RecordedLaunch {
  std::string kernel;
  const Prediction& prediction;
  const Prediction*
      informed;  // where what memory held is known; nullptr: nothing was, that could make a difference
  const Truth& truth;
};

struct RecordingCounts {
  std::uint64_t native = 0;     // launches of library kernels, of which nothing can be predicted
  std::uint64_t variables = 0;  // launches that touch variables of their module, constants aside
};

// Calls each for every launch that has PTX. Throws std::exception with the line's number if a line is not
// what docs/simgpu.md says.
RecordingCounts read_recording(std::istream& in, const std::function<void(const RecordedLaunch&)>& each);

}  // namespace refrain::access::test
