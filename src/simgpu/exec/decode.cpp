// One function's instructions to operations, family by family, and a kernel out of its functions.
// Operands are in decode_operands.cpp, memory and calls in their own files.
#include "simgpu/exec/decode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

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

// Opcodes that may be left out: they order or hint what is in order anyway.
bool has_no_effect(Opcode opcode) {
  switch (opcode) {
    case Opcode::kMembar:
    case Opcode::kFence:
    case Opcode::kPrefetch:
    case Opcode::kPrefetchu:
    case Opcode::kApplypriority:
    case Opcode::kDiscard:
    case Opcode::kPmevent:
    case Opcode::kGriddepcontrol:
    case Opcode::kSetmaxnreg: return true;
    default: return false;
  }
}

}  // namespace

FunctionDecoder::FunctionDecoder(const ModuleImage& image, const LayoutPlan& layout,
                                 const ptx::Function& function,
                                 const std::unordered_map<std::uint32_t, Code*>& codes, Code& code)
    : image_(image),
      layout_(layout),
      function_(function),
      codes_(codes),
      code_(code),
      handlers_(handlers()),
      slots_(function.registers.size(), kNoSlot) {}

void FunctionDecoder::refuse(const std::string& why) const {
  throw LoadError(fmt::format("line {}: '{}' in {}: {}",
                              current_ != nullptr ? current_->line : function_.line,
                              current_ != nullptr ? current_->text : "", function_.name, why));
}

void FunctionDecoder::run() {
  code_.name = function_.name;
  layout_variables();
  std::vector<std::uint32_t> starts;
  starts.reserve(function_.body.size() + 1);
  for (const ptx::Instruction& in : function_.body) {
    starts.push_back(static_cast<std::uint32_t>(code_.ops.size()));
    current_ = &in;
    instruction(in);
  }
  starts.push_back(static_cast<std::uint32_t>(code_.ops.size()));
  Op end;
  end.kind = OpKind::kReturn;
  emit(end);
  for (Op& op : code_.ops) {
    if (op.kind == OpKind::kBranch) op.target = starts[op.target];
  }
  current_ = nullptr;
  patch_slots();
  order_blocks(code_.ops);
}

void FunctionDecoder::instruction(const ptx::Instruction& in) {
  if (in.opcode == Opcode::kUnknown) refuse("unknown opcode");
  if (!is_supported_form(in)) refuse("unsupported instruction");
  note_order(in);
  Op op;
  op.line = in.line;
  op.cost = cost_of(in);
  op.location = in.location;
  if (in.guard != ptx::Instruction::kNoGuard) {
    op.guard = register_slot(in.guard);
    op.guard_negated = in.guard_negated;
  }
  if (has_no_effect(in.opcode)) return;
  switch (in.opcode) {
    case Opcode::kMov: return move(in, op);
    case Opcode::kCvt: return convert(in, op);
    case Opcode::kCvta: return convert_address(in, op);
    case Opcode::kCreatepolicy: return cache_policy(in, op);
    case Opcode::kIsspacep: return is_space(in, op);
    case Opcode::kLd:
    case Opcode::kLdu:
    case Opcode::kSt: return load_or_store(in, op);
    case Opcode::kAtom:
    case Opcode::kRed: return atomic(in, op);
    case Opcode::kSetp:
    case Opcode::kSet: return compare(in, op);
    case Opcode::kShfl:
    case Opcode::kVote:
    case Opcode::kMatch:
    case Opcode::kRedux:
    case Opcode::kElect:
    case Opcode::kActivemask: return warp_exchange(in, op);
    case Opcode::kBar:
    case Opcode::kBarrier: return barrier(in, op);
    case Opcode::kMma: return matrix_product(in, op);
    case Opcode::kWmma:
      return in.text.starts_with("wmma.mma") ? matrix_product(in, op) : move_fragment(in, op);
    case Opcode::kLdmatrix:
    case Opcode::kStmatrix: return small_matrices(in, op);
    case Opcode::kMovmatrix: return transpose(in, op);
    case Opcode::kCp: return async_copy(in, op);
    case Opcode::kCall: return call(in, op);
    case Opcode::kBrx: return branch_indexed(in, op);
    case Opcode::kAlloca: return allocate_local(in, op);
    case Opcode::kStacksave:
    case Opcode::kStackrestore: return move_stack(in, op);
    case Opcode::kNanosleep: op.kind = OpKind::kYield; return emit(op);
    case Opcode::kBra:
      if (in.operands.size() != 1 || in.operands[0].kind != ptx::OperandKind::kLabel)
        refuse("a label expected");
      op.kind = OpKind::kBranch;
      op.target = in.operands[0].index;
      return emit(op);
    case Opcode::kRet: op.kind = OpKind::kReturn; return emit(op);
    case Opcode::kExit: op.kind = OpKind::kExit; return emit(op);
    case Opcode::kTrap:
    case Opcode::kBrkpt: op.kind = OpKind::kTrap; return emit(op);
    default: return alu(in, op);
  }
}

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

