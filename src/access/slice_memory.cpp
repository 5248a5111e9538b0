// Loads, stores and what else touches memory, as steps of a slice. What is loaded is unknown, but for
// parameters, and for integers that may be known when the kernel is launched. It must never leave an access
// to global memory out.
#include "access/slice_builder.hpp"

namespace refrain::access {

using ptx::AddressBase;
using ptx::Instruction;
using ptx::Opcode;
using ptx::OpcodeClass;
using ptx::Operand;
using ptx::OperandKind;
using ptx::Space;

namespace {

// Global memory, or perhaps: a generic address.
bool may_be_global(Space space) {
  return space == Space::kGlobal || space == Space::kGeneric;
}

bool waits_for_others(const Instruction& in) {
  using ptx::Modifier;
  for (const Modifier modifier : {Modifier::kVolatile, Modifier::kRelaxed, Modifier::kAcquire, Modifier::kSc,
                                  Modifier::kMmio, Modifier::kCv}) {
    if (in.has(modifier)) return true;
  }
  return false;
}

}  // namespace

void SliceBuilder::access(const Frame& frame, const Operand& address, std::uint32_t bytes, bool reads,
                          bool writes) {
  if (address.kind == OperandKind::kAddress &&
      (address.base == AddressBase::kVariable || address.base == AddressBase::kModuleVariable)) {
    return;  // not through a pointer
  }
  Operand base;
  base.kind = OperandKind::kRegister;
  base.index = address.index;
  const bool by_register = address.kind == OperandKind::kAddress && address.base == AddressBase::kRegister;
  const std::uint32_t slot = by_register ? slot_of(frame, base) : constant(0);
  Step& step = emit(StepKind::kAccess, Step::kNone);
  step.a = slot;
  step.value = address.value;
  step.bytes = bytes;
  step.reads = reads;
  step.writes = writes;
}

// By an address that cannot be told.
void SliceBuilder::wild_access() {
  const std::uint32_t slot = temporary(StepKind::kUnknown, 64, false, Step::kNone);
  Step& step = emit(StepKind::kAccess, Step::kNone);
  step.a = slot;
  step.reads = step.writes = true;
}

void SliceBuilder::decode_param_load(Frame& frame, const Instruction& in) {
  const Operand& to = in.operands[0];
  const Operand& from = in.operands[1];
  const unsigned bits = ptx::bits_of(in.type());
  const bool whole = from.base == AddressBase::kVariable && bits <= 64 && bits >= 8;
  if (!whole) return unknown(frame, to);
  const bool of_kernel = frame.caller == nullptr && from.index < kernel_.param_count;
  const auto load = [&](const Operand& part, std::int64_t offset) {
    if (part.kind != OperandKind::kRegister) return;
    const std::uint32_t out = frame.first_slot + part.index;
    if (of_kernel) {
      Step& step = emit(StepKind::kParam, out, bits, ptx::kind_of(in.type()) == ptx::TypeKind::kSigned);
      step.value = static_cast<std::int64_t>(kernel_.variables[from.index].offset_bytes) + offset;
      return;
    }
    const auto cell = frame.cells.find({from.index, offset, bits});
    if (cell == frame.cells.end()) {
      emit(StepKind::kUnknown, out);
    } else {
      emit(StepKind::kMove, out, bits, false, cell->second);
    }
  };
  if (to.kind != OperandKind::kVector) return load(to, from.value);
  for (std::size_t i = 0; i < to.elements.size(); ++i) {
    load(to.elements[i], from.value + static_cast<std::int64_t>(i) * (bits / 8));
  }
}

void SliceBuilder::decode_load(Frame& frame, const Instruction& in) {
  if (in.space() == Space::kParam) return decode_param_load(frame, in);
  if (may_be_global(in.space()) && in.opcode != Opcode::kLdmatrix) {
    access(frame, in.operands[1], ptx::bytes_of(in.type()) * in.vector_width, true, false);
  }
  if (!load_integers(frame, in)) unknown(frame, in.operands[0]);
}

// What the memory held when the kernel was launched is what a plain load finds, unless the kernel itself has
// written there; one that says that others write meanwhile may find anything.
bool SliceBuilder::load_integers(Frame& frame, const Instruction& in) {
  const Operand& to = in.operands[0];
  const Operand& from = in.operands[1];
  const bool plain = in.opcode == Opcode::kLd || in.opcode == Opcode::kLdu;
  if (!plain || !may_be_global(in.space()) || !is_integer(in.type()) || waits_for_others(in)) return false;
  if (from.kind != OperandKind::kAddress || from.base != AddressBase::kRegister) return false;
  const unsigned bits = ptx::bits_of(in.type());
  if (bits < 8 || bits > 64) return false;
  Operand base;
  base.kind = OperandKind::kRegister;
  base.index = from.index;
  // What is loaded first may be what the address is in.
  const std::uint32_t address = temporary(StepKind::kMove, 64, false, slot_of(frame, base));
  const auto load = [&](const Operand& part, std::int64_t offset) {
    if (part.kind != OperandKind::kRegister) return;
    const unsigned held = ptx::bits_of(frame.function->registers[part.index].type);
    // A register that the value fills has the same bits either way.
    const bool is_signed = ptx::kind_of(in.type()) == ptx::TypeKind::kSigned || held == bits;
    Step& step = emit(StepKind::kLoad, frame.first_slot + part.index, bits, is_signed);
    step.a = address;
    step.value = offset;
  };
  if (to.kind != OperandKind::kVector) {
    load(to, from.value);
    return true;
  }
  for (std::size_t i = 0; i < to.elements.size(); ++i) {
    load(to.elements[i], from.value + static_cast<std::int64_t>(i) * (bits / 8));
  }
  return true;
}

void SliceBuilder::decode_store(Frame& frame, const Instruction& in) {
  const Operand& to = in.operands[0];
  if (in.opcode == Opcode::kDiscard) {
    constexpr std::uint32_t kLineBytes = 128;  // PTX ISA, discard: the only size
    return access(frame, to, kLineBytes, true, true);
  }
  if (in.space() != Space::kParam) {
    if (may_be_global(in.space()) && in.opcode != Opcode::kStmatrix) {
      access(frame, to, ptx::bytes_of(in.type()) * in.vector_width, false, true);
    }
    return;
  }
  if (to.base != AddressBase::kVariable) throw NoSlice{};
  const unsigned bits = ptx::bits_of(in.type());
  const auto store = [&](const Operand& part, std::int64_t offset) {
    if (bits > 64 || bits < 8) throw NoSlice{};
    write_cell(frame, {to.index, offset, bits}, slot_of(frame, part));
  };
  const Operand& from = in.operands[1];
  if (from.kind != OperandKind::kVector) return store(from, to.value);
  for (std::size_t i = 0; i < from.elements.size(); ++i) {
    store(from.elements[i], to.value + static_cast<std::int64_t>(i) * (bits / 8));
  }
}

// cp.async [shared], [global], bytes {, bytes that are read}; bulk copies are not followed.
void SliceBuilder::decode_copy(Frame& frame, const Instruction& in) {
  const bool simple = in.text.starts_with("cp.async.ca.shared") || in.text.starts_with("cp.async.cg.shared");
  if (simple && in.operands.size() >= 3 && in.operands[2].kind == OperandKind::kInteger) {
    return access(frame, in.operands[1], static_cast<std::uint32_t>(in.operands[2].value), true, false);
  }
  const bool only_waits = in.text.starts_with("cp.async.wait") || in.text.starts_with("cp.async.commit") ||
                          in.text.starts_with("cp.async.mbarrier") ||
                          in.text.starts_with("cp.async.bulk.commit") ||
                          in.text.starts_with("cp.async.bulk.wait");
  if (!only_waits) wild_access();
}

void SliceBuilder::decode_matrix(Frame& frame, const Instruction& in) {
  const bool loads = in.text.starts_with("wmma.load"), stores = in.text.starts_with("wmma.store");
  bool global = true;
  for (unsigned i = 0; i < in.space_count; ++i) global = global && may_be_global(in.spaces[i]);
  if (global && (loads || stores)) access(frame, in.operands[loads ? 1 : 0], 0, loads, stores);
  if (!stores) unknown(frame, in.operands[0]);
}

bool SliceBuilder::decode_memory(Frame& frame, const Instruction& in) {
  switch (ptx::class_of(in.opcode)) {
    case OpcodeClass::kLoad: decode_load(frame, in); return true;
    case OpcodeClass::kStore: decode_store(frame, in); return true;
    case OpcodeClass::kAtomic:
    case OpcodeClass::kReduction: {
      const bool returns = ptx::class_of(in.opcode) == OpcodeClass::kAtomic;
      bool global = in.space_count == 0;
      for (unsigned i = 0; i < in.space_count; ++i) global = global || may_be_global(in.spaces[i]);
      const std::uint32_t bytes = ptx::bytes_of(in.types[in.type_count == 0 ? 0 : in.type_count - 1]);
      if (global) access(frame, in.operands[returns ? 1 : 0], bytes * in.vector_width, true, true);
      if (returns) unknown(frame, in.operands[0]);
      return true;
    }
    case OpcodeClass::kAsyncCopy: decode_copy(frame, in); return true;
    case OpcodeClass::kMatrix: decode_matrix(frame, in); return true;
    case OpcodeClass::kTexture: {
      wild_access();
      if (ptx::roles_of(in.opcode).starts_with('w')) unknown(frame, in.operands[0]);
      return true;
    }
    case OpcodeClass::kUnknown:
      wild_access();
      for (const Operand& operand : in.operands) unknown(frame, operand);
      return true;
    default: return false;
  }
}

}  // namespace refrain::access
