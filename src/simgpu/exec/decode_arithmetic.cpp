// Arithmetic, comparison and conversion to operations: the types of their operands, and which lane loop they
// get.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "simgpu/exec/decode.hpp"

namespace refrain::simgpu {
namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

Type doubled(Type type) {
  switch (type) {
    case Type::kU16: return Type::kU32;
    case Type::kS16: return Type::kS32;
    case Type::kU32: return Type::kU64;
    case Type::kS32: return Type::kS64;
    default: return Type::kNone;
  }
}

// The types of destination and sources of an arithmetic instruction; Type::kNone ends them.
using Signature = std::array<Type, 5>;

Signature product_signature(const ptx::Instruction& in) {
  const Type t = in.type();
  const Type sum = in.has(Modifier::kWide) ? doubled(t) : t;
  if (in.opcode == Opcode::kMul) return {sum, t, t};
  return {sum, t, t, sum};
}

// add, sub, fma with two types: the first is f32, the second that of the operands that are multiplied or come
// first.
Signature sum_signature(const ptx::Instruction& in) {
  const Type t = in.type();
  const Type half = in.type_count == 2 ? in.types[1] : t;
  if (in.opcode == Opcode::kFma) return {t, half, half, t};
  return {t, half, t};
}

Signature signature_of(const ptx::Instruction& in) {
  const Type t = in.type();
  switch (in.opcode) {
    case Opcode::kMul:
    case Opcode::kMad: return product_signature(in);
    case Opcode::kAdd:
    case Opcode::kSub:
    case Opcode::kFma: return sum_signature(in);
    case Opcode::kMadc:
    case Opcode::kMad24:
    case Opcode::kSad:
    case Opcode::kPrmt: return {t, t, t, t};
    case Opcode::kShf: return {t, t, t, Type::kU32};
    case Opcode::kDp4a:
    case Opcode::kDp2a: return {Type::kB32, Type::kB32, Type::kB32, Type::kB32};
    case Opcode::kFns: return {Type::kB32, Type::kB32, Type::kB32, Type::kS32};
    case Opcode::kShl:
    case Opcode::kShr:
    case Opcode::kSzext: return {t, t, Type::kU32};
    case Opcode::kBfe: return {t, t, Type::kU32, Type::kU32};
    case Opcode::kBfi: return {t, t, t, Type::kU32, Type::kU32};
    case Opcode::kPopc:
    case Opcode::kClz:
    case Opcode::kBfind: return {Type::kU32, t};
    case Opcode::kTestp: return {Type::kPred, t};
    case Opcode::kSelp: return {t, t, t, Type::kPred};
    case Opcode::kSlct: return {t, t, t, in.types[1]};
    case Opcode::kMin:
    case Opcode::kMax:
      if (in.operands.size() == 4 && t == Type::kF32) return {t, t, t, t};
      return {t, t, t};
    case Opcode::kAbs:
    case Opcode::kNeg:
    case Opcode::kNot:
    case Opcode::kCnot:
    case Opcode::kBrev:
    case Opcode::kRcp:
    case Opcode::kSqrt:
    case Opcode::kRsqrt:
    case Opcode::kSin:
    case Opcode::kCos:
    case Opcode::kLg2:
    case Opcode::kEx2:
    case Opcode::kTanh: return {t, t};
    default: return {t, t, t};
  }
}

bool uses_carry(const ptx::Instruction& in) {
  return in.opcode == Opcode::kAddc || in.opcode == Opcode::kSubc || in.opcode == Opcode::kMadc ||
         in.has(Modifier::kCc);
}

// .abs stands with .xorsign for two operands, and alone for three.
bool extreme_words_fit(const ptx::Instruction& in) {
  if (in.opcode != Opcode::kMin && in.opcode != Opcode::kMax) return true;
  const bool three = in.operands.size() == 4;
  return in.has(Modifier::kXorsign) ? !three : !in.has(Modifier::kAbs) || three;
}

Combine combine_of(const ptx::Instruction& in) {
  if (in.has(Modifier::kAnd)) return Combine::kAnd;
  if (in.has(Modifier::kOr)) return Combine::kOr;
  return in.has(Modifier::kXor) ? Combine::kXor : Combine::kNone;
}

// What set writes where its comparison holds.
std::uint32_t true_bits(Type type) {
  switch (type) {
    case Type::kF32: return 0x3f800000;
    case Type::kF16: return 0x3c00;
    case Type::kF16x2: return 0x3c003c00;
    case Type::kBf16: return 0x3f80;
    case Type::kBf16x2: return 0x3f803f80;
    case Type::kU16:
    case Type::kS16: return 0xffff;
    default: return 0xffffffff;
  }
}

std::int64_t testp_classes(const ptx::Instruction& in) {
  constexpr std::int64_t kNan = 1, kInfinite = 2, kNormal = 4, kSubnormal = 8, kZero = 16;
  if (in.has(Modifier::kFinite)) return kNormal | kSubnormal | kZero;
  if (in.has(Modifier::kInfinite)) return kInfinite;
  if (in.has(Modifier::kNumber)) return kInfinite | kNormal | kSubnormal | kZero;
  if (in.has(Modifier::kNotanumber)) return kNan;
  if (in.has(Modifier::kNormal)) return kNormal;
  return kSubnormal;
}

}  // namespace

