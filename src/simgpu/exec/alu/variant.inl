// One compilation of every lane loop, for the instruction set that the including file is compiled with.
// REFRAIN_VARIANT names it. Headers of the standard library come first, outside the variant's namespace.
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "simgpu/exec/handlers.hpp"
#include "simgpu/exec/options.hpp"
#include "simgpu/exec/warp.hpp"

namespace refrain::simgpu {
namespace REFRAIN_VARIANT {
namespace {

// Each builds on those before it.
// clang-format off
#include "simgpu/exec/alu/lanes.inl"
#include "simgpu/exec/alu/integer.inl"
#include "simgpu/exec/alu/half.inl"
#include "simgpu/exec/alu/approximate.inl"
#include "simgpu/exec/alu/float.inl"
#include "simgpu/exec/alu/convert.inl"
#include "simgpu/exec/alu/compare.inl"
#include "simgpu/exec/alu/memory.inl"
#include "simgpu/exec/alu/atomic.inl"
#include "simgpu/exec/alu/mbarrier.inl"
#include "simgpu/exec/alu/matrix_memory.inl"
#include "simgpu/exec/alu/matrix.inl"
#include "simgpu/exec/alu/warp_ops.inl"
// clang-format on

Handler find_select(const ptx::Instruction& in) {
  const bool wide = ptx::bits_of(in.type()) == 64;
  if (in.opcode == ptx::Opcode::kSelp) return wide ? selp<std::uint64_t> : selp<std::uint32_t>;
  return wide ? slct_handler<std::uint64_t>(in) : slct_handler<std::uint32_t>(in);
}

bool has_any(const ptx::Instruction& in, std::initializer_list<ptx::Modifier> words) {
  return std::any_of(words.begin(), words.end(), [&](ptx::Modifier word) { return in.has(word); });
}

Handler find_dp4a(const ptx::Instruction& in) {
  using Word = std::uint32_t;
  const bool a_is_signed = in.types[0] == ptx::Type::kS32, b_is_signed = in.types[1] == ptx::Type::kS32;
  if (a_is_signed) {
    return b_is_signed ? map3<Word, Word, Dp4a<std::int8_t, std::int8_t>>
                       : map3<Word, Word, Dp4a<std::int8_t, std::uint8_t>>;
  }
  return b_is_signed ? map3<Word, Word, Dp4a<std::uint8_t, std::int8_t>>
                     : map3<Word, Word, Dp4a<std::uint8_t, std::uint8_t>>;
}

Handler find_by_type(const ptx::Instruction& in) {
  const bool is_integer = ptx::kind_of(in.type()) != ptx::TypeKind::kFloat;
  using ptx::Modifier;
  if (is_integer && has_any(in, {Modifier::kSat, Modifier::kCc, Modifier::kRelu, Modifier::kShiftamt}))
    return nullptr;
  switch (in.type()) {
    case ptx::Type::kPred: return predicate_handler(in);
    case ptx::Type::kB16:
    case ptx::Type::kU16: return integer_handler<std::uint16_t>(in);
    case ptx::Type::kS16: return integer_handler<std::int16_t>(in);
    case ptx::Type::kB32:
    case ptx::Type::kU32: return integer_handler<std::uint32_t>(in);
    case ptx::Type::kS32: return integer_handler<std::int32_t>(in);
    case ptx::Type::kB64:
    case ptx::Type::kU64: return integer_handler<std::uint64_t>(in);
    case ptx::Type::kS64: return integer_handler<std::int64_t>(in);
    case ptx::Type::kF16: return half_handler<AsHalf, false>(in);
    case ptx::Type::kF16x2: return half_handler<AsHalf, true>(in);
    case ptx::Type::kBf16: return half_handler<AsBrain, false>(in);
    case ptx::Type::kBf16x2: return half_handler<AsBrain, true>(in);
    case ptx::Type::kF32: return f32_handler(in);
    case ptx::Type::kF64: return f64_handler(in);
    default: return nullptr;
  }
}

Handler find_alu(const ptx::Instruction& in) {
  using ptx::Modifier;
  using Word = std::uint32_t;
  switch (in.opcode) {
    case ptx::Opcode::kCvt: return find_convert(in);
    case ptx::Opcode::kSetp: return find_compare(in);
    case ptx::Opcode::kSet: return nullptr;
    case ptx::Opcode::kSelp:
    case ptx::Opcode::kSlct: return find_select(in);
    case ptx::Opcode::kTestp:
      return in.type() == ptx::Type::kF64 ? testp<std::uint64_t, double> : testp<Word, float>;
    case ptx::Opcode::kPrmt:
      return has_any(in, {Modifier::kF4e, Modifier::kB4e, Modifier::kRc8, Modifier::kEcl, Modifier::kEcr,
                          Modifier::kRc16})
                 ? nullptr
                 : map3<Word, Word, Prmt>;
    case ptx::Opcode::kLop3: return has_any(in, {Modifier::kAnd, Modifier::kOr}) ? nullptr : lop3;
    case ptx::Opcode::kDp4a: return find_dp4a(in);
    case ptx::Opcode::kShf:
      if (in.has(Modifier::kLeft))
        return in.has(Modifier::kWrap) ? map3<Word, Word, Funnel<true, true>>
                                       : map3<Word, Word, Funnel<true, false>>;
      return in.has(Modifier::kWrap) ? map3<Word, Word, Funnel<false, true>>
                                     : map3<Word, Word, Funnel<false, false>>;
    default: return find_by_type(in);
  }
}

}  // namespace

const HandlerTable& table() {
  static const HandlerTable kTable = {
      .alu = find_alu,
      .load = find_mover<true>,
      .store = find_mover<false>,
      .atomic = find_atomic,
      .warp = find_warp,
      .move32 = map1<std::uint32_t, std::uint32_t, Same<std::uint32_t>>,
      .move64 = map1<std::uint64_t, std::uint64_t, Same<std::uint64_t>>,
      .move_predicate = move_predicate,
      .pack = pack,
      .unpack = unpack,
      .local_address = local_address,
      .allocate_local = allocate_local,
      .save_stack = save_stack,
      .restore_stack = restore_stack,
      .clock = clock,
      .isspacep = isspacep,
      .nothing = nothing,
      .matrix_product = find_product,
      .move_fragment = find_fragment_mover,
      .load_small = [](bool transposed) -> Handler {
        return transposed ? load_small<true> : load_small<false>;
      },
      .store_small = [](bool transposed) -> Handler {
        return transposed ? store_small<true> : store_small<false>;
      },
      .transpose = transpose,
      .barrier_update = find_barrier_update,
      .load_part = load_part,
  };
  return kTable;
}

}  // namespace REFRAIN_VARIANT
}  // namespace refrain::simgpu
