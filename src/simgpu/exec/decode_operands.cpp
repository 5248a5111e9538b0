// Registers, constants, special registers and addresses of variables: from syntax to byte offsets in a frame.
// Widths are checked here, so that a lane loop never reads a slot of another size.
#include <fmt/format.h>

#include <algorithm>
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
  if (reg.vector_width != 1) refuse(fmt::format("unsupported type of register {}", name_of(reg)));
  if (reg.type == Type::kPred) {
    slots_[index] = new_predicate();
  } else {
    // A register of 128 bits is two slots of 64.
    const std::uint32_t words = std::max(bits, 32u) / 32;
    slots_[index] = code_.register_bytes;
    code_.register_bytes += kLanes * 4 * words;
    code_.register_count += words;
  }
  if (code_.register_bytes >= kSpecialFlag) refuse("the function has too many registers");
  return slots_[index];
}

std::uint32_t FunctionDecoder::new_predicate() {
  if (predicates_left_ == 0) {
    next_predicate_ = code_.register_bytes;
    predicates_left_ = kPredicatesPerLine;
    code_.register_bytes += kLineBytes;
  }
  const std::uint32_t slot = next_predicate_;
  next_predicate_ += sizeof(LaneMask);
  --predicates_left_;
  return slot;
}

// The condition code: one carry flag a lane.
std::uint32_t FunctionDecoder::carry_slot() {
  if (carry_slot_ == kNoSlot) carry_slot_ = new_predicate();
  return carry_slot_;
}

// A register that the program does not have.
std::uint32_t FunctionDecoder::scratch_slot(bool wide) {
  const std::uint32_t slot = code_.register_bytes;
  code_.register_bytes += kLanes * (wide ? 8 : 4);
  return slot;
}

std::array<std::uint32_t, 2> FunctionDecoder::wide_slots(const Operand& operand) {
  if (operand.kind != ptx::OperandKind::kRegister || register_bits(operand.index) != 128) {
    refuse("a register of 128 bits expected");
  }
  const std::uint32_t slot = register_slot(operand.index);
  return {slot, slot + kLanes * 8};
}

bool FunctionDecoder::fits(Type have, Type type, Fit fit) const {
  if (have == Type::kPred || type == Type::kPred) return have == type;
  const std::uint32_t have_bits = ptx::bits_of(have), bits = ptx::bits_of(type);
  if (have_bits > 64 || bits > 64 || is_64(have) != is_64(type)) return false;
  // An 8-bit operand lies in any register of the smaller kind.
  return fit == Fit::kAtLeast || bits == 8 || have_bits == bits;
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

std::uint32_t FunctionDecoder::destination(const Operand& operand, Type type, Fit fit) {
  if (operand.kind == ptx::OperandKind::kDiscard) return kNoSlot;
  if (operand.kind != ptx::OperandKind::kRegister) refuse("a destination register expected");
  const Type have = function_.registers[operand.index].type;
  if (!fits(have, type, fit)) {
    refuse(fmt::format("register {} does not fit type .{}", name_of(function_.registers[operand.index]),
                       ptx::name_of(type)));
  }
  return register_slot(operand.index);
}

std::uint32_t FunctionDecoder::predicate_source(const Operand& operand, bool* negated) {
  if (operand.kind != ptx::OperandKind::kRegister || function_.registers[operand.index].type != Type::kPred) {
    // A constant predicate: an integer that is zero or not. The only predefined one tells of clusters: there
    // are none.
    if (operand.kind == ptx::OperandKind::kSpecial &&
        ptx::bits_of(static_cast<ptx::SpecialRegister>(operand.index)) == 1) {
      return constant_slot(0, false);
    }
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

std::uint32_t FunctionDecoder::source(const Operand& operand, Type type, Fit fit) {
  if (type == Type::kNone) refuse("unsupported type");
  if (type == Type::kPred) return predicate_source(operand);
  switch (operand.kind) {
    case ptx::OperandKind::kRegister: {
      const Type have = function_.registers[operand.index].type;
      if (!fits(have, type, fit) || operand.negated) {
        refuse(fmt::format("register {} does not fit type .{}", name_of(function_.registers[operand.index]),
                           ptx::name_of(type)));
      }
      return register_slot(operand.index);
    }
    case ptx::OperandKind::kSpecial: {
      const auto special = static_cast<ptx::SpecialRegister>(operand.index);
      if ((ptx::bits_of(special) == 64) != is_64(type) || ptx::bits_of(special) == 1)
        refuse("the special register has another width");
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
