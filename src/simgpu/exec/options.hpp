// The words of an arithmetic instruction as bits of Op::imm, for lane loops that serve many forms.
// Decided when a module is loaded; nothing here is looked up at run time.
#pragma once

#include <cstdint>

#include "ptx/ast.hpp"

namespace refrain::simgpu {

// In the order of the bits that choose it in MXCSR's table; see alu/lanes.inl.
enum class Rounding : std::uint8_t { kNearest, kZero, kDown, kUp, kNearestAway };

struct Options {
  std::int64_t bits = 0;

  static constexpr std::int64_t kRounding = 7;       // a Rounding
  static constexpr std::int64_t kIntegral = 1 << 3;  // .rni and so on: to an integer first
  static constexpr std::int64_t kFtz = 1 << 4;
  static constexpr std::int64_t kSat = 1 << 5;
  static constexpr std::int64_t kRelu = 1 << 6;
  static constexpr std::int64_t kSatfinite = 1 << 7;
  static constexpr std::int64_t kNan = 1 << 8;
  static constexpr std::int64_t kXorsignAbs = 1 << 9;
  static constexpr std::int64_t kHi = 1 << 10;
  static constexpr std::int64_t kCarryOut = 1 << 11;
  static constexpr std::int64_t kAbs = 1 << 13;
  static constexpr std::int64_t kSigned = 1 << 14;  // the first type is a signed one
  static constexpr std::int64_t kWrap = 1 << 15;
  static constexpr int kComparisonShift = 16;  // a Comparison
  static constexpr int kRegisterShift = 24;    // log2 of the bytes of a cvt's destination register

  bool has(std::int64_t bit) const noexcept { return (bits & bit) != 0; }
  Rounding rounding() const noexcept { return static_cast<Rounding>(bits & kRounding); }
};

enum class Comparison : std::uint8_t {
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kEqu,
  kNeu,
  kLtu,
  kLeu,
  kGtu,
  kGeu,
  kNum,
  kNan
};

// Everything that the words say; 0 where they say nothing.
Options options_of(const ptx::Instruction& in);

}  // namespace refrain::simgpu
