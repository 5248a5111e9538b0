// Registers, constants, special registers and addresses of variables: from syntax to byte offsets in a frame.
// Widths are checked here, so that a lane loop never reads a slot of another size.
#include <fmt/format.h>

#include <bit>

#include "simgpu/exec/decode.hpp"

namespace refrain::simgpu {
namespace {

constexpr std::uint32_t kPredicatesPerLine = 16;  // of a cache line
constexpr std::uint32_t kLineBytes = 64;

bool is_64(ptx::Type type) {
  return ptx::bits_of(type) == 64;
}

template <class T>
void append_broadcast(std::vector<std::byte>& bytes, T value) {
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    const auto* raw = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), raw, raw + sizeof value);
  }
}

}  // namespace

std::uint32_t FunctionDecoder::register_bits(std::uint32_t index) const {
  return ptx::bits_of(function_.registers[index].type);
}

std::uint32_t FunctionDecoder::register_slot(std::uint32_t index) {
  if (slots_[index] != kNoSlot) return slots_[index];
  const ptx::Register& reg = function_.registers[index];
  const std::uint32_t bits = ptx::bits_of(reg.type);
  if (bits > 64 || reg.vector_width != 1)
    refuse(fmt::format("unsupported type of register {}", name_of(reg)));
  if (reg.type == Type::kPred) {
    if (predicates_left_ == 0) {
      next_predicate_ = code_.register_bytes;
      predicates_left_ = kPredicatesPerLine;
      code_.register_bytes += kLineBytes;
    }
    slots_[index] = next_predicate_;
    next_predicate_ += sizeof(LaneMask);
    --predicates_left_;
  } else {
    slots_[index] = code_.register_bytes;
    code_.register_bytes += kLanes * (bits == 64 ? 8 : 4);
    code_.register_count += bits == 64 ? 2 : 1;
  }
  if (code_.register_bytes >= kSpecialFlag) refuse("the function has too many registers");
  return slots_[index];
}

std::uint32_t FunctionDecoder::constant_slot(std::uint64_t bits, bool wide) {
  auto& known = wide ? constants_64_ : constants_32_;
  const auto [place, added] =
      known.emplace(bits, kConstantFlag | static_cast<std::uint32_t>(code_.constants.size()));
  if (added) {
    if (wide) {
      append_broadcast(code_.constants, bits);
    } else {
      append_broadcast(code_.constants, static_cast<std::uint32_t>(bits));
    }
  }
  return place->second;
}

std::uint32_t FunctionDecoder::special_slot(ptx::SpecialRegister special) {
  if (ptx::kind_of(special) == ptx::SpecialKind::kClock) refuse("a clock can only be moved to a register");
  for (const SpecialSlot& known : specials_) {
    if (known.special == special) return known.offset;
  }
  specials_.push_back({special, kSpecialFlag | special_bytes_});
  special_bytes_ += kLanes * 8;
  return specials_.back().offset;
}

std::uint32_t FunctionDecoder::destination(const Operand& operand, Type type) {
  if (operand.kind == ptx::OperandKind::kDiscard) return kNoSlot;
  if (operand.kind != ptx::OperandKind::kRegister) refuse("a destination register expected");
  const Type have = function_.registers[operand.index].type;
  if ((have == Type::kPred) != (type == Type::kPred) || is_64(have) != is_64(type)) {
    refuse(fmt::format("register {} does not fit type .{}", name_of(function_.registers[operand.index]),
                       ptx::name_of(type)));
  }
  return register_slot(operand.index);
}

std::uint32_t FunctionDecoder::predicate_source(const Operand& operand, bool* negated) {
  if (operand.kind != ptx::OperandKind::kRegister || function_.registers[operand.index].type != Type::kPred) {
    // A constant predicate: an integer that is zero or not.
    if (operand.kind == ptx::OperandKind::kInteger)
      return constant_slot(operand.value != 0 ? kAllLanes : 0, false);
    refuse("a predicate register expected");
  }
  if (operand.negated && negated == nullptr) refuse("'!' is not supported here");
  if (negated != nullptr) *negated = operand.negated;
  return register_slot(operand.index);
}

