// How a warp runs: groups of lanes that are at the same place, the one that is furthest behind first, so that
// they meet again. Lanes that wait (barriers, member masks) let the others go on. It must not depend on time
// or threads.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "simgpu/exec/warp.hpp"

namespace refrain::simgpu {
namespace {

constexpr std::uint32_t kNoPc = 0xffffffff;

class WarpRunner {
 public:
  WarpRunner(Warp& warp, std::uint32_t operations)
      : warp_(warp), slice_(operations), turn_left_(std::exchange(warp.turn_left, kGroupOperations)) {}

  WarpState run() {
    while (select()) {
      run_group();
      if (slice_ == 0) return WarpState::kSliced;
    }
    if (warp_.groups.empty()) return WarpState::kDone;
    return wake_synchronised() ? WarpState::kSliced : WarpState::kBlocked;
  }

 private:
  bool select();
  void merge_into_current();
  void run_group();
  void end_turn();
  bool control(const Op& op, LaneMask mask);
  void branch(const Op& op, LaneMask taken);
  void call(const CallSite& site, LaneMask mask);
  void call_indirect(const Op& op, LaneMask mask);
  void leave(LaneMask mask);
  void exit(LaneMask mask);
  BarrierState& barrier_of(const Op& op, LaneMask mask);
  void barrier(const Op& op, LaneMask mask);
  void arrive(const Op& op, LaneMask mask);
  bool synchronise(const Op& op, LaneMask mask);
  LaneMask required_lanes(const Op& op, const Frame& frame, LaneMask mask) const;
  bool wake_synchronised();
  void load();
  void save();
  void split_off(LaneMask others, std::uint32_t pc);
  void find_merge_pc();

  Group& group() { return warp_.groups[current_]; }

