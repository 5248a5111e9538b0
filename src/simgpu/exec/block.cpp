// The warps of a block in turns, and the barriers between them. The order is fixed, so that results repeat;
// it must not look at clocks.
#include "simgpu/exec/block.hpp"

#include <algorithm>
#include <bit>

namespace refrain::simgpu {
namespace {

// Warps that leave a barrier do so together: at first each gets a short turn, then longer ones. Programs that
// write shared memory again long after a barrier, without another one, and others that read it just after the
// barrier work on real devices; they must here.
constexpr std::uint32_t kFirstSliceOperations = 1u << 5;
// At last other warps, for which this one may wait in a loop, get a turn after so many operations.
constexpr std::uint32_t kSliceOperations = 1u << 14;

}  // namespace

BlockRunner::BlockRunner(const Launch& launch, bool concurrent, ExecutionCounts& counts,
                         AccessRecord* accesses)
    : threads_(launch.shape->block.x * launch.shape->block.y * launch.shape->block.z),
      warps_((threads_ + kLanes - 1) / kLanes) {
  block_.program = launch.program;
  block_.memory = launch.memory;
  block_.device = launch.mistakes->settings().device;
  block_.accessor = Accessor::device(block_.device);
  block_.mistakes = launch.mistakes;
  block_.shape = launch.shape;
  block_.params = launch.params;
  block_.clock_ns = launch.clock_ns;
  block_.counts = &counts;
  block_.accesses = accesses;
  block_.concurrent = concurrent;
  block_.shared.resize(std::size_t{launch.program->static_shared_bytes} + launch.shape->dynamic_shared_bytes);
  first_slice_ = warps_.size() > 1 && !block_.shared.empty() ? kFirstSliceOperations : kSliceOperations;
  block_.states_begin = launch.memory->begin();
  block_.states = launch.memory->shadow(block_.states_begin);
  block_.check_reads = block_.states != nullptr && launch.mistakes->settings().check_uninitialised;
  if (block_.check_reads) block_.shared_states.resize(block_.shared.size());
  for (std::uint32_t i = 0; i < warps_.size(); ++i) {
    warps_[i].block = &block_;
    warps_[i].index = i;
  }
}

void BlockRunner::begin(const Dim3& index) {
  block_.index = index;
  block_.live_threads = threads_;
  std::fill(block_.shared.begin(), block_.shared.end(), std::byte{0});
  std::fill(block_.shared_states.begin(), block_.shared_states.end(), std::uint8_t{0});
  slice_ = first_slice_;
  for (BarrierState& barrier : block_.barriers) barrier = {};
  for (Warp& warp : warps_) {
    const std::uint32_t lanes = std::min(kLanes, threads_ - warp.index * kLanes);
    warp.op = nullptr;
    reset_warp(warp, lanes == kLanes ? kAllLanes : (1u << lanes) - 1);
  }
}

bool BlockRunner::run(std::uint64_t warp_operations) {
  const std::uint64_t started = block_.counts->warp_instructions;
  while (block_.live_threads != 0) {
    if (block_.counts->warp_instructions - started > warp_operations) return false;
    bool progress = false;
    for (Warp& warp : warps_) {
      if (warp.groups.empty()) continue;
      progress |= run_warp(warp, slice_) != WarpState::kBlocked;
    }
    slice_ = std::min(slice_ * 2, kSliceOperations);
    for (std::uint32_t id = 0; id < kBarriers; ++id) {
      if (!complete(id)) continue;
      progress = true;
      slice_ = first_slice_;
    }
    if (!progress && block_.live_threads != 0) {
      raise_hang("threads wait for each other at barriers or in a warp: none can go on");
    }
  }
  return true;
}

// Opens a barrier at which everyone who is expected has arrived.
bool BlockRunner::complete(std::uint32_t id) {
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
std::uint32_t BlockRunner::arrived_by_warps(std::uint32_t id) const {
  std::uint32_t arrived = block_.barriers[id].passed;
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

Warp& BlockRunner::waiting_warp() {
  return *std::find_if(warps_.begin(), warps_.end(), [](const Warp& warp) { return !warp.groups.empty(); });
}

void BlockRunner::raise_hang(const char* what) {
  Warp& warp = waiting_warp();
  const Group& group = warp.groups.front();
  warp.op = &group.frame->code->ops[group.pc];
  raise(warp, first_lane(group.mask), FaultKind::kHang, what);
}

}  // namespace refrain::simgpu
