// The opening of a barrier: who waits there goes on, with the result of a reduction; and whether it was one
// barrier for all lanes of a warp. Who arrives is counted in warp.cpp and block.cpp.
#include <fmt/format.h>

#include "simgpu/exec/warp.hpp"

namespace refrain::simgpu {
namespace {

// bar.sync and barrier.sync.aligned are to be reached by all lanes of a warp together: those that wait must
// wait at one instruction.
void check_barrier(Warp& warp, std::uint32_t barrier) {
  const Group* first = nullptr;
  for (const Group& group : warp.groups) {
    if (group.state != GroupState::kAtBarrier || group.barrier != barrier) continue;
    if (first == nullptr) first = &group;
    const Op& one = first->frame->code->ops[first->pc];
    const Op& other = group.frame->code->ops[group.pc];
    if (&one == &other || !one.aligned || !other.aligned) continue;
    warp.op = &other;
    warp.block->mistakes->add(FaultKind::kDivergentBarrier, other.line, [&] {
      return fmt::format(
          "{}: divergent barrier: other threads of the warp wait for barrier {} at PTX line {} (thread mask "
          "0x{:08x}, "
          "here 0x{:08x})",
          place_of(warp, first_lane(group.mask)), barrier, one.line, first->mask, group.mask);
    });
  }
}

}  // namespace

void release_barrier(Warp& warp, std::uint32_t barrier) {
  const BarrierState& state = warp.block->barriers[barrier];
  if (warp.groups.size() > 1 && warp.block->mistakes->settings().check_barriers) check_barrier(warp, barrier);
  for (Group& group : warp.groups) {
    if (group.state != GroupState::kAtBarrier || group.barrier != barrier) continue;
    const Op& op = group.frame->code->ops[group.pc];
    warp.frame = group.frame;
    warp.registers = group.frame->registers.get();
    if (op.d != kNoSlot) {
      // bar.red: imm says which reduction.
      const bool all = state.votes == state.arrived;
      const bool truth = op.combine == Combine::kAnd ? all : state.votes != 0;
      if (op.combine == Combine::kNone) {
        for (LaneMask rest = group.mask; rest != 0; rest &= rest - 1) {
          warp.at<std::uint32_t>(op.d)[first_lane(rest)] = state.votes;
        }
      } else {
        LaneMask& p = warp.predicate(op.d);
        p = truth ? p | group.mask : p & ~group.mask;
      }
    }
    group.state = GroupState::kReady;
    ++group.pc;
  }
}

}  // namespace refrain::simgpu
