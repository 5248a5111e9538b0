// ld, st, atom, red, isspacep: spaces, addresses, vectors. Which bytes may be touched is checked at run time.
#include <fmt/format.h>

#include "simgpu/exec/decode.hpp"

namespace refrain::simgpu {

Memory FunctionDecoder::memory_of(const ptx::Instruction& in, const Operand& operand) const {
  switch (in.space()) {
    case ptx::Space::kGlobal:
    case ptx::Space::kConst: return Memory::kGlobal;
    case ptx::Space::kShared: return Memory::kShared;
    case ptx::Space::kLocal: return Memory::kLocal;
    case ptx::Space::kGeneric: return Memory::kGeneric;
    case ptx::Space::kParam: break;
  }
  // An entry's own parameters are those of the launch; everything else in this space belongs to a call.
  const bool own = operand.base != ptx::AddressBase::kVariable || operand.index < function_.param_count;
  return function_.is_entry && own ? Memory::kLaunchParam : Memory::kFrameParam;
}

void FunctionDecoder::address(const ptx::Instruction& in, const Operand& operand, Op& op) {
  if (operand.kind != ptx::OperandKind::kAddress || !operand.elements.empty()) refuse("an address expected");
  op.memory = memory_of(in, operand);
  op.imm = operand.value;
  Operand base;
  base.index = operand.index;
  switch (operand.base) {
    case ptx::AddressBase::kNone: return;
    case ptx::AddressBase::kRegister: {
      const Type have = function_.registers[operand.index].type;
      if (have == Type::kPred || ptx::bits_of(have) < 32) refuse("an address register has 32 or 64 bits");
      op.a = register_slot(operand.index);
      op.a_is_64 = ptx::bits_of(have) == 64;
      return;
    }
    case ptx::AddressBase::kVariable: base.kind = ptx::OperandKind::kVariable; break;
    case ptx::AddressBase::kModuleVariable: base.kind = ptx::OperandKind::kModuleVariable; break;
  }
  const ptx::Variable& variable = operand.base == ptx::AddressBase::kVariable
                                      ? function_.variables[operand.index]
                                      : image_.module->variables[operand.index];
  const bool matches = variable.space == in.space() ||
                       (in.space() == ptx::Space::kGeneric && variable.space == ptx::Space::kGlobal);
  if (!matches) {
    refuse(fmt::format("'{}' is in .{} memory", variable.name, ptx::name_of(variable.space)));
  }
  if (is_local_variable(base)) {
    op.imm += static_cast<std::int64_t>(offsets_[operand.index]);
    op.relative = Relative::kLocalFrame;
  } else {
    op.imm += static_cast<std::int64_t>(variable_address(base));
  }
}

void FunctionDecoder::load_or_store(const ptx::Instruction& in, Op op) {
  const bool is_store = in.opcode == ptx::Opcode::kSt;
  if (in.operands.size() != 2) refuse("wrong number of operands");
  address(in, in.operands[is_store ? 0 : 1], op);
  const Operand& value = in.operands[is_store ? 1 : 0];
  std::vector<Operand> elements =
      value.kind == ptx::OperandKind::kVector ? value.elements : std::vector{value};
  if (elements.size() != in.vector_width) refuse("the vector has another number of elements");
  if (in.type_count != 1 || in.type() == Type::kPred) refuse("unsupported type");
  // A register may be wider than what is loaded or stored, but all of a vector's are alike.
  bool wide = ptx::bits_of(in.type()) == 64;
  for (const Operand& element : elements) {
    if (element.kind == ptx::OperandKind::kRegister) {
      wide = register_bits(element.index) == 64;
      op.register_bits = static_cast<std::uint8_t>(register_bits(element.index));
    }
  }
  const Type slot_type = wide ? Type::kB64 : Type::kB32;
  if (ptx::bits_of(in.type()) > (wide ? 64u : 32u)) refuse("the register is too narrow");
  std::vector<std::uint32_t> list;
  for (const Operand& element : elements) {
    if (!is_store) {
      list.push_back(destination(element, slot_type));
      if (list.back() == kNoSlot && elements.size() == 1) refuse("a destination register expected");
    } else if (element.kind == ptx::OperandKind::kRegister || element.kind == ptx::OperandKind::kSpecial ||
               element.kind == ptx::OperandKind::kVariable ||
               element.kind == ptx::OperandKind::kModuleVariable) {
      list.push_back(source(element, slot_type));
    } else {
      list.push_back(constant_slot(immediate_bits(element, in.type()), wide));
    }
  }
  op.list = add_list(list);
  op.width = in.vector_width;
  op.run = is_store ? handlers_.store(in.type(), wide) : handlers_.load(in.type(), wide);
  if (op.run == nullptr) refuse("unsupported type");
  emit(op);
}

void FunctionDecoder::is_space(const ptx::Instruction& in, Op op) {
  if (in.operands.size() != 2) refuse("wrong number of operands");
  switch (in.space()) {
    case ptx::Space::kShared: op.imm = static_cast<std::int64_t>(kSharedWindow); break;
    case ptx::Space::kLocal: op.imm = static_cast<std::int64_t>(kLocalWindow); break;
    case ptx::Space::kParam: op.imm = static_cast<std::int64_t>(kParamWindow); break;
    case ptx::Space::kGlobal: op.imm = 0; break;
    default:
      refuse("unsupported state space");  // constants lie in global memory here and cannot be told apart
  }
  op.run = handlers_.isspacep;
  op.d = destination(in.operands[0], Type::kPred);
  if (op.d == kNoSlot) refuse("a destination register expected");
  op.a = source(in.operands[1], Type::kB64);
  emit(op);
}

void FunctionDecoder::atomic(const ptx::Instruction& in, Op op) {
  const bool is_red = in.opcode == ptx::Opcode::kRed;
  const bool is_cas = in.has(ptx::Modifier::kCas);
  const std::size_t first = is_red ? 0 : 1;
  if (in.operands.size() != first + (is_cas ? 3u : 2u)) refuse("wrong number of operands");
  op.run = handlers_.atomic(in);
  if (op.run == nullptr) refuse("unsupported atomic operation");
  address(in, in.operands[first], op);
  if (op.memory == Memory::kLaunchParam || op.memory == Memory::kFrameParam)
    refuse("parameters are not writable");
  if (!is_red) op.d = destination(in.operands[0], in.type());
  op.b = source(in.operands[first + 1], in.type());
  if (is_cas) op.c = source(in.operands[first + 2], in.type());
  emit(op);
}

}  // namespace refrain::simgpu
