// Run-time state: frames of registers, warps, and the block they belong to. Used by one thread at a time.
// Operations reach registers and memory through this; scheduling is in block.cpp and grid.cpp.
#pragma once

#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "simgpu/exec/access_record.hpp"
#include "simgpu/exec/grid.hpp"

namespace refrain::simgpu {

struct FrameStorageDeleter {
  void operator()(std::byte* bytes) const noexcept { ::operator delete[](bytes, std::align_val_t(64)); }
};
using FrameStorage = std::unique_ptr<std::byte[], FrameStorageDeleter>;

inline std::uint32_t first_lane(LaneMask mask) {
  return static_cast<std::uint32_t>(std::countr_zero(mask));
}

// One activation of a function by some lanes of a warp.
struct Frame {
  const Code* code = nullptr;
  Frame* parent = nullptr;
  std::uint32_t call_pc = 0;  // in the parent
  LaneMask lanes = 0;         // still inside
  std::uint32_t depth = 0;
  std::uint32_t local_base = 0;
  std::uint32_t local_end = 0;     // alloca moves it
  const CallSite* site = nullptr;  // that the frame was entered by
  FrameStorage registers;
  std::vector<std::byte> params;  // [lane][code->param_bytes]
};

enum class GroupState : std::uint8_t { kReady, kAtBarrier, kAtWarpSync };

// Lanes of a warp that are at the same place.
struct Group {
  Frame* frame;
  std::uint32_t pc;
  LaneMask mask;
  GroupState state = GroupState::kReady;
  bool yielded = false;
  std::uint32_t barrier = 0;
};

// After so many operations other groups of the warp get a turn: lanes may wait for each other in loops. Long
// enough that lanes of ordinary loops with different numbers of rounds meet again after them.
constexpr std::uint32_t kGroupOperations = 1u << 12;

struct BarrierState {
  std::uint32_t arrived = 0;
  std::uint32_t expected = 0;  // 0: every thread that has not exited
  std::uint32_t votes = 0;     // bar.red: predicates that were true
  std::uint32_t passed = 0;    // bar.arrive: threads that have arrived and do not wait
};
constexpr std::uint32_t kBarriers = 16;

struct Block {
  const Program* program = nullptr;
  const AddressSpace* memory = nullptr;
  Ordinal device = 0;
  Accessor accessor = Accessor::device(0);  // the same, for access checks
  Mistakes* mistakes = nullptr;
  const LaunchShape* shape = nullptr;
  std::span<const std::byte> params;
  std::uint64_t clock_ns = 0;
  ExecutionCounts* counts = nullptr;
  AccessRecord* accesses = nullptr;  // nullptr: not wanted
  bool concurrent = false;           // other blocks run at the same time on other threads
  Dim3 index;
  std::uint32_t live_threads = 0;
  std::vector<std::byte> shared;
  // States of bytes, if they are checked: of the device's memory, from its first address on, and of `shared`.
  std::uint8_t* states = nullptr;
  DeviceAddress states_begin = 0;
  bool check_reads = false;  // for bytes that nothing has written
  std::vector<std::uint8_t> shared_states;
  BarrierState barriers[kBarriers];
};

struct Warp {
  Block* block = nullptr;
  std::byte* registers = nullptr;  // of the running group's frame
  Frame* frame = nullptr;
  const Op* op = nullptr;  // running, for faults
  std::uint32_t index = 0;
  LaneMask alive = 0;
  std::uint32_t turn_left =
      kGroupOperations;  // operations of the group that runs next, before others get a turn
  std::vector<Group> groups;
  std::vector<std::unique_ptr<Frame>> frames;        // in use
  std::vector<std::unique_ptr<Frame>> spare_frames;  // constants in place, ready to be used again
  std::vector<std::byte> local;                      // [lane][local_stride]
  std::uint32_t local_stride = 0;

  template <class T>
  T* at(std::uint32_t slot) const noexcept {
    return static_cast<T*>(__builtin_assume_aligned(reinterpret_cast<T*>(registers + slot), alignof(T)));
  }
  LaneMask& predicate(std::uint32_t slot) const noexcept { return *at<LaneMask>(slot); }
  std::uint32_t thread(std::uint32_t lane) const noexcept { return index * kLanes + lane; }
};

// "kernel K, block (x,y,z), thread (x,y,z), line L: …"
[[noreturn]] void raise(const Warp& warp, std::uint32_t lane, FaultKind kind, const std::string& what);

// The byte behind a generic address for a lane, or nullptr; counts as no access.
std::byte* generic_pointer(const Warp& warp, std::uint32_t lane, std::uint64_t address, std::uint64_t bytes,
                           Access access) noexcept;
// Raises the fault that an access by a lane deserves.
[[noreturn]] void raise_access(const Warp& warp, std::uint32_t lane, Memory memory, std::uint64_t address,
                               std::uint64_t bytes, bool write);

// Adds what the lanes of an access to global or generic memory touch of the device's.
void record_access(AccessRecord& record, Use use, const std::uint64_t* address, std::uint64_t bytes,
                   LaneMask mask);

// The checks, which raise or tell and return: accesses to mapped pages outside every allocation, and reads of
// what nothing has written.
void note_out_of_bounds(const Warp& warp, std::uint32_t lane, Memory memory, std::uint64_t address,
                        std::uint64_t bytes, bool write);
void note_uninitialised(const Warp& warp, std::uint32_t lane, Memory memory, std::uint64_t address,
                        std::uint64_t bytes);
// "kernel K, block (x,y,z), thread (x,y,z), PTX line L"
std::string place_of(const Warp& warp, std::uint32_t lane);

[[noreturn]] void raise_misaligned(const Warp& warp, std::uint32_t lane, std::uint64_t address,
                                   std::uint64_t bytes);

void call_builtin(Warp& warp, const CallSite& site, LaneMask mask);
std::uint64_t special_value(const Warp& warp, ptx::SpecialRegister special, std::uint32_t lane) noexcept;

// Frames (frames.cpp). A new frame has its registers cleared and its constants and special registers in
// place.
Frame* push_frame(Warp& warp, const Code& code, Frame* parent, std::uint32_t call_pc, LaneMask lanes);
// Local memory at the end of the running frame; its offset in local memory.
std::uint64_t grow_frame(Warp& warp, std::uint64_t bytes, std::uint64_t alignment);
// Lanes that leave a frame for good; the frame is kept for reuse once it is empty.
void leave_frame(Warp& warp, Frame* frame, LaneMask lanes);
// Back to the state in which a block begins: only the entry's frame, everything cleared.
void reset_warp(Warp& warp, LaneMask alive);
void copy_params(const Frame& from, Frame& to, const std::vector<ArgumentCopy>& copies, LaneMask lanes);

enum class WarpState { kDone, kBlocked, kSliced };
// Runs a warp until it ends, waits at a barrier, or has done so many operations (warp.cpp).
WarpState run_warp(Warp& warp, std::uint32_t operations);
// Groups that wait at the barrier go on. It must have been the same one for all lanes of the warp.
void release_barrier(Warp& warp, std::uint32_t barrier);

}  // namespace refrain::simgpu