// The vectorised loops first, then the general ones.
Handler FunctionDecoder::arithmetic_handler(const ptx::Instruction& in) const {
  Handler found = handlers_.alu(in);
  if (found == nullptr) found = find_general(in);
  if (found == nullptr) refuse("unsupported instruction");
  return found;
}

void FunctionDecoder::alu(const ptx::Instruction& in, Op op) {
  if (in.opcode == Opcode::kLop3) return logic3(in, op);
  const Signature signature = signature_of(in);
  const auto count = static_cast<std::size_t>(std::find(signature.begin(), signature.end(), Type::kNone) -
                                              signature.begin());
  if (in.operands.size() != count) refuse("wrong number of operands");
  if (!extreme_words_fit(in)) refuse("unsupported instruction");
  op.run = arithmetic_handler(in);
  op.imm = in.opcode == Opcode::kTestp ? testp_classes(in) : options_of(in).bits;
  op.d = destination(in.operands[0], signature[0]);
  if (op.d == kNoSlot) refuse("a destination register expected");
  op.a = source(in.operands[1], signature[1]);
  if (count > 2) op.b = source(in.operands[2], signature[2]);
  if (count > 3) {
    op.c = signature[3] == Type::kPred ? predicate_source(in.operands[3], &op.c_negated)
                                       : source(in.operands[3], signature[3]);
  }
  if (count > 4) op.e = source(in.operands[4], signature[4]);
  if (uses_carry(in)) op.e = carry_slot();
  emit(op);
}

void FunctionDecoder::logic3(const ptx::Instruction& in, Op op) {
  const Combine combine = combine_of(in);
  const std::vector<Operand>& operands = in.operands;
  const bool with_predicate = combine != Combine::kNone;
  if (operands.size() != (with_predicate ? 6u : 5u)) refuse("wrong number of operands");
  if (operands[4].kind != ptx::OperandKind::kInteger) refuse("a table of 8 bits expected");
  const auto table = static_cast<std::uint32_t>(operands[4].value & 0xff);
  op.run = arithmetic_handler(in);
  op.a = source(operands[1], Type::kB32);
  const std::uint32_t b = source(operands[2], Type::kB32), c = source(operands[3], Type::kB32);
  if (with_predicate) {
    if (operands[0].kind != ptx::OperandKind::kPair) refuse("two destinations expected");
    op.d = destination(operands[0].elements[0], Type::kB32);
    op.e = destination(operands[0].elements[1], Type::kPred);
    op.c = predicate_source(operands[5], &op.c_negated);
    op.combine = combine;
    op.list = add_list({b, c});
    op.target = table;
  } else {
    op.d = destination(operands[0], Type::kB32);
    if (op.d == kNoSlot) refuse("a destination register expected");
    op.b = b;
    op.c = c;
    op.imm = table;
  }
  emit(op);
}

