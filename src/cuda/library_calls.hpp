// What the runtime is told of a call of a library's function: which bytes it touches, and how to make it
// again. Plain data.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace refrain::cuda {

// Calls a library's function again, on the stream. record: the call as it was remembered, the pointers of its
// uses bound again; a copy that may be changed. The managed context is current, and the lock is held.
using LibraryReplay = CUresult (*)(std::byte* record, CUstream stream);

struct LibraryUse {
  std::uint32_t record_offset_bytes;  // of the pointer in the record
  CUdeviceptr address;                // its value
  std::int64_t begin, end;            // bytes relative to it: all that is read or written through it
  bool read;
  bool written;
  bool whole;              // all of these bytes are written, and none of them is read
  bool undefined = false;  // a workspace: whatever is in it before or after is of no interest
};

struct LibraryOp {
  const char* name;
  LibraryReplay replay;  // nullptr: it cannot be made again
  const char* reason;    // why, for people
  std::span<const std::byte> record;
};

}  // namespace refrain::cuda
