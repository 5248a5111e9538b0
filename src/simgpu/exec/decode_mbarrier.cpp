// mbarrier to operations: updates of its 64 bits, and tests of the phase composed of ordinary logic.
#include <algorithm>

#include "simgpu/exec/decode.hpp"

namespace refrain::simgpu {
namespace {

using ptx::Opcode;
using ptx::Type;

bool has_word(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

BarrierUpdate update_of(const std::vector<std::string_view>& words) {
  if (has_word(words, "init")) return BarrierUpdate::kInit;
  if (has_word(words, "inval")) return BarrierUpdate::kInvalidate;
  const bool expects = has_word(words, "expect_tx");
  if (has_word(words, "arrive")) return expects ? BarrierUpdate::kArriveExpecting : BarrierUpdate::kArrive;
  if (has_word(words, "arrive_drop")) return expects ? BarrierUpdate::kDropExpecting : BarrierUpdate::kDrop;
  return expects ? BarrierUpdate::kExpect : BarrierUpdate::kComplete;
}

}  // namespace

// An operation that the program did not write, under the guard of the one that it did.
std::uint32_t FunctionDecoder::emit_logic(Opcode opcode, Type type, std::uint32_t a, std::uint32_t b,
                                          const Op& like) {
  ptx::Instruction in;
  in.opcode = opcode;
  in.types[0] = type;
  in.types[1] = opcode == Opcode::kCvt ? Type::kU32 : Type::kNone;
  in.type_count = opcode == Opcode::kCvt ? 2 : 1;
  Op op = like;
  op.kind = OpKind::kPlain;
  op.run = handlers_.alu(in);
  op.imm = 0;
  op.d = scratch_slot(ptx::bits_of(type) == 64);
  op.a = a;
  op.b = b;
  op.c = op.e = kNoSlot;
  emit(op);
  return op.d;
}

// A 32-bit operand in 64 bits.
std::uint32_t FunctionDecoder::widened(const Operand& operand, const Op& like) {
  if (operand.kind == ptx::OperandKind::kInteger) {
    return constant_slot(static_cast<std::uint64_t>(operand.value) & 0xffffffff, true);
  }
  return emit_logic(Opcode::kCvt, Type::kU64, source(operand, Type::kU32), kNoSlot, like);
}

void FunctionDecoder::test_barrier(const ptx::Instruction& in, bool by_parity, Op op) {
  if (in.operands.size() != 3 && in.operands.size() != 4) refuse("wrong number of operands");
  Op read = op;
  address(in, in.operands[1], read);
  read.run = handlers_.barrier_update(BarrierUpdate::kRead);
  read.b = constant_slot(0, true);
  read.d = scratch_slot(true);
  emit(read);
  // The phase is the top bit: it has changed where the two differ.
  std::uint32_t phase = kNoSlot;
  if (by_parity) {
    phase = emit_logic(Opcode::kShl, Type::kB64, widened(in.operands[2], op), constant_slot(63, false), op);
  } else {
    phase = source(in.operands[2], Type::kB64);
  }
  ptx::Instruction negative;
  negative.opcode = Opcode::kSetp;
  negative.types[0] = Type::kS64;
  negative.type_count = 1;
  negative.modifiers.set(static_cast<std::size_t>(ptx::Modifier::kLt));
  op.a = emit_logic(Opcode::kXor, Type::kB64, read.d, phase, op);
  op.run = handlers_.alu(negative);
  op.b = constant_slot(0, true);
  op.d = destination(in.operands[0], Type::kPred);
  emit(op);
  if (op.d == kNoSlot) return;
  // Whoever asks in vain lets others go on.
  op.kind = OpKind::kYield;
  op.guard = op.d;
  op.guard_negated = true;
  emit(op);
}

void FunctionDecoder::mbarrier(const ptx::Instruction& in, Op op) {
  const auto words = words_of(in);
  if (has_word(words, "test_wait") || has_word(words, "try_wait")) {
    return test_barrier(in, has_word(words, "parity"), op);
  }
  if (has_word(words, "pending_count")) {
    if (in.operands.size() != 2) refuse("wrong number of operands");
    const std::uint32_t count = emit_logic(Opcode::kAnd, Type::kB64, source(in.operands[1], Type::kB64),
                                           constant_slot((1u << 20) - 1, true), op);
    ptx::Instruction narrow;
    narrow.opcode = Opcode::kCvt;
    narrow.types[0] = Type::kU32;
    narrow.types[1] = Type::kU64;
    narrow.type_count = 2;
    op.run = handlers_.alu(narrow);
    op.a = count;
    op.d = destination(in.operands[0], Type::kB32);
    if (op.d == kNoSlot) refuse("a destination register expected");
    return emit(op);
  }
  const BarrierUpdate update = update_of(words);
  // arrive gives the state before it; the others have no result.
  const bool arrives = has_word(words, "arrive") || has_word(words, "arrive_drop");
  const bool has_result = arrives && in.operands[0].kind != ptx::OperandKind::kAddress;
  const std::size_t first = has_result ? 1 : 0;
  const bool needs_count = update != BarrierUpdate::kInvalidate && !arrives;
  if (in.operands.size() < first + (needs_count ? 2u : 1u) || in.operands.size() > first + 2) {
    refuse("wrong number of operands");
  }
  address(in, in.operands[first], op);
  op.b = in.operands.size() > first + 1 ? widened(in.operands[first + 1], op) : constant_slot(1, true);
  op.run = handlers_.barrier_update(update);
  if (has_result) op.d = destination(in.operands[0], Type::kB64);
  emit(op);
}

// Copies are complete by now. Without .noinc the arrival that is added is the one that is made.
void FunctionDecoder::arrive_after_copies(const ptx::Instruction& in, Op op) {
  if (in.operands.size() != 1) refuse("wrong number of operands");
  address(in, in.operands[0], op);
  op.run = handlers_.barrier_update(has_word(words_of(in), "noinc") ? BarrierUpdate::kArrive
                                                                    : BarrierUpdate::kRead);
  op.b = constant_slot(1, true);
  emit(op);
}

}  // namespace refrain::simgpu
