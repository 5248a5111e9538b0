// Frames of registers: made, cleared, kept for reuse. It must not know what operations do with them.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "simgpu/exec/warp.hpp"

namespace refrain::simgpu {
namespace {

constexpr std::uint32_t kMaxCallDepth = 2048;
constexpr std::uint32_t kLocalAlignment = 16;

std::uint32_t round_up(std::uint32_t value) {
  return (value + kLocalAlignment - 1) / kLocalAlignment * kLocalAlignment;
}

bool depends_on_block(ptx::SpecialRegister special) {
  return special == ptx::SpecialRegister::kCtaidX || special == ptx::SpecialRegister::kCtaidY ||
         special == ptx::SpecialRegister::kCtaidZ || special == ptx::SpecialRegister::kClusteridX ||
         special == ptx::SpecialRegister::kClusteridY || special == ptx::SpecialRegister::kClusteridZ;
}

// Clocks have no slots: they are read when they are moved.
void fill_special(const Warp& warp, Frame& frame, const SpecialSlot& slot) {
  std::byte* at = frame.registers.get() + slot.offset;
  const std::size_t bytes = ptx::bits_of(slot.special) / 8;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t value = special_value(warp, slot.special, lane);
    std::memcpy(at + lane * bytes, &value, bytes);  // little endian: the low bytes come first
  }
}

// The same for every lane.
void fill_block_special(const Warp& warp, Frame& frame, const SpecialSlot& slot) {
  const auto value = static_cast<std::uint32_t>(special_value(warp, slot.special, 0));
  std::uint32_t values[kLanes];
  for (std::uint32_t& lane : values) lane = value;
  std::memcpy(frame.registers.get() + slot.offset, values, sizeof values);
}

std::unique_ptr<Frame> make_frame(const Warp& warp, const Code& code) {
  auto frame = std::make_unique<Frame>();
  frame->code = &code;
  frame->registers.reset(new (std::align_val_t(64)) std::byte[std::max<std::size_t>(code.frame_bytes, 64)]);
  if (!code.constants.empty()) {
    std::memcpy(frame->registers.get() + code.register_bytes, code.constants.data(), code.constants.size());
  }
  for (const SpecialSlot& slot : code.specials) fill_special(warp, *frame, slot);
  return frame;
}

void grow_local(Warp& warp, std::uint32_t needed) {
  if (needed <= warp.local_stride) return;
  const std::uint32_t stride = round_up(std::max(needed, warp.local_stride * 2));
  std::vector<std::byte> grown(std::size_t{stride} * kLanes);
  for (std::uint32_t lane = 0; lane < kLanes && warp.local_stride != 0; ++lane) {
    std::memcpy(grown.data() + std::size_t{lane} * stride,
                warp.local.data() + std::size_t{lane} * warp.local_stride, warp.local_stride);
  }
  warp.local = std::move(grown);
  warp.local_stride = stride;
}

void clear_frame(const Warp& warp, Frame& frame) {
  std::memset(frame.registers.get(), 0, frame.code->register_bytes);
  for (const SpecialSlot& slot : frame.code->specials) {
    if (depends_on_block(slot.special)) fill_block_special(warp, frame, slot);
  }
  if (frame.code->param_bytes != 0)
    frame.params.assign(std::size_t{frame.code->param_bytes} * kLanes, std::byte{0});
}

}  // namespace

Frame* push_frame(Warp& warp, const Code& code, Frame* parent, std::uint32_t call_pc, LaneMask lanes) {
  if (parent != nullptr && parent->depth + 1 >= kMaxCallDepth) {
    raise(warp, first_lane(lanes), FaultKind::kIllegalAddress,
          fmt::format("stack overflow: {} calls are nested", kMaxCallDepth));
  }
  auto& spare = warp.spare_frames;
  auto found =
      std::find_if(spare.rbegin(), spare.rend(), [&](const auto& frame) { return frame->code == &code; });
  std::unique_ptr<Frame> frame;
  if (found != spare.rend()) {
    frame = std::move(*found);
    spare.erase(std::next(found).base());
  } else {
    frame = make_frame(warp, code);
  }
  frame->parent = parent;
  frame->call_pc = call_pc;
  frame->lanes = lanes;
  frame->depth = parent != nullptr ? parent->depth + 1 : 0;
  frame->local_base = parent != nullptr ? round_up(parent->local_end) : 0;
  frame->local_end = frame->local_base + code.local_bytes;
  frame->site = nullptr;
  grow_local(warp, frame->local_end);
  clear_frame(warp, *frame);
  warp.frames.push_back(std::move(frame));
  return warp.frames.back().get();
}

std::uint64_t grow_frame(Warp& warp, std::uint64_t bytes, std::uint64_t alignment) {
  constexpr std::uint64_t kMaxLocalBytes = 512u << 10;  // of a thread of a real device
  const std::uint64_t unit = std::max<std::uint64_t>(alignment, 1);
  const std::uint64_t place = (warp.frame->local_end + unit - 1) / unit * unit;
  if (bytes > kMaxLocalBytes || place + bytes > kMaxLocalBytes) {
    raise(warp, first_lane(warp.frame->lanes), FaultKind::kIllegalAddress,
          fmt::format("stack overflow: alloca of {} bytes after {} of {}", bytes, place, kMaxLocalBytes));
  }
  warp.frame->local_end = static_cast<std::uint32_t>(place + bytes);
  grow_local(warp, warp.frame->local_end);
  return place;
}

