// What an op does to a buffer, as the program's side tells the engine. Plain data.
#pragma once

#include "engine/ids.hpp"

namespace refrain::engine {

// One buffer that an op touches; a buffer appears once. whole: every byte is written and nothing of the old
// contents is read, so that the old version is no input. undefined: a workspace, written but of no interest
// to anybody, before or after.
struct BufferUse {
  BufferId buffer;
  bool read = false;
  bool written = false;
  bool whole = false;
  bool undefined = false;
};
inline bool needs_contents(const BufferUse& use) noexcept {
  return !use.undefined && (use.read || !use.whole);
}

}  // namespace refrain::engine
