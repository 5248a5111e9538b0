// One block of a launch: its warps in turns, and the barriers between them. It can be left and taken up
// again.
#pragma once

#include <vector>

#include "simgpu/exec/warp.hpp"

namespace refrain::simgpu {

class BlockRunner {
 public:
  // counts, accesses (may be nullptr): of what this runner's blocks do; nobody else's while it runs.
  BlockRunner(const Launch& launch, bool concurrent, ExecutionCounts& counts, AccessRecord* accesses);
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  void begin(const Dim3& index);
  // Runs until the block has ended (true) or about so many operations of warps are done (false). Throws
  // FaultSignal.
  bool run(std::uint64_t warp_operations);
  // Ends the launch: this block waits for what does not come.
  [[noreturn]] void raise_hang(const char* what);

 private:
  bool complete(std::uint32_t id);
  std::uint32_t arrived_by_warps(std::uint32_t id) const;
  Warp& waiting_warp();

  std::uint32_t threads_;
  std::uint32_t first_slice_;  // operations of each warp in the first round after a barrier
  std::uint32_t slice_ = 0;    // and in the next round
  Block block_;
  std::vector<Warp> warps_;
};

}  // namespace refrain::simgpu
