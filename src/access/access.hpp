// What a kernel reads and writes, by which of its pointer parameters: static analysis of its PTX.
// It never runs anything and never guesses: what it cannot prove is reported as unknown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/ast.hpp"

namespace refrain::access {

// A 64-bit word of the kernel's parameters that flows into a global address. Offset is the byte offset in the
// parameter block, also inside a by-value struct. "read" and "written" may both be set, and are may-facts: an
// over-approximation of what the kernel does. atomic implies both.
struct PointerAccess {
  std::uint32_t offset_bytes = 0;
  bool read = false;
  bool written = false;
  bool atomic = false;
};

// Why a replay might give different bytes, or touch what the parameters do not name. Bits.
enum Effect : std::uint32_t {
  kNoEffect = 0,
  kFloatAtomics = 1u << 0,    // order of additions differs from run to run
  kIntegerAtomics = 1u << 1,  // commutative ones whose old value nobody reads are not reported
  kClock = 1u << 2,           // %clock, %clock64, %globaltimer
  kSmId = 1u << 3,            // %smid, %nsmid, %warpid, %gridid and other placement
  kCalls = 1u << 4,           // printf, malloc, free, or a function whose body is not in the module
  kModuleVariableRead = 1u << 5,
  kModuleVariableWrite = 1u << 6,
  kIndirectPointer = 1u << 7,  // an address was loaded from memory: any buffer could be touched
  kUnknownPointer = 1u << 8,   // an address whose origin the analysis lost: any buffer could be touched
  kVolatile = 1u << 9,         // volatile, relaxed or acquire accesses: may spin on what others write
  kAddressStored =
      1u << 11,  // an address of a buffer is written to memory: a replay elsewhere would write another
  kGenericInlineAsm = 1u << 10,  // an opcode that the analysis does not know
  kTooLarge = 1u << 12,          // given up: any buffer could be touched
  kStated = 1u << 13,            // no finding of the analysis: the user says so, see manifest.hpp
};

// Those with which an access need not go through a parameter.
constexpr std::uint32_t kUnboundedEffects =
    kIndirectPointer | kUnknownPointer | kCalls | kGenericInlineAsm | kTooLarge;

// What the gravest of these does, as a part of a sentence: "reads a clock". Empty for kNoEffect.
std::string_view gravest(std::uint32_t effects) noexcept;

struct KernelAccess {
  std::string name;
  std::vector<PointerAccess> pointers;  // sorted by offset_bytes
  std::uint32_t param_bytes = 0;        // size of the whole parameter block
  std::uint32_t effects = kNoEffect;
  std::string reason;  // one sentence for a person when it cannot be replayed, else empty

  // Every access goes through `pointers`.
  bool bounded() const noexcept { return (effects & kUnboundedEffects) == 0; }
  bool atomic() const noexcept {
    for (const PointerAccess& pointer : pointers) {
      if (pointer.atomic) return true;
    }
    return false;
  }
  // The same inputs give the same outputs, bit for bit, and nothing else is touched.
  bool replayable() const noexcept { return effects == kNoEffect; }
};

// One kernel (an .entry) of a module; device functions it calls are followed. Deterministic, no state, never
// throws for odd PTX: what it does not understand becomes an effect. Takes at most about a second and 200 MiB
// beside the module: a kernel that needs more is given up, with kTooLarge and no pointers.
KernelAccess analyse(const ptx::Module& module, const ptx::Function& kernel);

}  // namespace refrain::access
