// What instructions do to the slots of a slice. What is not here leaves its results unknown; it must never
// give a slot a value that the register does not have.
#include <algorithm>

#include "access/slice_builder.hpp"

namespace refrain::access {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;
using ptx::OperandKind;
using ptx::Type;
using ptx::TypeKind;

namespace {

bool is_signed(Type type) {
  return ptx::kind_of(type) == TypeKind::kSigned;
}

// Nothing that changes what the plain operation gives.
bool is_plain(const Instruction& in) {
  return !in.has(Modifier::kSat) && !in.has(Modifier::kCc) && !in.has(Modifier::kRelu);
}

}  // namespace

std::uint32_t SliceBuilder::constant(std::int64_t value) {
  const auto [entry, is_new] = constants_.try_emplace(value, 0);
  if (is_new) {
    entry->second = fresh();
    slice_.constants.push_back({entry->second, value});
  }
  return entry->second;
}

Step& SliceBuilder::emit(StepKind kind, std::uint32_t out, unsigned bits, bool is_signed) {
  Step step;
  step.kind = kind;
  step.out = out;
  step.bits = static_cast<std::uint8_t>(bits);
  step.is_signed = is_signed;
  step.guard = guard_;
  step.guard_negated = guard_negated_;
  return slice_.steps.emplace_back(step);
}

void SliceBuilder::emit(StepKind kind, std::uint32_t out, unsigned bits, bool is_signed, std::uint32_t a,
                        std::uint32_t b) {
  Step& step = emit(kind, out, bits, is_signed);
  step.a = a;
  step.b = b;
}

// Also where the guard does not hold: nobody looks at it there.
std::uint32_t SliceBuilder::temporary(StepKind kind, unsigned bits, bool is_signed, std::uint32_t a,
                                      std::uint32_t b) {
  const std::uint32_t out = fresh();
  emit(kind, out, bits, is_signed, a, b);
  slice_.steps.back().guard = Step::kNone;
  return out;
}

std::uint32_t SliceBuilder::slot_of(const Frame& frame, const Operand& operand) {
  switch (operand.kind) {
    case OperandKind::kRegister: {
      const std::uint32_t slot = frame.first_slot + operand.index;
      return operand.negated ? temporary(StepKind::kNot, 1, false, slot) : slot;
    }
    case OperandKind::kInteger: return constant(operand.value);
    case OperandKind::kSpecial: {
      const std::uint32_t out = temporary(StepKind::kShape, 32, false, Step::kNone);
      slice_.steps.back().value = operand.index;
      return out;
    }
    case OperandKind::kVariable:
    case OperandKind::kModuleVariable: return temporary(StepKind::kNotGlobal, 64, false, Step::kNone);
    default: return temporary(StepKind::kUnknown, 64, false, Step::kNone);
  }
}

void SliceBuilder::unknown(const Frame& frame, const Operand& operand) {
  if (operand.kind == OperandKind::kRegister) emit(StepKind::kUnknown, frame.first_slot + operand.index);
  for (const Operand& element : operand.elements) unknown(frame, element);
}

bool SliceBuilder::decode_integer(Frame& frame, const Instruction& in) {
  const Type type = in.type();
  if (!is_integer(type) || !is_plain(in)) return false;
  const unsigned bits = ptx::bits_of(type);
  const std::uint32_t out = frame.first_slot + in.operands[0].index;
  const auto operand = [&](std::size_t i) { return slot_of(frame, in.operands[i]); };
  const auto binary = [&](StepKind kind) {
    const std::uint32_t a = operand(1);
    emit(kind, out, bits, is_signed(type), a, operand(2));
    return true;
  };
  switch (in.opcode) {
    case Opcode::kAdd: return binary(StepKind::kAdd);
    case Opcode::kSub: return binary(StepKind::kSub);
    case Opcode::kDiv: return binary(StepKind::kDiv);
    case Opcode::kRem: return binary(StepKind::kRem);
    case Opcode::kMin: return binary(StepKind::kMin);
    case Opcode::kMax: return binary(StepKind::kMax);
    case Opcode::kShl: return binary(StepKind::kShl);
    case Opcode::kShr: return binary(StepKind::kShr);
    case Opcode::kNeg: emit(StepKind::kSub, out, bits, true, constant(0), operand(1)); return true;
    case Opcode::kAbs: {
      const std::uint32_t a = operand(1);
      emit(StepKind::kMax, out, bits, true, a, temporary(StepKind::kSub, bits, true, constant(0), a));
      return true;
    }
    default: return false;
  }
}

bool SliceBuilder::decode_multiply(Frame& frame, const Instruction& in) {
  const Type type = in.type();
  if (!is_integer(type) || !is_plain(in)) return false;
  unsigned bits = ptx::bits_of(type);
  std::uint32_t a = slot_of(frame, in.operands[1]);
  std::uint32_t b = slot_of(frame, in.operands[2]);
  const std::uint32_t out = frame.first_slot + in.operands[0].index;
  const bool adds = in.opcode == Opcode::kMad;
  if (in.has(Modifier::kWide)) {
    a = temporary(StepKind::kExtend, bits, is_signed(type), a);
    b = temporary(StepKind::kExtend, bits, is_signed(type), b);
    bits *= 2;
  }
  const StepKind kind = in.has(Modifier::kHi) ? StepKind::kMulHigh : StepKind::kMul;
  if (!adds) {
    emit(kind, out, bits, is_signed(type), a, b);
    return true;
  }
  const std::uint32_t product = temporary(kind, bits, is_signed(type), a, b);
  emit(StepKind::kAdd, out, bits, is_signed(type), product, slot_of(frame, in.operands[3]));
  return true;
}

bool SliceBuilder::decode_bits(Frame& frame, const Instruction& in) {
  const Type type = in.type();
  const unsigned bits = type == Type::kPred ? 1 : ptx::bits_of(type);
  if (bits > 64) return false;
  const std::uint32_t out = frame.first_slot + in.operands[0].index;
  const std::uint32_t a = slot_of(frame, in.operands[1]);
  if (in.opcode == Opcode::kNot) {
    emit(StepKind::kNot, out, bits, false, a);
    return true;
  }
  const StepKind kind = in.opcode == Opcode::kAnd  ? StepKind::kAnd
                        : in.opcode == Opcode::kOr ? StepKind::kOr
                                                   : StepKind::kXor;
  emit(kind, out, bits, false, a, slot_of(frame, in.operands[2]));
  return true;
}

// bfe.u and bfi with places known from the text, as shifts and masks.
bool SliceBuilder::decode_field(Frame& frame, const Instruction& in) {
  const bool inserts = in.opcode == Opcode::kBfi;
  const Operand& at = in.operands[inserts ? 3 : 2];
  const Operand& length = in.operands[inserts ? 4 : 3];
  const unsigned bits = ptx::bits_of(in.type());
  if (at.kind != OperandKind::kInteger || length.kind != OperandKind::kInteger) return false;
  if (at.value < 0 || length.value <= 0 || at.value + length.value >= 63 ||
      at.value + length.value > static_cast<std::int64_t>(bits) || (!inserts && is_signed(in.type()))) {
    return false;
  }
  const std::uint32_t out = frame.first_slot + in.operands[0].index;
  const std::int64_t ones = (std::int64_t{1} << length.value) - 1;
  const std::uint32_t a = slot_of(frame, in.operands[1]);
  if (!inserts) {
    const std::uint32_t low = temporary(StepKind::kShr, bits, false, a, constant(at.value));
    emit(StepKind::kAnd, out, bits, false, low, constant(ones));
    return true;
  }
  const std::uint32_t field = temporary(StepKind::kAnd, bits, false, a, constant(ones));
  const std::uint32_t placed = temporary(StepKind::kShl, bits, false, field, constant(at.value));
  const std::uint32_t b = slot_of(frame, in.operands[2]);
  const std::uint32_t rest = temporary(StepKind::kAnd, bits, false, b, constant(~(ones << at.value)));
  emit(StepKind::kOr, out, bits, false, rest, placed);
  return true;
}

bool SliceBuilder::decode_compare(Frame& frame, const Instruction& in) {
  struct Row {
    Modifier modifier;
    Relation relation;
    bool is_unsigned;
  };
  static constexpr Row kRows[] = {
      {Modifier::kEq, Relation::kEq, false}, {Modifier::kNe, Relation::kNe, false},
      {Modifier::kLt, Relation::kLt, false}, {Modifier::kLe, Relation::kLe, false},
      {Modifier::kGt, Relation::kGt, false}, {Modifier::kGe, Relation::kGe, false},
      {Modifier::kLo, Relation::kLt, true},  {Modifier::kLs, Relation::kLe, true},
      {Modifier::kHi, Relation::kGt, true},  {Modifier::kHs, Relation::kGe, true}};
  const Type type = in.type();
  if (!is_integer(type)) return false;
  const auto row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return in.has(r.modifier); });
  if (row == std::end(kRows)) return false;
  const std::uint32_t a = slot_of(frame, in.operands[1]);
  const std::uint32_t holds =
      temporary(StepKind::kCompare, ptx::bits_of(type), is_signed(type) && !row->is_unsigned, a,
                slot_of(frame, in.operands[2]));
  slice_.steps.back().value = static_cast<std::int64_t>(row->relation);
  const bool combines = in.operands.size() > 3;
  const StepKind kind = in.has(Modifier::kAnd)  ? StepKind::kAnd
                        : in.has(Modifier::kOr) ? StepKind::kOr
                                                : StepKind::kXor;
  const std::uint32_t with = combines ? slot_of(frame, in.operands[3]) : Step::kNone;
  const auto give = [&](const Operand& to, std::uint32_t value) {
    if (to.kind != OperandKind::kRegister) return;
    const std::uint32_t out = frame.first_slot + to.index;
    if (combines) {
      emit(kind, out, 1, false, value, with);
    } else {
      emit(StepKind::kMove, out, 1, false, value);
    }
  };
  if (in.operands[0].kind != OperandKind::kPair) {
    give(in.operands[0], holds);
    return true;
  }
  const std::uint32_t fails = temporary(StepKind::kNot, 1, false, holds);
  give(in.operands[0].elements.at(0), holds);
  give(in.operands[0].elements.at(1), fails);
  return true;
}

