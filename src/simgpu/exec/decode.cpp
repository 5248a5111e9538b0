// One function's instructions to operations, family by family, and a kernel out of its functions.
// Operands are in decode_operands.cpp, memory and calls in their own files.
#include "simgpu/exec/decode.hpp"

#include <fmt/format.h>

#include <algorithm>

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

// The types of destination and sources of an arithmetic instruction.
struct Signature {
  Type d, a, b, c, e;
};

Signature signature_of(const ptx::Instruction& in) {
  const Type t = in.type();
  switch (in.opcode) {
    case Opcode::kMul:
    case Opcode::kMad:
      if (in.has(Modifier::kWide)) return {doubled(t), t, t, doubled(t), Type::kNone};
      return {t, t, t, t, t};
    case Opcode::kShl:
    case Opcode::kShr: return {t, t, Type::kU32, Type::kNone, Type::kNone};
    case Opcode::kBfe: return {t, t, Type::kU32, Type::kU32, Type::kNone};
    case Opcode::kBfi: return {t, t, t, Type::kU32, Type::kU32};
    case Opcode::kPopc:
    case Opcode::kClz:
    case Opcode::kBfind: return {Type::kU32, t, Type::kNone, Type::kNone, Type::kNone};
    case Opcode::kCvt: return {t, in.types[1], Type::kNone, Type::kNone, Type::kNone};
    case Opcode::kTestp: return {Type::kPred, t, Type::kNone, Type::kNone, Type::kNone};
    case Opcode::kSelp: return {t, t, t, Type::kPred, Type::kNone};
    case Opcode::kSlct: return {t, t, t, in.types[1], Type::kNone};
    default: return {t, t, t, t, t};
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

// Which unit executes an instruction; roughly, as PTX is not what a device executes.
Cost cost_of(const ptx::Instruction& in) {
  switch (ptx::class_of(in.opcode)) {
    case ptx::OpcodeClass::kLoad:
    case ptx::OpcodeClass::kStore:
    case ptx::OpcodeClass::kAtomic:
    case ptx::OpcodeClass::kReduction:
    case ptx::OpcodeClass::kAsyncCopy:
    case ptx::OpcodeClass::kTexture: return Cost::kMemory;
    case ptx::OpcodeClass::kMatrix: return Cost::kTensor;
    case ptx::OpcodeClass::kWarp:
    case ptx::OpcodeClass::kBarrier:
    case ptx::OpcodeClass::kFence:
    case ptx::OpcodeClass::kControl:
    case ptx::OpcodeClass::kCall:
    case ptx::OpcodeClass::kHint:
    case ptx::OpcodeClass::kUnknown: return Cost::kControl;
    case ptx::OpcodeClass::kConvert: return Cost::kSpecial;
    default: break;
  }
  switch (in.opcode) {
    case Opcode::kRcp:
    case Opcode::kSqrt:
    case Opcode::kRsqrt:
    case Opcode::kSin:
    case Opcode::kCos:
    case Opcode::kLg2:
    case Opcode::kEx2:
    case Opcode::kTanh:
    case Opcode::kDiv:
    case Opcode::kRem:
    case Opcode::kPopc:
    case Opcode::kClz:
    case Opcode::kBrev:
    case Opcode::kBfind: return Cost::kSpecial;
    default: break;
  }
  if (in.type() == Type::kF64) return Cost::kFloat64;
  return ptx::kind_of(in.type()) == ptx::TypeKind::kFloat ? Cost::kFloat32 : Cost::kInteger;
}

// Opcodes that may be left out: they order or hint what is in order anyway.
bool has_no_effect(Opcode opcode) {
  return opcode == Opcode::kMembar || opcode == Opcode::kFence || opcode == Opcode::kPrefetch ||
         opcode == Opcode::kNanosleep || opcode == Opcode::kPmevent;
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
  if (!modifiers_supported(in)) refuse("unsupported instruction");
  note_order(in);
  Op op;
  op.line = in.line;
  op.cost = cost_of(in);
  if (in.guard != ptx::Instruction::kNoGuard) {
    op.guard = register_slot(in.guard);
    op.guard_negated = in.guard_negated;
  }
  if (has_no_effect(in.opcode)) return;
  switch (in.opcode) {
    case Opcode::kMov: return move(in, op);
    case Opcode::kCvta: return convert_address(in, op);
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
    case Opcode::kActivemask: return warp_exchange(in, op);
    case Opcode::kBar:
    case Opcode::kBarrier: return barrier(in, op);
    case Opcode::kCall: return call(in, op);
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

// Whether anything reads a destination register: compilers write atom where red would do.
bool FunctionDecoder::is_read(const Operand& destination) {
  if (destination.kind == ptx::OperandKind::kDiscard) return false;
  if (destination.kind != ptx::OperandKind::kRegister) return true;
  if (mentions_.empty()) {
    mentions_.resize(function_.registers.size());
    for (const ptx::Instruction& in : function_.body) {
      for_operands(in.operands, [&](const Operand& operand) {
        const bool names =
            operand.kind == ptx::OperandKind::kRegister ||
            (operand.kind == ptx::OperandKind::kAddress && operand.base == ptx::AddressBase::kRegister);
        if (names) ++mentions_[operand.index];
      });
    }
  }
  return mentions_[destination.index] > 1;
}

// Whether blocks could see in which order they run. When in doubt they could.
void FunctionDecoder::note_order(const ptx::Instruction& in) {
  const bool shared_by_blocks = in.space() == ptx::Space::kGlobal || in.space() == ptx::Space::kGeneric;
  switch (in.opcode) {
    case Opcode::kAtom:
    case Opcode::kRed: {
      if (!shared_by_blocks) return;
      const bool result = in.opcode == Opcode::kAtom && is_read(in.operands[0]);
      const bool commutes = in.has(Modifier::kAdd) || in.has(Modifier::kMin) || in.has(Modifier::kMax) ||
                            in.has(Modifier::kAnd) || in.has(Modifier::kOr) || in.has(Modifier::kXor);
      const bool is_float = ptx::kind_of(in.type()) == ptx::TypeKind::kFloat;
      if (result || !commutes) {
        code_.needs_order = true;
      } else if (is_float) {
        code_.adds_floats = true;
      }
      return;
    }
    case Opcode::kLd:
      if (shared_by_blocks && (in.has(Modifier::kVolatile) || in.has(Modifier::kRelaxed) ||
                               in.has(Modifier::kAcquire) || in.has(Modifier::kMmio))) {
        code_.needs_order = true;
      }
      return;
    case Opcode::kMov:
      for (const Operand& operand : in.operands) {
        if (operand.kind == ptx::OperandKind::kSpecial &&
            ptx::kind_of(static_cast<ptx::SpecialRegister>(operand.index)) == ptx::SpecialKind::kClock) {
          code_.needs_order = true;
        }
      }
      return;
    case Opcode::kCall: {
      const bool known = in.operands[1].kind == ptx::OperandKind::kFunction &&
                         (image_.module->functions[in.operands[1].index].is_defined ||
                          builtin_of(image_.module->functions[in.operands[1].index]) == Builtin::kAssertFail);
      if (!known) code_.needs_order = true;
      return;
    }
    default: return;
  }
}

void FunctionDecoder::alu(const ptx::Instruction& in, Op op) {
  const Signature signature = signature_of(in);
  const std::size_t count = in.operands.size();
  if (count < 2 || count > 5) refuse("wrong number of operands");
  op.run = handlers_.alu(in);
  if (in.opcode == Opcode::kCvt && in.operands[0].kind == ptx::OperandKind::kRegister &&
      register_bits(in.operands[0].index) == 16) {
    op.run = handlers_.convert_narrow(in);
  }
  if (op.run == nullptr) refuse("unsupported instruction");
  if (in.opcode == Opcode::kLop3) {
    if (count != 5 || in.operands[4].kind != ptx::OperandKind::kInteger) refuse("unsupported form of lop3");
    op.imm = in.operands[4].value & 0xff;
  }
  if (in.opcode == Opcode::kTestp) op.imm = testp_classes(in);
  op.d = destination(in.operands[0], signature.d);
  if (op.d == kNoSlot) refuse("a destination register expected");
  op.a = source(in.operands[1], signature.a);
  if (count > 2) op.b = source(in.operands[2], signature.b);
  if (count > 3) {
    op.c = signature.c == Type::kPred ? predicate_source(in.operands[3], &op.c_negated)
                                      : source(in.operands[3], signature.c);
  }
  if (count > 4 && in.opcode != Opcode::kLop3) op.e = source(in.operands[4], signature.e);
  const std::size_t needed = ptx::roles_of(in.opcode).size();
  const bool optional_last = in.opcode == Opcode::kCvt || in.opcode == Opcode::kLop3;
  if (!optional_last && count != needed) refuse("wrong number of operands");
  if (in.opcode == Opcode::kCvt && count != 2) refuse("unsupported form of cvt");
  emit(op);
}

void FunctionDecoder::compare(const ptx::Instruction& in, Op op) {
  if (in.operands.size() < 3 || in.operands.size() > 4) refuse("wrong number of operands");
  op.run = handlers_.alu(in);
  if (op.run == nullptr) refuse("unsupported comparison");
  const bool is_set = in.opcode == Opcode::kSet;
  const Type type = is_set ? in.types[1] : in.type();
  const Operand& d = in.operands[0];
  if (is_set) {
    if (ptx::bits_of(in.type()) != 32) refuse("unsupported result type");
    op.d = destination(d, in.type());
    op.imm = in.type() == Type::kF32 ? 0x3f800000 : 0xffffffff;
  } else if (d.kind == ptx::OperandKind::kPair) {
    op.d = destination(d.elements[0], Type::kPred);
    op.e = destination(d.elements[1], Type::kPred);
  } else {
    op.d = destination(d, Type::kPred);
  }
  op.a = source(in.operands[1], type);
  op.b = source(in.operands[2], type);
  if (in.operands.size() == 4) {
    op.c = predicate_source(in.operands[3], &op.c_negated);
    op.combine = in.has(Modifier::kAnd)   ? Combine::kAnd
                 : in.has(Modifier::kOr)  ? Combine::kOr
                 : in.has(Modifier::kXor) ? Combine::kXor
                                          : Combine::kNone;
    if (op.combine == Combine::kNone) refuse("how to combine the predicate is not said");
  }
  emit(op);
}

void FunctionDecoder::move_vector(const ptx::Instruction& in, Op op) {
  const bool unpack = in.operands[0].kind == ptx::OperandKind::kVector;
  const Operand& whole = in.operands[unpack ? 1 : 0];
  const Operand& parts = in.operands[unpack ? 0 : 1];
  const std::uint32_t bits = ptx::bits_of(in.type());
  const auto count = static_cast<std::uint32_t>(parts.elements.size());
  if (bits > 64 || count < 2 || bits / count > 32 || bits % count != 0) refuse("unsupported vector");
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

void FunctionDecoder::move(const ptx::Instruction& in, Op op) {
  if (in.operands.size() != 2) refuse("wrong number of operands");
  const Operand& from = in.operands[1];
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
  } else if (!in.has(Modifier::kSync)) {
    refuse("unsupported barrier");
  }
  if (end - next < 1 || end - next > 2) refuse("wrong number of operands");
  op.a = source(operands[next], Type::kU32);
  if (end - next == 2) op.b = source(operands[next + 1], Type::kU32);
  emit(op);
}

std::unique_ptr<Program> decode_kernel(const ModuleImage& image, std::uint32_t entry) {
  const LayoutPlan layout = plan_layout(*image.module, entry);
  auto program = std::make_unique<Program>();
  program->static_shared_bytes = layout.static_shared_bytes;
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
