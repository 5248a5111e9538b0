// The part of a kernel that decides where it reads and writes: its control flow, the integers behind
// addresses and conditions, and the accesses themselves; functions that it calls are part of it. Made once
// for each kernel. Everything else (floats) is left out and counts as unknown. It must not know launches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "access/contents.hpp"
#include "ptx/ast.hpp"

namespace refrain::access {

enum class StepKind : std::uint8_t {
  kParam,      // value: byte offset in the parameter block; bits, is_signed
  kShape,      // value: a ptx::SpecialRegister
  kNotGlobal,  // an address of shared or local memory, or of a variable of the module
  kUnknown,
  kMove,
  kAdd,
  kSub,
  kMul,
  kMulHigh,
  kDiv,
  kRem,
  kShl,
  kShr,
  kAnd,  // of predicates too: bits 1
  kOr,
  kXor,
  kNot,
  kMin,
  kMax,
  kCompare,  // value: a Relation
  kSelect,   // a where c, else b
  kExtend,   // a, which has `bits`, as a wider integer
  kTruncate,
  kAccess,  // at a + value: `bytes`, reads, writes
  kLoad,    // an integer of `bits` at a + value, which also is an access of its own
};

enum class Relation : std::uint8_t { kEq, kNe, kLt, kLe, kGt, kGe };

struct Step {
  static constexpr std::uint32_t kNone = 0xffffffff;

  StepKind kind = StepKind::kUnknown;
  std::uint8_t bits = 64;  // the width that the operation works in
  bool is_signed = false;
  bool guard_negated = false;
  bool reads = false;
  bool writes = false;
  std::uint32_t bytes = 0;  // of an access; 0: not known
  std::uint32_t out = kNone;
  std::uint32_t a = kNone, b = kNone, c = kNone;  // slots
  std::uint32_t guard = kNone;                    // a slot: the step happens where it is true
  std::int64_t value = 0;
};

struct Block {
  static constexpr std::uint32_t kEnd = 0xffffffff;  // of the kernel

  std::uint32_t first = 0, last = 0;  // steps [first, last)
  std::uint32_t next = kEnd;          // where condition does not hold, or always without one
  std::uint32_t target = kEnd;
  std::uint32_t condition = Step::kNone;  // a slot
  bool condition_negated = false;
  std::uint32_t meets =
      kEnd;  // the block that all paths from here go through next: the nearest post-dominator
};

struct Slice {
  struct Constant {
    std::uint32_t slot;
    std::int64_t value;
  };
  std::vector<Constant> constants;  // slots that never change
  std::vector<Step> steps;
  std::vector<Block> blocks;  // [0]: the entry
  std::uint32_t slots = 0;
  std::vector<std::uint32_t> pointers;  // parameter words that are addresses, by byte offset
  std::uint32_t param_bytes = 0;
  std::vector<bool> param_byte_matters;  // somewhere in the slice
  std::vector<LoadKind> loads;           // that the slice has
};

// nullopt: the kernel has what a slice cannot tell (indirect jumps and calls, recursion) or is too large.
// pointers: byte offsets of the parameter words that are addresses.
std::optional<Slice> slice_of(const ptx::Module& module, const ptx::Function& kernel,
                              const std::vector<std::uint32_t>& pointers);

}  // namespace refrain::access