bool SliceBuilder::decode_convert(Frame& frame, const Instruction& in) {
  const Type to = in.types[0], from = in.types[1];
  if (in.type_count < 2 || !is_integer(to) || !is_integer(from) || !is_plain(in)) return false;
  const std::uint32_t out = frame.first_slot + in.operands[0].index;
  std::uint32_t value = slot_of(frame, in.operands[1]);
  if (ptx::bits_of(to) > ptx::bits_of(from)) {
    emit(StepKind::kExtend, out, ptx::bits_of(from), is_signed(from), value);
    return true;
  }
  // A register wider than the type is filled up as the type says.
  const unsigned held = ptx::bits_of(frame.function->registers[in.operands[0].index].type);
  if (held > ptx::bits_of(to)) {
    emit(StepKind::kExtend, out, ptx::bits_of(to), is_signed(to), value);
  } else {
    emit(StepKind::kTruncate, out, ptx::bits_of(to), false, value);
  }
  return true;
}

bool SliceBuilder::decode_move(Frame& frame, const Instruction& in) {
  const Operand& to = in.operands[0];
  const Operand& from = in.operands[1];
  constexpr unsigned kHalf = 32;
  if (to.kind == OperandKind::kRegister && from.kind == OperandKind::kVector) {
    if (in.type() != Type::kB64 || from.elements.size() != 2) return false;
    const std::uint32_t low = temporary(StepKind::kExtend, kHalf, false, slot_of(frame, from.elements[0]));
    const std::uint32_t high =
        temporary(StepKind::kShl, 64, false, slot_of(frame, from.elements[1]), constant(kHalf));
    emit(StepKind::kAdd, frame.first_slot + to.index, 64, false, low, high);
    return true;
  }
  if (to.kind == OperandKind::kVector) {
    if (in.type() != Type::kB64 || to.elements.size() != 2) return false;
    const std::uint32_t whole = slot_of(frame, from);
    const std::uint32_t high = temporary(StepKind::kShr, 64, true, whole, constant(kHalf));
    const auto give = [&](const Operand& part, std::uint32_t value) {
      if (part.kind != OperandKind::kRegister) return;
      emit(StepKind::kTruncate, frame.first_slot + part.index, kHalf, false, value);
    };
    give(to.elements[0], whole);
    give(to.elements[1], high);
    return true;
  }
  if (to.kind != OperandKind::kRegister) return false;
  const unsigned bits = in.type() == Type::kPred ? 1 : ptx::bits_of(in.type());
  if (bits > 64) return false;
  emit(StepKind::kMove, frame.first_slot + to.index, bits, false, slot_of(frame, from));
  return true;
}

