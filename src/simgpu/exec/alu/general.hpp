// What the general loops share: lanes, slots, and who finds what. For the files general_*.cpp alone.
#pragma once

#include "simgpu/exec/handlers.hpp"
#include "simgpu/exec/options.hpp"
#include "simgpu/exec/warp.hpp"

namespace refrain::simgpu::general {

template <class F>
inline void for_each_lane(LaneMask mask, F f) {
  for (LaneMask rest = mask; rest != 0; rest &= rest - 1) f(static_cast<std::uint32_t>(__builtin_ctz(rest)));
}

inline Options options(const Op& op) {
  return Options{op.imm};
}

inline void set_predicate(Warp& w, std::uint32_t slot, LaneMask truth, LaneMask mask) {
  if (slot == kNoSlot) return;
  LaneMask& p = w.predicate(slot);
  p = (p & ~mask) | (truth & mask);
}

// What setp, set and lop3 do with their predicate operand.
inline LaneMask combined(const Warp& w, const Op& op, LaneMask result) {
  if (op.combine == Combine::kNone) return result;
  const LaneMask other = op.c_negated ? ~w.predicate(op.c) : w.predicate(op.c);
  if (op.combine == Combine::kAnd) return result & other;
  return op.combine == Combine::kOr ? result | other : result ^ other;
}

Handler find_integer(const ptx::Instruction& in);
Handler find_float(const ptx::Instruction& in);
Handler find_half(const ptx::Instruction& in);
Handler find_compare(const ptx::Instruction& in);
Handler find_convert(const ptx::Instruction& in);

}  // namespace refrain::simgpu::general