std::uint64_t FunctionDecoder::immediate_bits(const Operand& operand, Type type) const {
  const auto bits = static_cast<std::uint64_t>(operand.value);
  const bool is_float = ptx::kind_of(type) == ptx::TypeKind::kFloat;
  switch (operand.kind) {
    case ptx::OperandKind::kInteger:
      if (is_float) refuse("a floating-point constant expected");
      if (ptx::bits_of(type) == 64) return bits;
      return bits & ((1ull << ptx::bits_of(type)) - 1);
    case ptx::OperandKind::kFloat32:
      if (type == Type::kF64) {
        return std::bit_cast<std::uint64_t>(
            static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
      }
      if (ptx::bits_of(type) != 32) refuse("a 0f constant needs a 32-bit type");
      return bits;
    case ptx::OperandKind::kFloat64:
      if (type == Type::kF32) {
        return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
      }
      if (ptx::bits_of(type) != 64) refuse("a floating-point constant does not fit");
      return bits;
    default: refuse("a register or a constant expected");
  }
}

std::uint32_t FunctionDecoder::source(const Operand& operand, Type type) {
  if (type == Type::kNone) refuse("unsupported type");
  if (type == Type::kPred) return predicate_source(operand);
  switch (operand.kind) {
    case ptx::OperandKind::kRegister: {
      const Type have = function_.registers[operand.index].type;
      if (have == Type::kPred || is_64(have) != is_64(type) || operand.negated) {
        refuse(fmt::format("register {} does not fit type .{}", name_of(function_.registers[operand.index]),
                           ptx::name_of(type)));
      }
      return register_slot(operand.index);
    }
    case ptx::OperandKind::kSpecial: {
      const auto special = static_cast<ptx::SpecialRegister>(operand.index);
      if ((ptx::bits_of(special) == 64) != is_64(type)) refuse("the special register has another width");
      return special_slot(special);
    }
    case ptx::OperandKind::kVariable:
    case ptx::OperandKind::kModuleVariable: return constant_slot(variable_address(operand), is_64(type));
    case ptx::OperandKind::kFunction: refuse("addresses of functions are not supported");
    default: return constant_slot(immediate_bits(operand, type), is_64(type));
  }
}

bool FunctionDecoder::is_local_variable(const Operand& operand) const {
  return operand.kind == ptx::OperandKind::kVariable &&
         function_.variables[operand.index].space == ptx::Space::kLocal;
}

std::uint64_t FunctionDecoder::variable_address(const Operand& operand) const {
  const bool of_module = operand.kind == ptx::OperandKind::kModuleVariable;
  const ptx::Variable& variable =
      of_module ? image_.module->variables[operand.index] : function_.variables[operand.index];
  const auto displacement = static_cast<std::uint64_t>(operand.value);
  switch (variable.space) {
    case ptx::Space::kShared: return layout_.shared_offsets.at(&variable) + displacement;
    case ptx::Space::kGlobal:
    case ptx::Space::kConst:
      if (!of_module) refuse("global variables inside functions are not supported");
      if (image_.addresses[operand.index] == 0) {
        refuse(fmt::format("variable '{}' is declared but not defined in this module", variable.name));
      }
      return image_.addresses[operand.index] + displacement;
    case ptx::Space::kParam: return offsets_[operand.index] + displacement;
    default: refuse(fmt::format("the address of '{}' cannot be used here", variable.name));
  }
}

std::uint32_t FunctionDecoder::add_list(const std::vector<std::uint32_t>& slots) {
  const auto begin = static_cast<std::uint32_t>(code_.lists.size());
  code_.lists.insert(code_.lists.end(), slots.begin(), slots.end());
  return begin;
}

std::uint32_t FunctionDecoder::patched(std::uint32_t slot) const {
  if (slot == kNoSlot) return slot;
  if ((slot & kConstantFlag) != 0) return code_.register_bytes + (slot & ~kConstantFlag);
  if ((slot & kSpecialFlag) != 0) {
    return code_.register_bytes + static_cast<std::uint32_t>(code_.constants.size()) + (slot & ~kSpecialFlag);
  }
  return slot;
}

// Constants follow the registers, special registers follow the constants.
void FunctionDecoder::patch_slots() {
  code_.register_bytes = (code_.register_bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
  for (Op& op : code_.ops) {
    for (std::uint32_t* slot : {&op.d, &op.a, &op.b, &op.c, &op.e, &op.guard}) *slot = patched(*slot);
  }
  for (std::uint32_t& slot : code_.lists) slot = patched(slot);
  for (const SpecialSlot& special : specials_)
    code_.specials.push_back({special.special, patched(special.offset)});
  code_.frame_bytes =
      code_.register_bytes + static_cast<std::uint32_t>(code_.constants.size()) + special_bytes_;
}

}  // namespace refrain::simgpu