// A source register may be wider than its type, and so may the destination of an integer.
void FunctionDecoder::convert(const ptx::Instruction& in, Op op) {
  const Type to = in.types[0];
  const bool two_sources =
      in.operands.size() == 3 && in.types[1] == Type::kF32 && ptx::bytes_of(to) <= 4 &&
      (to == Type::kF16x2 || to == Type::kBf16x2 || to == Type::kE4m3x2 || to == Type::kE5m2x2);
  const std::size_t count = in.has(Modifier::kPack) ? in.type_count + 1u : two_sources ? 3 : 2;
  const bool needs_two =
      (to == Type::kF16x2 || to == Type::kBf16x2 || to == Type::kE4m3x2 || to == Type::kE5m2x2) &&
      in.types[1] == Type::kF32;
  if (in.operands.size() != count || needs_two != two_sources) refuse("wrong number of operands");
  op.imm = options_of(in).bits;
  op.target = general_types(in);
  if (in.has(Modifier::kPack)) {
    op.run = arithmetic_handler(in);
    op.d = destination(in.operands[0], Type::kB32);
    op.a = source(in.operands[1], Type::kB32);
    op.b = source(in.operands[2], Type::kB32);
    if (count == 4) op.c = source(in.operands[3], Type::kB32);
    if (op.d == kNoSlot) refuse("a destination register expected");
    return emit(op);
  }
  const Operand& d = in.operands[0];
  if (d.kind != ptx::OperandKind::kRegister) refuse("a destination register expected");
  const std::uint32_t d_bits = register_bits(d.index);
  const bool to_integer = ptx::kind_of(to) != ptx::TypeKind::kFloat;
  if (d_bits < ptx::bits_of(to) || d_bits > 64 || d_bits == 1 ||
      (!to_integer && d_bits != ptx::bits_of(to))) {
    refuse(fmt::format("register {} does not fit type .{}", name_of(function_.registers[d.index]),
                       ptx::name_of(to)));
  }
  const bool natural = d_bits == ptx::bits_of(to) && !wide_source(in.operands[1], in.types[1]);
  op.run = natural ? arithmetic_handler(in) : find_general(in);
  op.d = register_slot(d.index);
  op.register_bits = static_cast<std::uint8_t>(d_bits);
  op.a_is_64 = wide_source(in.operands[1], in.types[1]) || ptx::bits_of(in.types[1]) == 64;
  op.a = op.a_is_64 && ptx::bits_of(in.types[1]) != 64 ? register_slot(in.operands[1].index)
                                                       : source(in.operands[1], in.types[1], Fit::kAtLeast);
  if (two_sources) op.b = source(in.operands[2], in.types[1]);
  emit(op);
}

bool FunctionDecoder::wide_source(const Operand& operand, Type type) const {
  return operand.kind == ptx::OperandKind::kRegister && register_bits(operand.index) == 64 &&
         ptx::bits_of(type) < 64 && ptx::kind_of(type) != ptx::TypeKind::kFloat;
}

// A policy says how caches should keep something; any value will do.
void FunctionDecoder::cache_policy(const ptx::Instruction& in, Op op) {
  if (in.operands.empty()) refuse("wrong number of operands");
  op.run = handlers_.move64;
  op.d = destination(in.operands[0], Type::kB64);
  if (op.d == kNoSlot) refuse("a destination register expected");
  op.a = constant_slot(0, true);
  emit(op);
}

void FunctionDecoder::compare(const ptx::Instruction& in, Op op) {
  const bool is_set = in.opcode == Opcode::kSet;
  const Type type = is_set ? in.types[1] : in.type();
  const bool of_pairs = type == Type::kF16x2 || type == Type::kBf16x2;
  op.combine = combine_of(in);
  if (in.operands.size() != (op.combine == Combine::kNone ? 3u : 4u)) refuse("wrong number of operands");
  op.run = arithmetic_handler(in);
  op.imm = options_of(in).bits;
  const Operand& d = in.operands[0];
  if (is_set) {
    op.d = destination(d, in.type());
    if (op.d == kNoSlot) refuse("a destination register expected");
    op.target = true_bits(in.type());
  } else if (d.kind == ptx::OperandKind::kPair) {
    op.d = destination(d.elements[0], Type::kPred);
    op.e = destination(d.elements[1], Type::kPred);
  } else {
    if (of_pairs) refuse("two destinations expected");
    op.d = destination(d, Type::kPred);
  }
  op.a = source(in.operands[1], type);
  op.b = source(in.operands[2], type);
  if (op.combine != Combine::kNone) op.c = predicate_source(in.operands[3], &op.c_negated);
  emit(op);
}

}  // namespace refrain::simgpu
