// ld, st, atom, red, isspacep: spaces, addresses, vectors. Which bytes may be touched is checked at run time.
#include <fmt/format.h>

#include "simgpu/exec/decode.hpp"

namespace refrain::simgpu {
namespace {

bool has_cache_policy(const ptx::Instruction& in) {
  return in.text.find(".L2::cache_hint") != std::string_view::npos;
}

}  // namespace

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
  // A third operand is a policy for caches.
  if (in.operands.size() != (has_cache_policy(in) ? 3u : 2u)) refuse("wrong number of operands");
  address(in, in.operands[is_store ? 0 : 1], op);
  const Operand& value = in.operands[is_store ? 1 : 0];
  std::vector<Operand> elements =
      value.kind == ptx::OperandKind::kVector ? value.elements : std::vector{value};
  if (elements.size() != in.vector_width) refuse("the vector has another number of elements");
  if (in.type() == Type::kB128) return load_or_store_wide(in, value, op);
  const std::uint32_t bytes = ptx::bytes_of(in.type()) * in.vector_width;
  const bool may_be_wide = in.space() == ptx::Space::kGlobal && in.opcode != ptx::Opcode::kLdu;
  if (bytes > (may_be_wide ? 32u : 16u)) refuse("the vector is too large");
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
      list.push_back(destination(element, slot_type, Fit::kAtLeast));
      if (list.back() == kNoSlot && elements.size() == 1) refuse("a destination register expected");
    } else if (element.kind == ptx::OperandKind::kRegister || element.kind == ptx::OperandKind::kSpecial ||
               element.kind == ptx::OperandKind::kVariable ||
               element.kind == ptx::OperandKind::kModuleVariable) {
      list.push_back(source(element, slot_type, Fit::kAtLeast));
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

void FunctionDecoder::load_or_store_wide(const ptx::Instruction& in, const Operand& value, Op op) {
  if (in.vector_width != 1) refuse("the vector is too large");
  const auto slots = wide_slots(value);
  op.list = add_list({slots[0], slots[1]});
  op.width = 2;
  op.register_bits = 64;
  op.run =
      in.opcode == ptx::Opcode::kSt ? handlers_.store(Type::kB64, true) : handlers_.load(Type::kB64, true);
  emit(op);
}

void FunctionDecoder::is_space(const ptx::Instruction& in, Op op) {
  if (in.operands.size() != 2) refuse("wrong number of operands");
  // A cluster is one block: its shared memory is the block's.
  const bool of_cluster = in.text.find(".shared::cluster") != std::string_view::npos;
  switch (of_cluster ? ptx::Space::kShared : in.space()) {
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

// Vectors are as many atomic operations, one an element: that is all that PTX promises.
void FunctionDecoder::atomic(const ptx::Instruction& in, Op op) {
  const bool is_red = in.opcode == ptx::Opcode::kRed;
  const bool is_cas = in.has(ptx::Modifier::kCas);
  const std::size_t first = is_red ? 0 : 1;
  const std::size_t count = first + (is_cas ? 3u : 2u) + (has_cache_policy(in) ? 1u : 0u);
  if (in.operands.size() != count) refuse("wrong number of operands");
  op.run = handlers_.atomic(in);
  if (op.run == nullptr) refuse("unsupported atomic operation");
  address(in, in.operands[first], op);
  if (op.memory == Memory::kLaunchParam || op.memory == Memory::kFrameParam)
    refuse("parameters are not writable");
  const bool is_vector = in.vector_width > 1;
  const Operand& value = in.operands[first + 1];
  if (is_vector && (value.kind != ptx::OperandKind::kVector || value.elements.size() != in.vector_width)) {
    refuse("the vector has another number of elements");
  }
  const bool wide = in.type() == Type::kB128;
  const auto read = [&](const Operand& operand) {
    return wide ? wide_slots(operand)[0] : source(operand, in.type());
  };
  std::vector<Op> moves;
  for (std::uint32_t i = 0; i < in.vector_width; ++i) {
    Op element = op;
    if (!is_red) {
      const Operand& d = in.operands[0];
      if (is_vector && (d.kind != ptx::OperandKind::kVector || d.elements.size() != in.vector_width)) {
        refuse("the vector has another number of elements");
      }
      const Operand& old = is_vector ? d.elements[i] : d;
      const bool discarded = old.kind == ptx::OperandKind::kDiscard;
      element.d = discarded ? kNoSlot : wide ? wide_slots(old)[0] : destination(old, in.type());
      if (is_vector && !discarded) {
        // A register that gets an old value may be one that a later element reads.
        Op move = op;
        move.run = handlers_.move32;
        move.d = element.d;
        move.a = element.d = scratch_slot(false);
        moves.push_back(move);
      }
    }
    element.b = read(is_vector ? value.elements[i] : value);
    if (is_cas) element.c = read(in.operands[first + 2]);
    element.imm += static_cast<std::int64_t>(i) * ptx::bytes_of(in.type());
    emit(element);
  }
  for (const Op& move : moves) emit(move);
}

}  // namespace refrain::simgpu