void FunctionDecoder::move_vector(const ptx::Instruction& in, Op op) {
  const bool unpack = in.operands[0].kind == ptx::OperandKind::kVector;
  const Operand& whole = in.operands[unpack ? 1 : 0];
  const Operand& parts = in.operands[unpack ? 0 : 1];
  const std::uint32_t bits = ptx::bits_of(in.type());
  const auto count = static_cast<std::uint32_t>(parts.elements.size());
  if (count < 2 || bits / count > 32 || bits % count != 0) refuse("unsupported vector");
  const Type element = bits / count == 32 ? Type::kB32 : bits / count == 16 ? Type::kB16 : Type::kB8;
  std::vector<std::uint32_t> list;
  for (const Operand& part : parts.elements) {
    list.push_back(unpack ? destination(part, element) : source(part, element));
  }
  op.run = unpack ? handlers_.unpack : handlers_.pack;
  op.width = static_cast<std::uint8_t>(count);
  op.list = add_list(list);
  op.imm = bits / count;
  op.a_is_64 = bits == 64;
  (unpack ? op.a : op.d) = unpack ? source(whole, in.type()) : destination(whole, in.type());
  emit(op);
}

// 128 bits: two halves of 64 each.
void FunctionDecoder::move_wide(const ptx::Instruction& in, Op op) {
  const auto halves = [&](const Operand& operand, bool is_source) -> std::array<std::uint32_t, 2> {
    if (operand.kind != ptx::OperandKind::kVector) return wide_slots(operand);
    if (operand.elements.size() != 2) refuse("unsupported vector");
    std::array<std::uint32_t, 2> slots{};
    for (std::size_t i = 0; i < 2; ++i) {
      slots[i] =
          is_source ? source(operand.elements[i], Type::kB64) : destination(operand.elements[i], Type::kB64);
    }
    return slots;
  };
  const auto to = halves(in.operands[0], false), from = halves(in.operands[1], true);
  for (std::size_t i = 0; i < 2; ++i) {
    if (to[i] == kNoSlot) continue;
    Op half = op;
    half.run = handlers_.move64;
    half.d = to[i];
    half.a = from[i];
    emit(half);
  }
}

void FunctionDecoder::move(const ptx::Instruction& in, Op op) {
  if (in.operands.size() != 2) refuse("wrong number of operands");
  const Operand& from = in.operands[1];
  if (in.type() == Type::kB128) return move_wide(in, op);
  if (in.operands[0].kind == ptx::OperandKind::kVector || from.kind == ptx::OperandKind::kVector) {
    return move_vector(in, op);
  }
  op.d = destination(in.operands[0], in.type());
  if (op.d == kNoSlot) refuse("a destination register expected");
  op.a_is_64 = ptx::bits_of(in.type()) == 64;
  const auto special = static_cast<ptx::SpecialRegister>(from.index);
  if (in.type() == Type::kPred) {
    op.run = handlers_.move_predicate;
    op.a = predicate_source(from, &op.c_negated);
  } else if (from.kind == ptx::OperandKind::kSpecial && ptx::kind_of(special) == ptx::SpecialKind::kClock) {
    op.run = handlers_.clock;
    op.imm = from.index;
  } else if (is_local_variable(from)) {
    op.run = handlers_.local_address;
    op.imm = static_cast<std::int64_t>(offsets_[from.index]) + from.value;
  } else {
    op.run = op.a_is_64 ? handlers_.move64 : handlers_.move32;
    op.a = source(from, in.type());
  }
  emit(op);
}

// cvta between a space and generic addresses: a window is added or taken away.
void FunctionDecoder::convert_address(const ptx::Instruction& in, Op op) {
  if (in.operands.size() != 2 || ptx::bits_of(in.type()) != 64) refuse("only 64-bit addresses are supported");
  std::uint64_t window = 0;
  switch (in.space()) {
    case ptx::Space::kShared: window = kSharedWindow; break;
    case ptx::Space::kLocal: window = kLocalWindow; break;
    case ptx::Space::kParam: window = kParamWindow; break;
    case ptx::Space::kGlobal:
    case ptx::Space::kConst: break;
    case ptx::Space::kGeneric: refuse("a state space expected");
  }
  op.d = destination(in.operands[0], Type::kB64);
  if (op.d == kNoSlot) refuse("a destination register expected");
  if (is_local_variable(in.operands[1])) {
    Op base = op;
    base.run = handlers_.local_address;
    base.a_is_64 = true;
    base.imm = static_cast<std::int64_t>(offsets_[in.operands[1].index]) + in.operands[1].value;
    emit(base);
    op.a = op.d;
  } else {
    op.a = source(in.operands[1], Type::kB64);
  }
  if (window == 0) {
    op.run = handlers_.move64;
    return emit(op);
  }
  ptx::Instruction logic;
  logic.types[0] = Type::kB64;
  logic.opcode = in.has(Modifier::kTo) ? Opcode::kAnd : Opcode::kOr;
  op.run = handlers_.alu(logic);
  op.b = constant_slot(in.has(Modifier::kTo) ? ~kWindowMask : window, true);
  emit(op);
}

