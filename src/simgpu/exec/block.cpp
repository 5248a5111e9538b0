// Blocks one after the other, the warps of a block in turns, and the barriers between them.
// The order is fixed, so that results repeat; it must not look at clocks.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "simgpu/exec/warp.hpp"

namespace refrain::simgpu {
namespace {

// A warp that runs this long without an end waits for something that cannot come.
constexpr std::uint64_t kHangOperations = 1ull << 33;

[[noreturn]] void raise_hang(Warp& warp, const char* what) {
  for (const Group& group : warp.groups) {
    warp.op = &group.frame->code->ops[group.pc];
    raise(warp, static_cast<std::uint32_t>(std::countr_zero(group.mask)), FaultKind::kHang, what);
  }
  raise(warp, 0, FaultKind::kHang, what);
}

class BlockRunner {
 public:
  BlockRunner(const Program& program, const AddressSpace& memory, const LaunchShape& shape,
              std::span<const std::byte> params, std::uint64_t clock_ns, ExecutionCounts& counts)
      : threads_(shape.block.x * shape.block.y * shape.block.z), warps_((threads_ + kLanes - 1) / kLanes) {
    block_.program = &program;
    block_.memory = &memory;
    block_.shape = &shape;
    block_.params = params;
    block_.clock_ns = clock_ns;
    block_.counts = &counts;
    block_.shared.resize(std::size_t{program.static_shared_bytes} + shape.dynamic_shared_bytes);
    for (std::uint32_t i = 0; i < warps_.size(); ++i) {
      warps_[i].block = &block_;
      warps_[i].index = i;
    }
  }

  void run(const Dim3& index) {
    begin(index);
    const std::uint64_t started = block_.counts->warp_instructions;
    while (block_.live_threads != 0) {
      bool progress = false;
      for (Warp& warp : warps_) {
        if (warp.groups.empty()) continue;
        progress |= run_warp(warp) != WarpState::kBlocked;
      }
      for (std::uint32_t id = 0; id < kBarriers; ++id) progress |= complete(id);
      if (!progress && block_.live_threads != 0) {
        raise_hang(waiting_warp(), "threads wait for each other at barriers or in a warp: none can go on");
      }
      if (block_.live_threads != 0 && block_.counts->warp_instructions - started > kHangOperations) {
        raise_hang(waiting_warp(),
                   "the block does not end: it waits for what other blocks or the host should do");
      }
    }
  }

 private:
  void begin(const Dim3& index) {
    block_.index = index;
    block_.live_threads = threads_;
    std::fill(block_.shared.begin(), block_.shared.end(), std::byte{0});
    for (BarrierState& barrier : block_.barriers) barrier = {};
    for (Warp& warp : warps_) {
      const std::uint32_t lanes = std::min(kLanes, threads_ - warp.index * kLanes);
      warp.op = nullptr;
      reset_warp(warp, lanes == kLanes ? kAllLanes : (1u << lanes) - 1);
    }
  }

  // Opens a barrier at which everyone who is expected has arrived.
  bool complete(std::uint32_t id) {
    BarrierState& barrier = block_.barriers[id];
    if (barrier.arrived == 0) return false;
    const bool open = barrier.expected != 0 ? arrived_by_warps(id) >= barrier.expected
                                            : barrier.arrived >= block_.live_threads;
    if (!open) return false;
    for (Warp& warp : warps_) release_barrier(warp, id);
    barrier = {};
    return true;
  }

  // A barrier with a count counts a warp whole once all its lanes that are left have arrived.
  std::uint32_t arrived_by_warps(std::uint32_t id) const {
    std::uint32_t arrived = 0;
    for (const Warp& warp : warps_) {
      LaneMask waiting = 0;
      for (const Group& group : warp.groups) {
        if (group.state == GroupState::kAtBarrier && group.barrier == id) waiting |= group.mask;
      }
      const bool whole = waiting != 0 && waiting == warp.alive;
      arrived += whole ? kLanes : static_cast<std::uint32_t>(std::popcount(waiting));
    }
    return arrived;
  }

  Warp& waiting_warp() {
    return *std::find_if(warps_.begin(), warps_.end(), [](const Warp& warp) { return !warp.groups.empty(); });
  }

  std::uint32_t threads_;
  Block block_;
  std::vector<Warp> warps_;
};

}  // namespace

void run_blocks(const Program& program, const AddressSpace& memory, const LaunchShape& shape,
                std::span<const std::byte> params, std::uint64_t clock_ns, ExecutionCounts& counts) {
  BlockRunner runner(program, memory, shape, params, clock_ns, counts);
  Dim3 index;
  for (index.z = 0; index.z < shape.grid.z; ++index.z) {
    for (index.y = 0; index.y < shape.grid.y; ++index.y) {
      for (index.x = 0; index.x < shape.grid.x; ++index.x) runner.run(index);
    }
  }
}

}  // namespace refrain::simgpu
