// The decoded form of a kernel: dense operations over byte offsets into a frame's registers.
// Immutable once built; nothing here executes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ptx/ast.hpp"
#include "simgpu/exec/module.hpp"

namespace refrain::simgpu {

struct Warp;
struct Op;
using LaneMask = std::uint32_t;
using Handler = void (*)(Warp& warp, const Op& op, LaneMask mask);

constexpr std::uint32_t kLanes = 32;
constexpr LaneMask kAllLanes = 0xffffffff;
constexpr std::uint32_t kNoSlot = 0xffffffff;

enum class OpKind : std::uint8_t {
  kPlain,     // run(), then the next one
  kWarpSync,  // the same, once every lane of its member mask has arrived
  kBranch,
  kCall,
  kIndirectCall,
  kReturn,
  kExit,
  kTrap,
  kBarrier,
  kArrive,  // at a barrier, without waiting
  kYield,   // the others get their turn
};

// What an address is relative to, beyond its base register and displacement.
enum class Relative : std::uint8_t { kNothing, kLocalFrame };

// How setp combines its comparison with its predicate operand.
enum class Combine : std::uint8_t { kNone, kAnd, kOr, kXor };

// Generic addresses of shared and local memory and of parameters: above every address of the host.
constexpr std::uint64_t kWindowMask = 0xff00'0000'0000'0000;
constexpr std::uint64_t kSharedWindow = 0x0100'0000'0000'0000;
constexpr std::uint64_t kLocalWindow = 0x0200'0000'0000'0000;
constexpr std::uint64_t kParamWindow = 0x0300'0000'0000'0000;
// Addresses of functions: nothing can be read there.
constexpr std::uint64_t kFunctionWindow = 0x0400'0000'0000'0000;
constexpr std::uint64_t function_address(std::uint32_t index_in_module) {
  return kFunctionWindow + (std::uint64_t{index_in_module} + 1) * 16;
}

// Where an ld or st goes, decided at decoding.
enum class Memory : std::uint8_t { kGlobal, kShared, kLocal, kLaunchParam, kFrameParam, kGeneric };

struct Op {
  Handler run = nullptr;
  // Byte offsets of registers in the frame; kNoSlot where there is none.
  std::uint32_t d = kNoSlot;
  std::uint32_t a = kNoSlot;
  std::uint32_t b = kNoSlot;
  std::uint32_t c = kNoSlot;
  std::uint32_t e = kNoSlot;  // a fifth one: second destination, fourth source
  std::uint32_t guard = kNoSlot;
  std::uint32_t target = 0;  // operation to go to; index of Code::calls
  std::uint32_t list = 0;    // first of `width` register offsets in Code::lists
  std::int64_t imm = 0;      // displacement, or what the handler says
  OpKind kind = OpKind::kPlain;
  Cost cost = Cost::kControl;
  bool guard_negated = false;
  bool a_is_64 = false;  // width of an address register
  Memory memory = Memory::kGlobal;
  Relative relative = Relative::kNothing;
  Combine combine = Combine::kNone;
  bool c_negated = false;
  bool aligned = false;             // a barrier that all lanes of a warp are to reach together
  std::uint8_t width = 1;           // vector elements
  std::uint8_t register_bits = 32;  // of a destination that is wider than its type
  std::uint32_t line = 0;
  std::uint32_t location = ptx::Instruction::kNoLocation;  // Program::locations
};

struct Code;

struct ArgumentCopy {
  std::uint32_t from;  // byte offsets in the frames' parameter areas
  std::uint32_t to;
  std::uint32_t bytes;
};

// What device code may call without a body in its module.
enum class Builtin : std::uint8_t { kNone, kPrintf, kAssertFail, kMalloc, kFree };

struct CallSite {
  const Code* callee = nullptr;  // null for a builtin
  Builtin builtin = Builtin::kNone;
  std::vector<ArgumentCopy> arguments;  // caller to callee; a builtin's `to` counts from 0
  std::vector<ArgumentCopy> results;    // callee to caller
};

// A call through a pointer: the functions of the module that it can reach.
struct IndirectSite {
  struct Target {
    std::uint64_t address;
    std::uint32_t call;  // index of Code::calls
  };
  std::vector<Target> targets;
};

struct SpecialSlot {
  ptx::SpecialRegister special;
  std::uint32_t offset;
};

// One function.
struct Code {
  std::string name;
  std::vector<Op> ops;
  std::vector<std::uint32_t> lists;
  std::vector<CallSite> calls;
  std::vector<IndirectSite> indirect;
  std::vector<SpecialSlot> specials;
  std::vector<std::byte> constants;  // broadcast to all lanes; they follow the registers
  std::uint32_t register_bytes = 0;  // cleared when a frame begins
  std::uint32_t frame_bytes = 0;     // registers, constants, specials
  std::uint32_t param_bytes = 0;     // a lane's parameter area: own parameters and those of its calls
  std::uint32_t local_bytes = 0;     // a lane's local variables in this function
  std::uint32_t register_count = 0;
  bool needs_order = false;  // see Program
  bool adds_floats = false;
};

// One kernel with every function it reaches.
struct Program {
  std::vector<std::unique_ptr<Code>> codes;  // [0] is the entry
  std::uint32_t static_shared_bytes = 0;
  // What it does can depend on the order in which blocks run: it takes results of atomics on memory that they
  // share, watches it, looks at clocks, or prints.
  bool needs_order = false;
  bool adds_floats = false;  // by atomics on such memory: only the rounding depends on the order
  // Of the module that it was decoded from.
  std::vector<ptx::SourceFile> files;
  std::vector<ptx::SourceLocation> locations;
  const Code& entry() const { return *codes[0]; }
};

}  // namespace refrain::simgpu