void SliceBuilder::decode(Frame& frame, const Instruction& in) {
  guard_ = in.guard == Instruction::kNoGuard ? Step::kNone : frame.first_slot + in.guard;
  guard_negated_ = in.guard_negated;
  const bool simple = !in.operands.empty() && in.operands[0].kind == OperandKind::kRegister;
  bool done = false;
  switch (in.opcode) {
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
    case Opcode::kNot: done = simple && decode_bits(frame, in); break;
    case Opcode::kMul:
    case Opcode::kMad: done = simple && decode_multiply(frame, in); break;
    case Opcode::kBfe:
    case Opcode::kBfi: done = simple && decode_field(frame, in); break;
    case Opcode::kSetp: done = decode_compare(frame, in); break;
    case Opcode::kCvt: done = simple && decode_convert(frame, in); break;
    case Opcode::kMov: done = decode_move(frame, in); break;
    case Opcode::kCvta: {
      if (!simple) break;
      const bool global = in.space() == ptx::Space::kGlobal || in.space() == ptx::Space::kConst;
      const std::uint32_t out = frame.first_slot + in.operands[0].index;
      emit(global ? StepKind::kMove : StepKind::kNotGlobal, out, 64, false, slot_of(frame, in.operands[1]));
      done = true;
      break;
    }
    case Opcode::kAlloca:
    case Opcode::kStacksave:
      if (simple) emit(StepKind::kNotGlobal, frame.first_slot + in.operands[0].index);
      done = simple;
      break;
    case Opcode::kSelp: {
      if (!simple || ptx::bits_of(in.type()) > 64) break;
      const std::uint32_t a = slot_of(frame, in.operands[1]);
      const std::uint32_t b = slot_of(frame, in.operands[2]);
      const std::uint32_t c = slot_of(frame, in.operands[3]);
      emit(StepKind::kSelect, frame.first_slot + in.operands[0].index, ptx::bits_of(in.type()), false, a, b);
      slice_.steps.back().c = c;
      done = true;
      break;
    }
    default: done = decode_memory(frame, in) || (simple && decode_integer(frame, in));
  }
  if (!done && !in.operands.empty() && ptx::roles_of(in.opcode).starts_with('w')) {
    unknown(frame, in.operands[0]);
  }
  guard_ = Step::kNone;
}

}  // namespace refrain::access