void leave_frame(Warp& warp, Frame* frame, LaneMask lanes) {
  frame->lanes &= ~lanes;
  if (frame->lanes != 0) return;
  const auto found = std::find_if(warp.frames.begin(), warp.frames.end(),
                                  [&](const auto& owned) { return owned.get() == frame; });
  warp.spare_frames.push_back(std::move(*found));
  warp.frames.erase(found);
}

void reset_warp(Warp& warp, LaneMask alive) {
  while (!warp.frames.empty()) {
    warp.spare_frames.push_back(std::move(warp.frames.back()));
    warp.frames.pop_back();
  }
  std::fill(warp.local.begin(), warp.local.end(), std::byte{0});
  warp.alive = alive;
  warp.turn_left = kGroupOperations;
  warp.groups.clear();
  warp.groups.push_back(Group{push_frame(warp, warp.block->program->entry(), nullptr, 0, alive), 0, alive});
}

void copy_params(const Frame& from, Frame& to, const std::vector<ArgumentCopy>& copies, LaneMask lanes) {
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
    for (const ArgumentCopy& copy : copies) {
      std::memcpy(to.params.data() + lane * to.code->param_bytes + copy.to,
                  from.params.data() + lane * from.code->param_bytes + copy.from, copy.bytes);
    }
  }
}

std::uint64_t special_value(const Warp& warp, ptx::SpecialRegister special, std::uint32_t lane) noexcept {
  using ptx::SpecialRegister;
  const Block& block = *warp.block;
  const Dim3& size = block.shape->block;
  const Dim3& grid = block.shape->grid;
  const std::uint32_t thread = warp.thread(lane);
  const std::uint32_t bit = 1u << lane;
  // Time passes by one unit with each operation of a warp.
  const std::uint64_t now = block.clock_ns + block.counts->warp_instructions;
  switch (special) {
    case SpecialRegister::kTidX: return thread % size.x;
    case SpecialRegister::kTidY: return thread / size.x % size.y;
    case SpecialRegister::kTidZ: return thread / size.x / size.y;
    case SpecialRegister::kNtidX: return size.x;
    case SpecialRegister::kNtidY: return size.y;
    case SpecialRegister::kNtidZ: return size.z;
    case SpecialRegister::kCtaidX: return block.index.x;
    case SpecialRegister::kCtaidY: return block.index.y;
    case SpecialRegister::kCtaidZ: return block.index.z;
    case SpecialRegister::kNctaidX: return grid.x;
    case SpecialRegister::kNctaidY: return grid.y;
    case SpecialRegister::kNctaidZ: return grid.z;
    case SpecialRegister::kLaneid: return lane;
    case SpecialRegister::kLanemaskEq: return bit;
    case SpecialRegister::kLanemaskLt: return bit - 1;
    case SpecialRegister::kLanemaskLe: return bit | (bit - 1);
    case SpecialRegister::kLanemaskGt: return ~(bit | (bit - 1));
    case SpecialRegister::kLanemaskGe: return ~(bit - 1);
    case SpecialRegister::kTotalSmemSize: return block.shared.size();
    case SpecialRegister::kDynamicSmemSize: return block.shape->dynamic_shared_bytes;
    case SpecialRegister::kWarpid: return warp.index;
    case SpecialRegister::kNwarpid: return kLanes;
    case SpecialRegister::kNsmid: return 1;
    case SpecialRegister::kSmid:  // one multiprocessor: blocks run one after the other
    case SpecialRegister::kGridid: return 0;
    case SpecialRegister::kClock:
    case SpecialRegister::kGlobaltimerLo: return now & 0xffffffff;
    case SpecialRegister::kClockHi:
    case SpecialRegister::kGlobaltimerHi: return now >> 32;
    case SpecialRegister::kClock64:
    case SpecialRegister::kGlobaltimer: return now;
    // A cluster is one block.
    case SpecialRegister::kClusteridX: return block.index.x;
    case SpecialRegister::kClusteridY: return block.index.y;
    case SpecialRegister::kClusteridZ: return block.index.z;
    case SpecialRegister::kNclusteridX: return grid.x;
    case SpecialRegister::kNclusteridY: return grid.y;
    case SpecialRegister::kNclusteridZ: return grid.z;
    case SpecialRegister::kClusterNctaidX:
    case SpecialRegister::kClusterNctaidY:
    case SpecialRegister::kClusterNctaidZ:
    case SpecialRegister::kClusterNctarank: return 1;
    case SpecialRegister::kAggrSmemSize: return block.shared.size();
    case SpecialRegister::kEnvreg1: return block.shape->workspace >> 32;
    case SpecialRegister::kEnvreg2: return block.shape->workspace & 0xffffffff;
    default: break;  // performance counters, environment, ranks in a cluster, reserved shared memory: none
  }
  return 0;
}

}  // namespace refrain::simgpu