  Warp& warp_;
  std::size_t current_ = 0;
  std::uint32_t slice_;      // operations left
  std::uint32_t turn_left_;  // of the group, if there are others
  // The running group, while it runs.
  const Op* ops_ = nullptr;
  std::uint32_t pc_ = 0;
  LaneMask mask_ = 0;
  std::uint32_t merge_pc_ = kNoPc;  // stop here: another group waits
};

// The ready group in the deepest call, then at the lowest place. False: none is ready.
bool WarpRunner::select() {
  for (int pass = 0; pass < 2; ++pass) {
    const Group* best = nullptr;
    for (const Group& candidate : warp_.groups) {
      if (candidate.state != GroupState::kReady || candidate.yielded) continue;
      if (best == nullptr || candidate.frame->depth > best->frame->depth ||
          (candidate.frame->depth == best->frame->depth && candidate.pc < best->pc)) {
        best = &candidate;
      }
    }
    if (best != nullptr) {
      current_ = static_cast<std::size_t>(best - warp_.groups.data());
      merge_into_current();
      load();
      return true;
    }
    // Everyone ready has had a turn: a new round.
    for (Group& candidate : warp_.groups) candidate.yielded = false;
  }
  return false;
}

void WarpRunner::merge_into_current() {
  for (std::size_t i = warp_.groups.size(); i-- > 0;) {
    const Group& other = warp_.groups[i];
    if (i == current_ || other.state != GroupState::kReady || other.frame != group().frame ||
        other.pc != group().pc) {
      continue;
    }
    group().mask |= other.mask;
    warp_.groups.erase(warp_.groups.begin() + static_cast<std::ptrdiff_t>(i));
    if (i < current_) --current_;
  }
}

void WarpRunner::find_merge_pc() {
  merge_pc_ = kNoPc;
  for (std::size_t i = 0; i < warp_.groups.size(); ++i) {
    const Group& other = warp_.groups[i];
    if (i != current_ && other.state == GroupState::kReady && other.frame == warp_.frame && other.pc > pc_) {
      merge_pc_ = std::min(merge_pc_, other.pc);
    }
  }
}

void WarpRunner::load() {
  warp_.frame = group().frame;
  warp_.registers = warp_.frame->registers.get();
  ops_ = warp_.frame->code->ops.data();
  pc_ = group().pc;
  mask_ = group().mask;
  find_merge_pc();
}

void WarpRunner::save() {
  group().pc = pc_;
  group().mask = mask_;
}

// The lanes of the current group that are not in mask_ any more go on elsewhere.
void WarpRunner::split_off(LaneMask others, std::uint32_t pc) {
  if (others == 0) return;
  warp_.groups.push_back(Group{warp_.frame, pc, others});
}

// Until it is time to pick a group again.
void WarpRunner::run_group() {
  ExecutionCounts& counts = *warp_.block->counts;
  auto lanes = static_cast<std::uint32_t>(std::popcount(mask_));
  std::uint32_t turn = warp_.groups.size() > 1 ? std::min(slice_, turn_left_) : slice_;
  slice_ -= turn;
  turn_left_ -= std::min(turn, turn_left_);
  while (pc_ < merge_pc_) {
    if (turn == 0) return end_turn();
    --turn;
    const Op& op = ops_[pc_];
    warp_.op = &op;
    ++counts.warp_instructions;
    counts.of(op.cost) += lanes;
    LaneMask mask = mask_;
    if (op.guard != kNoSlot)
      mask &= op.guard_negated ? ~warp_.predicate(op.guard) : warp_.predicate(op.guard);
    if (op.kind == OpKind::kPlain) {
      if (mask != 0) op.run(warp_, op, mask);
      ++pc_;
    } else if (mask == 0) {
      ++pc_;
    } else if (!control(op, mask)) {
      slice_ += turn;
      turn_left_ = kGroupOperations;
      return;
    } else {
      lanes = static_cast<std::uint32_t>(std::popcount(mask_));
    }
  }
  slice_ += turn;
  turn_left_ = kGroupOperations;
  save();
}

// The group's turn is over, or only the warp's: then the group goes on with it when the warp runs again.
void WarpRunner::end_turn() {
  save();
  if (turn_left_ == 0) group().yielded = true;
  if (turn_left_ == 0 || warp_.groups.size() == 1) turn_left_ = kGroupOperations;
  warp_.turn_left = turn_left_;
}

// False: the current group has stopped or is gone.
bool WarpRunner::control(const Op& op, LaneMask mask) {
  switch (op.kind) {
    case OpKind::kPlain: return true;
    case OpKind::kBranch: branch(op, mask); return true;
    case OpKind::kWarpSync: return synchronise(op, mask);
    case OpKind::kCall: call(warp_.frame->code->calls[op.target], mask); return true;
    case OpKind::kIndirectCall: call_indirect(op, mask); return true;
    case OpKind::kReturn:
      if (warp_.frame->parent != nullptr) {
        leave(mask);
      } else {
        exit(mask);
      }
      return false;
    case OpKind::kExit: exit(mask); return false;
    case OpKind::kBarrier: barrier(op, mask); return false;
    case OpKind::kArrive:
      arrive(op, mask);
      ++pc_;
      return true;
    case OpKind::kYield:
      ++pc_;
      save();
      group().yielded = true;
      slice_ = 0;
      return false;
    case OpKind::kTrap: raise(warp_, first_lane(mask), FaultKind::kTrap, "trap instruction");
  }
  return true;
}

void WarpRunner::branch(const Op& op, LaneMask taken) {
  const LaneMask rest = op.target == pc_ + 1 ? 0 : mask_ & ~taken;
  if (rest == 0) {
    const bool back = op.target <= pc_;
    pc_ = op.target;
    // What was behind may now be ahead.
    if (back && warp_.groups.size() > 1) find_merge_pc();
    return;
  }
  // The lower place goes on, the other waits.
  const std::uint32_t next = pc_ + 1;
  const bool taken_first = op.target < next;
  mask_ = taken_first ? taken : rest;
  pc_ = taken_first ? op.target : next;
  save();
  split_off(taken_first ? rest : taken, taken_first ? next : op.target);
  find_merge_pc();
}

void WarpRunner::call(const CallSite& site, LaneMask mask) {
  if (site.callee == nullptr) {
    call_builtin(warp_, site, mask);
    ++pc_;
    return;
  }
  split_off(mask_ & ~mask, pc_ + 1);
  Frame* caller = warp_.frame;
  Frame* callee = push_frame(warp_, *site.callee, caller, pc_, mask);
  callee->site = &site;
  copy_params(*caller, *callee, site.arguments, mask);
  group() = Group{callee, 0, mask};
  load();
}

// Lanes that hold the address of one function go there together; the others come back to the same call.
void WarpRunner::call_indirect(const Op& op, LaneMask mask) {
  const std::uint64_t* pointers = warp_.at<std::uint64_t>(op.a);
  const std::uint32_t first = first_lane(mask);
  const IndirectSite& site = warp_.frame->code->indirect[op.target];
  const auto found =
      std::find_if(site.targets.begin(), site.targets.end(),
                   [&](const IndirectSite::Target& target) { return target.address == pointers[first]; });
  if (found == site.targets.end()) {
    raise(warp_, first, FaultKind::kIllegalInstruction,
          fmt::format("call through 0x{:x}, which is not the address of a function with these parameters",
                      pointers[first]));
  }
  LaneMask together = 0;
  for (LaneMask rest = mask; rest != 0; rest &= rest - 1) {
    if (pointers[first_lane(rest)] == pointers[first]) together |= 1u << first_lane(rest);
  }
  split_off(mask & ~together, pc_);
  mask_ &= ~(mask & ~together);
  call(warp_.frame->code->calls[found->call], together);
}

void WarpRunner::leave(LaneMask mask) {
  Frame* frame = warp_.frame;
  Frame* parent = frame->parent;
  copy_params(*frame, *parent, frame->site->results, mask);
  split_off(mask_ & ~mask, pc_ + 1);
  group() = Group{parent, frame->call_pc + 1, mask};
  leave_frame(warp_, frame, mask);
}

void WarpRunner::exit(LaneMask mask) {
  warp_.alive &= ~mask;
  warp_.block->live_threads -= static_cast<std::uint32_t>(std::popcount(mask));
  mask_ &= ~mask;
  ++pc_;
  save();
  if (mask_ == 0) warp_.groups.erase(warp_.groups.begin() + static_cast<std::ptrdiff_t>(current_));
  for (Frame* frame = warp_.frame; frame != nullptr && frame->parent != nullptr;) {
    Frame* parent = frame->parent;
    leave_frame(warp_, frame, mask);
    frame = parent;
  }
}

BarrierState& WarpRunner::barrier_of(const Op& op, LaneMask mask) {
  const std::uint32_t lane = first_lane(mask);
  const std::uint32_t id = warp_.at<std::uint32_t>(op.a)[lane];
  if (id >= kBarriers) {
    raise(warp_, lane, FaultKind::kIllegalInstruction,
          fmt::format("barrier {}: there are {}", id, kBarriers));
  }
  BarrierState& state = warp_.block->barriers[id];
  if (op.b != kNoSlot) state.expected = warp_.at<std::uint32_t>(op.b)[lane];
  return state;
}

// A warp that is whole counts whole, whatever has exited.
void WarpRunner::arrive(const Op& op, LaneMask mask) {
  BarrierState& state = barrier_of(op, mask);
  state.passed += mask == warp_.alive ? kLanes : static_cast<std::uint32_t>(std::popcount(mask));
  ++state.arrived;
}

void WarpRunner::barrier(const Op& op, LaneMask mask) {
  BarrierState& state = barrier_of(op, mask);
  if (op.c != kNoSlot) {
    const LaneMask votes = op.c_negated ? ~warp_.predicate(op.c) : warp_.predicate(op.c);
    state.votes += static_cast<std::uint32_t>(std::popcount(votes & mask));
  }
  state.arrived += static_cast<std::uint32_t>(std::popcount(mask));
  split_off(mask_ & ~mask, pc_ + 1);
  mask_ = mask;
  save();
  group().state = GroupState::kAtBarrier;
  group().barrier = warp_.at<std::uint32_t>(op.a)[first_lane(mask)];
}

LaneMask WarpRunner::required_lanes(const Op& op, const Frame& frame, LaneMask mask) const {
  std::uint32_t members[kLanes];
  std::memcpy(members, frame.registers.get() + frame.code->lists[op.list], sizeof members);
  LaneMask required = 0;
  for (LaneMask rest = mask; rest != 0; rest &= rest - 1) required |= members[first_lane(rest)];
  return required & warp_.alive;
}

bool WarpRunner::synchronise(const Op& op, LaneMask mask) {
  LaneMask missing = required_lanes(op, *warp_.frame, mask) & ~mask;
  for (std::size_t i = warp_.groups.size(); missing != 0 && i-- > 0;) {
    const Group& other = warp_.groups[i];
    if (i == current_ || other.state != GroupState::kAtWarpSync || other.frame != warp_.frame ||
        other.pc != pc_) {
      continue;
    }
    mask |= other.mask;
    mask_ |= other.mask;
    warp_.groups.erase(warp_.groups.begin() + static_cast<std::ptrdiff_t>(i));
    if (i < current_) --current_;
    missing = required_lanes(op, *warp_.frame, mask) & ~mask;
  }
  if (missing == 0) {
    op.run(warp_, op, mask);
    ++pc_;
    save();
    return true;
  }
  split_off(mask_ & ~mask, pc_ + 1);
  mask_ = mask;
  save();
  group().state = GroupState::kAtWarpSync;
  return false;
}

// Nobody is ready. Those whose missing lanes have exited go on; so do those that wait for each other at
// different bar.warp.sync. True if anyone does.
bool WarpRunner::wake_synchronised() {
  LaneMask waiting = 0;
  const auto op_of = [](const Group& group) -> const Op& { return group.frame->code->ops[group.pc]; };
  const auto only_waits = [](const Op& op) { return op.imm != 0; };  // bar.warp.sync
  for (const Group& group : warp_.groups) {
    if (group.state == GroupState::kAtWarpSync && only_waits(op_of(group))) waiting |= group.mask;
  }
  bool woken = false;
  for (Group& group : warp_.groups) {
    if (group.state != GroupState::kAtWarpSync) continue;
    const LaneMask required = required_lanes(op_of(group), *group.frame, group.mask);
    const bool meets_others = only_waits(op_of(group)) && (required & ~waiting) == 0;
    if ((required & ~group.mask) != 0 && !meets_others) continue;
    group.state = GroupState::kReady;
    if (meets_others) ++group.pc;
    woken = true;
  }
  return woken;
}

}  // namespace

WarpState run_warp(Warp& warp, std::uint32_t operations) {
  return WarpRunner(warp, operations).run();
}

}  // namespace refrain::simgpu