void FunctionDecoder::warp_exchange(const ptx::Instruction& in, Op op) {
  op.run = handlers_.warp(in);
  if (op.run == nullptr) refuse("unsupported instruction");
  const std::vector<Operand>& operands = in.operands;
  const std::size_t count = operands.size();
  if (in.opcode == Opcode::kActivemask) {
    if (count != 1) refuse("wrong number of operands");
    op.d = destination(operands[0], Type::kB32);
    return emit(op);
  }
  if (in.opcode == Opcode::kElect) {
    if (count != 2 || operands[0].kind != ptx::OperandKind::kPair)
      refuse("two destinations and a mask expected");
    op.d = destination(operands[0].elements[0], Type::kB32);
    op.e = destination(operands[0].elements[1], Type::kPred);
    op.kind = OpKind::kWarpSync;
    op.list = add_list({source(operands[1], Type::kB32)});
    return emit(op);
  }
  const bool is_shuffle = in.opcode == Opcode::kShfl;
  if (!in.has(Modifier::kSync)) refuse("only the .sync form exists on this device");
  if (count != (is_shuffle ? 5u : 3u)) refuse("wrong number of operands");
  const Operand& d = operands[0];
  const bool to_predicate = in.opcode == Opcode::kVote && in.type() == Type::kPred;
  const Type d_type = to_predicate ? Type::kPred : Type::kB32;
  op.d = destination(d.kind == ptx::OperandKind::kPair ? d.elements[0] : d, d_type);
  if (d.kind == ptx::OperandKind::kPair) op.e = destination(d.elements[1], Type::kPred);
  if (op.d == kNoSlot && !is_shuffle) refuse("a destination register expected");
  op.a = in.opcode == Opcode::kVote ? predicate_source(operands[1], &op.c_negated)
                                    : source(operands[1], in.type());
  if (is_shuffle) {
    op.b = source(operands[2], Type::kB32);
    op.c = source(operands[3], Type::kB32);
  }
  op.kind = OpKind::kWarpSync;
  op.target = static_cast<std::uint32_t>(options_of(in).bits);
  op.list = add_list({source(operands[count - 1], Type::kB32)});
  emit(op);
}

void FunctionDecoder::barrier(const ptx::Instruction& in, Op op) {
  const std::vector<Operand>& operands = in.operands;
  if (in.has(Modifier::kWarp)) {
    if (operands.size() != 1) refuse("wrong number of operands");
    op.kind = OpKind::kWarpSync;
    op.run = handlers_.nothing;
    op.list = add_list({source(operands[0], Type::kB32)});
    op.imm = 1;  // nothing but waiting
    return emit(op);
  }
  op.kind = OpKind::kBarrier;
  op.aligned = in.opcode == Opcode::kBar || in.has(Modifier::kAligned);
  std::size_t next = 0;
  std::size_t end = operands.size();
  if (in.has(Modifier::kRed)) {
    if (end < 3) refuse("wrong number of operands");
    const bool popc = in.has(Modifier::kPopc);
    op.d = destination(operands[next++], popc ? Type::kU32 : Type::kPred);
    if (op.d == kNoSlot) refuse("a destination register expected");
    op.combine = popc ? Combine::kNone : in.has(Modifier::kAnd) ? Combine::kAnd : Combine::kOr;
    op.c = predicate_source(operands[--end], &op.c_negated);
  }
  const bool arrive = in.has(Modifier::kArrive);
  if (arrive) op.kind = OpKind::kArrive;
  if (end - next < (arrive ? 2 : 1) || end - next > 2) refuse("wrong number of operands");
  op.a = source(operands[next], Type::kU32);
  if (end - next == 2) op.b = source(operands[next + 1], Type::kU32);
  emit(op);
}

std::unique_ptr<Program> decode_kernel(const ModuleImage& image, std::uint32_t entry) {
  const LayoutPlan layout = plan_layout(*image.module, entry);
  auto program = std::make_unique<Program>();
  program->static_shared_bytes = layout.static_shared_bytes;
  program->files = image.module->files;
  program->locations = image.module->locations;
  std::unordered_map<std::uint32_t, Code*> codes;
  for (const std::uint32_t function : layout.functions) {
    program->codes.push_back(std::make_unique<Code>());
    codes.emplace(function, program->codes.back().get());
  }
  for (const std::uint32_t function : layout.functions) {
    Code& code = *codes.at(function);
    FunctionDecoder(image, layout, image.module->functions[function], codes, code).run();
    program->needs_order |= code.needs_order;
    program->adds_floats |= code.adds_floats;
  }
  return program;
}

}  // namespace refrain::simgpu
