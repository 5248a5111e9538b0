// What must be remembered of a program's op to issue it again elsewhere. Plain data.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cuda/kernels.hpp"
#include "cuda/library_calls.hpp"

namespace refrain::cuda {

// A pointer inside the parameter block, or a record: rebound to (buffer of that use) + displacement at
// replay.
struct PointerSlot {
  std::uint32_t offset_bytes;
  std::uint32_t use;
  std::uint64_t displacement_bytes;
};

struct RecordedOp {
  enum class Kind : std::uint8_t { kNone, kKernel, kMemset, kCopy, kLibrary };
  Kind kind = Kind::kNone;
  bool in_use = false;

  // kKernel
  CUfunction function = nullptr;
  bool library_kernel = false;  // function is a CUkernel
  const Kernel* kernel = nullptr;
  unsigned grid[3] = {};
  unsigned block[3] = {};
  unsigned shared_bytes = 0;
  std::vector<std::byte> params;  // kLibrary: the call's record
  std::vector<PointerSlot> pointers;

  LibraryReplay library_replay = nullptr;  // kLibrary
  const char* library_name = "";

  // kMemset: to use 0; kCopy: from use 0 to use 1, or within use 0 if they are the same buffer
  std::uint64_t from_displacement_bytes = 0;
  std::uint64_t to_displacement_bytes = 0;
  std::uint64_t bytes = 0;
  unsigned value = 0;
  unsigned element_bytes = 0;
  std::uint32_t to_use = 0;
};

}  // namespace refrain::cuda
