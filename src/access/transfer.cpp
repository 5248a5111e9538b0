// What each instruction does to origins. Sums keep what may be a base, products and shifts are indexes,
// memory gives back what was put there or "loaded". It must err on the side of more origins, never fewer.
#include <algorithm>

#include "access/analysis.hpp"

namespace refrain::access {

using ptx::AddressBase;
using ptx::Instruction;
using ptx::OpcodeClass;
using ptx::Operand;
using ptx::OperandKind;
using ptx::Space;

namespace {

constexpr std::uint32_t kWordBytes = 8;

Origins of_variable_space(Space space) {
  switch (space) {
    case Space::kShared: return Origins(Origin{OriginKind::kShared});
    case Space::kLocal: return Origins(Origin{OriginKind::kLocal});
    case Space::kParam: return Origins(Origin{OriginKind::kParamAddress});
    default: return Origins(Origin{OriginKind::kUnknown});
  }
}

bool is_float(ptx::Type type) {
  return ptx::kind_of(type) == ptx::TypeKind::kFloat;
}

}  // namespace

bool Analysis::is_strong(Origin origin) const {
  switch (origin.kind) {
    case OriginKind::kParamWord: return pointers_.contains(origin.index);
    case OriginKind::kModuleVariable:
    case OriginKind::kShared:
    case OriginKind::kLocal:
    case OriginKind::kParamAddress: return true;
    case OriginKind::kInteger:
    case OriginKind::kLoaded:
    case OriginKind::kUnknown: return false;
  }
  return false;
}

bool Analysis::has_strong(const Origins& origins) const {
  return std::any_of(origins.begin(), origins.end(),
                     [this](const Origin& origin) { return is_strong(origin); });
}

// What is left of pointers in a product, a shift, a narrowing or a difference: `a + odd * (b - a)` is b for
// some.
Origins Analysis::as_integer(const Origins& origins) const {
  Origins kept;
  if (!second_round_) return kept;
  for (const Origin origin : origins) {
    if (is_strong(origin)) kept.add(origin);
  }
  if (!kept.empty()) kept.add(Origin{OriginKind::kInteger});
  return kept;
}

// base + index: where one side is known to be an address and the other may at most be an integer, that is
// dropped.
Origins Analysis::sum(const Origins& a, const Origins& b) const {
  if (second_round_) {
    const auto is_base = [&](const Origins& o) { return has_strong(o) && !o.contains(OriginKind::kInteger); };
    const auto is_index = [&](const Origins& o) {
      return !has_strong(o) && !o.contains(OriginKind::kUnknown);
    };
    if (is_base(a) && is_index(b)) return a;
    if (is_base(b) && is_index(a)) return b;
  }
  Origins both = a;
  both.add(b);
  return both;
}

Origins Analysis::all_param_words() const {
  Origins words;
  for (std::uint32_t i = 0; i < kernel_.param_count; ++i) {
    const ptx::Variable& param = kernel_.param(i);
    const auto begin = static_cast<std::uint32_t>(param.offset_bytes) / kWordBytes * kWordBytes;
    for (std::uint64_t offset = begin; offset < param.offset_bytes + param.size_bytes; offset += kWordBytes) {
      words.add(Origin{OriginKind::kParamWord, static_cast<std::uint32_t>(offset)});
    }
  }
  return words;
}

Origins Analysis::value(const FunctionState& state, const Operand& operand) const {
  switch (operand.kind) {
    case OperandKind::kRegister:
      work_ += state.registers[operand.index].size();
      return state.registers[operand.index];
    case OperandKind::kVariable: return of_variable_space(state.function->variables[operand.index].space);
    case OperandKind::kModuleVariable:
      if (module_.variables[operand.index].space == Space::kShared)
        return Origins(Origin{OriginKind::kShared});
      return Origins(Origin{OriginKind::kModuleVariable, operand.index});
    case OperandKind::kFunction: return Origins(Origin{OriginKind::kUnknown});
    case OperandKind::kAddress: return address_value(state, operand);
    case OperandKind::kVector:
    case OperandKind::kPair:
    case OperandKind::kArguments: {
      Origins all;
      for (const Operand& element : operand.elements) all.add(value(state, element));
      return all;
    }
    default: return {};
  }
}

Origins Analysis::address_value(const FunctionState& state, const Operand& address) const {
  Operand base;
  base.index = address.index;
  switch (address.base) {
    case AddressBase::kNone: return {};
    case AddressBase::kRegister: base.kind = OperandKind::kRegister; break;
    case AddressBase::kVariable: base.kind = OperandKind::kVariable; break;
    case AddressBase::kModuleVariable: base.kind = OperandKind::kModuleVariable; break;
  }
  return value(state, base);
}

bool Analysis::assign(FunctionState& state, const Operand& operand, const Origins& origins) {
  work_ += origins.size();
  if (operand.kind == OperandKind::kRegister) return state.registers[operand.index].add(origins);
  bool changed = false;
  for (const Operand& element : operand.elements) changed |= assign(state, element, origins);
  return changed;
}

// Integers that become addresses only by being added to one give nothing; see the classes in ptx/opcodes.def.
Origins Analysis::result(FunctionState& state, const Instruction& in) {
  const std::vector<Operand>& operands = in.operands;
  const auto source = [&](std::size_t i) {
    return i < operands.size() ? value(state, operands[i]) : Origins{};
  };
  const auto all_sources = [&] {
    Origins all;
    for (std::size_t i = 1; i < operands.size(); ++i) all.add(value(state, operands[i]));
    return all;
  };
  switch (ptx::class_of(in.opcode)) {
    case OpcodeClass::kAdditive: {
      if (is_float(in.type())) return {};
      Origins both = sum(source(1), source(2));
      const bool difference = in.opcode == ptx::Opcode::kSub || in.opcode == ptx::Opcode::kSubc;
      if (difference && has_strong(source(2))) both.add(as_integer(both));
      return both;
    }
    case OpcodeClass::kMultiplyAdd: {
      if (is_float(in.type())) return {};
      Origins factors = source(1);
      factors.add(source(2));
      return sum(source(3), as_integer(factors));
    }
    case OpcodeClass::kArithmetic:
    case OpcodeClass::kProduct:
    case OpcodeClass::kShift: return is_float(in.type()) ? Origins{} : as_integer(all_sources());
    case OpcodeClass::kBitwise: {
      // A mask with its upper bits set aligns an address; any other takes an integer out of it.
      Origins all = all_sources();
      const bool aligns =
          operands.size() == 3 && operands[2].kind == OperandKind::kInteger && operands[2].value < 0;
      if (in.opcode == ptx::Opcode::kAnd && !aligns) all.add(as_integer(all));
      return all;
    }
    case OpcodeClass::kSelect:
    case OpcodeClass::kMove: return all_sources();
    case OpcodeClass::kConvert: {
      if (is_float(in.types[0]) || is_float(in.types[1])) return {};
      const bool widens = ptx::bits_of(in.types[1]) <= 32 && ptx::bits_of(in.types[0]) > 32;
      return widens ? as_integer(source(1)) : source(1);
    }
    case OpcodeClass::kWarp: return in.opcode == ptx::Opcode::kShfl ? source(1) : Origins{};
    case OpcodeClass::kAtomic: return is_float(in.type()) ? Origins{} : Origins(Origin{OriginKind::kLoaded});
    case OpcodeClass::kTexture:
    case OpcodeClass::kUnknown: return Origins(Origin{OriginKind::kUnknown});
    default: return {};
  }
}

// A parameter of the kernel, by byte offset where that is known. Parts of a word count as the word.
Origins Analysis::loaded_param(const FunctionState& state, const Instruction& in,
                               const Operand& address) const {
  const bool is_kernel = state.function == &kernel_;
  if (address.base != AddressBase::kVariable) {
    if (is_kernel) return all_param_words();
    Origins all;
    for (const Origins& cell : state.cells) {
      work_ += 1 + cell.size();
      all.add(cell);
    }
    return all;
  }
  if (!is_kernel || address.index >= kernel_.param_count) return state.cells[address.index];
  const std::uint32_t size = ptx::bytes_of(in.type());
  Origins words;
  for (std::uint32_t element = 0; element < in.vector_width; ++element) {
    const auto offset =
        static_cast<std::uint32_t>(kernel_.variables[address.index].offset_bytes +
                                   static_cast<std::uint64_t>(address.value) + element * size);
    words.add(Origin{OriginKind::kParamWord, size == kWordBytes ? offset : offset / kWordBytes * kWordBytes});
  }
  return words;
}

Origins Analysis::loaded(const FunctionState& state, const Instruction& in, const Operand& address) const {
  const Origins from = address_value(state, address);
  work_ += local_.size();
  Origins origins;
  switch (in.space()) {
    case Space::kParam: return loaded_param(state, in, address);
    case Space::kLocal: return local_;
    case Space::kGeneric:
      if (from.contains(OriginKind::kLocal)) origins.add(local_);
      if (from.contains(OriginKind::kParamAddress)) origins.add(all_param_words());
      origins.add(Origin{OriginKind::kLoaded});
      return origins;
    default: return Origins(Origin{OriginKind::kLoaded});
  }
}

bool Analysis::step_load(FunctionState& state, const Instruction& in) {
  if (in.operands.size() < 2) return false;
  const Operand& address = in.operands[1];
  // The elements of a vector of parameters are told apart.
  const bool is_vector = in.operands[0].kind == OperandKind::kVector && in.space() == Space::kParam;
  if (!is_vector || address.base != AddressBase::kVariable) {
    return assign(state, in.operands[0], loaded(state, in, address));
  }
  bool changed = false;
  Instruction single = in;
  single.vector_width = 1;
  Operand at = address;
  for (const Operand& element : in.operands[0].elements) {
    changed |= assign(state, element, loaded(state, single, at));
    at.value += ptx::bytes_of(in.type());
  }
  return changed;
}

bool Analysis::step_store(FunctionState& state, const Instruction& in) {
  if (in.operands.size() < 2) return false;
  const Operand& address = in.operands[0];
  const Origins stored = value(state, in.operands[1]);
  if (in.space() == Space::kParam && address.base == AddressBase::kVariable) {
    return state.cells[address.index].add(stored);
  }
  const bool may_be_local =
      in.space() == Space::kLocal ||
      (in.space() == Space::kGeneric && address_value(state, address).contains(OriginKind::kLocal));
  return may_be_local && local_.add(stored);
}

bool Analysis::step_call(FunctionState& state, const Instruction& in) {
  const Operand& target = in.operands[1];
  const std::vector<Operand>& results = in.operands[0].elements;
  const std::vector<Operand>& arguments = in.operands[2].elements;
  const auto contents = [&](const Operand& operand) {
    work_ += operand.kind == OperandKind::kVariable ? state.cells[operand.index].size() : 0;
    return operand.kind == OperandKind::kVariable ? state.cells[operand.index] : value(state, operand);
  };
  const auto known = target.kind == OperandKind::kFunction ? state_of_.find(&module_.functions[target.index])
                                                           : state_of_.end();
  bool changed = false;
  if (known == state_of_.end()) {
    for (const Operand& operand : results) {
      const Origins unknown(Origin{OriginKind::kUnknown});
      changed |= operand.kind == OperandKind::kVariable ? state.cells[operand.index].add(unknown)
                                                        : assign(state, operand, unknown);
    }
    return changed;
  }
  FunctionState& callee = states_[known->second];
  const std::uint32_t returned = callee.function->return_count;
  for (std::size_t i = 0; i < arguments.size() && i < callee.function->param_count; ++i) {
    changed |= callee.cells[returned + i].add(contents(arguments[i]));
  }
  for (std::size_t i = 0; i < results.size() && i < returned; ++i) {
    const Origins origins = callee.cells[i];
    changed |= results[i].kind == OperandKind::kVariable ? state.cells[results[i].index].add(origins)
                                                         : assign(state, results[i], origins);
  }
  return changed;
}

bool Analysis::step(FunctionState& state, const Instruction& in) {
  switch (ptx::class_of(in.opcode)) {
    case OpcodeClass::kLoad: return step_load(state, in);
    case OpcodeClass::kStore: return step_store(state, in);
    case OpcodeClass::kCall: return step_call(state, in);
    default: break;
  }
  const std::string_view roles = ptx::roles_of(in.opcode);
  const bool writes = roles.starts_with('w') || in.opcode == ptx::Opcode::kUnknown;
  if (!writes || in.operands.empty()) return false;
  return assign(state, in.operands[0], result(state, in));
}

}  // namespace refrain::access
