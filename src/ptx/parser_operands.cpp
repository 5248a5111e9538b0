// Operands: names resolved through the scopes around them, constants, addresses, vectors.
// It must not decide whether an operand fits its instruction.
#include <fmt/format.h>

#include <charconv>

#include "ptx/names.hpp"
#include "ptx/parser.hpp"

namespace refrain::ptx {
namespace {

// Coordinates in an address are the deepest that PTX has; what is nested without end must not end the stack.
constexpr std::uint32_t kMaxOperandDepth = 4;

}  // namespace

std::optional<std::uint32_t> Parser::find_register(std::string_view name) const {
  std::size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  const std::string_view prefix = name.substr(0, digits);
  std::uint32_t number = 0;
  const bool numbered =
      digits < name.size() && (name[digits] != '0' || digits + 1 == name.size()) &&
      std::from_chars(name.data() + digits, name.data() + name.size(), number).ec == std::errc();
  for (std::uint32_t scope = scope_;; scope = scopes_[scope].parent) {
    const Scope& names = scopes_[scope];
    if (!names.registers.empty()) {
      if (const auto found = names.registers.find(name); found != names.registers.end()) return found->second;
    }
    if (numbered && !names.ranges.empty()) {
      const auto found = names.ranges.find(prefix);
      if (found != names.ranges.end() && number < found->second.count) return found->second.first + number;
    }
    if (scope == 0) return std::nullopt;
  }
}

std::optional<std::uint32_t> Parser::find_variable(std::string_view name) const {
  for (std::uint32_t scope = scope_;; scope = scopes_[scope].parent) {
    const auto found = scopes_[scope].variables.find(name);
    if (found != scopes_[scope].variables.end()) return found->second;
    if (scope == 0) return std::nullopt;
  }
}

bool Parser::resolve(std::string_view name, Operand& operand) const {
  if (const auto reg = find_register(name)) {
    operand.kind = OperandKind::kRegister;
    operand.index = *reg;
  } else if (const auto variable = find_variable(name)) {
    operand.kind = OperandKind::kVariable;
    operand.index = *variable;
  } else if (const auto found = module_variables_.find(std::string(name)); found != module_variables_.end()) {
    operand.kind = OperandKind::kModuleVariable;
    operand.index = found->second;
  } else if (const auto function = functions_.find(std::string(name)); function != functions_.end()) {
    operand.kind = OperandKind::kFunction;
    operand.index = function->second;
  } else {
    return false;
  }
  return true;
}

Operand Parser::immediate(bool negative) {
  Operand operand;
  std::uint64_t bits = token_.value;
  switch (token_.kind) {
    case TokenKind::kInteger:
      operand.kind = OperandKind::kInteger;
      if (negative) bits = 0 - bits;
      break;
    case TokenKind::kFloat32:
      operand.kind = OperandKind::kFloat32;
      if (negative) bits ^= 0x80000000u;
      break;
    case TokenKind::kFloat64:
      operand.kind = OperandKind::kFloat64;
      if (negative) bits ^= 1ull << 63;
      break;
    default: fail(fmt::format("an operand expected, found {}", shown()));
  }
  operand.value = static_cast<std::int64_t>(bits);
  advance();
  return operand;
}

Operand Parser::address() {
  Operand operand;
  operand.kind = OperandKind::kAddress;
  if (token_.kind == TokenKind::kWord) {
    const Token at = token_;
    advance();
    Operand base;
    if (!resolve(at.text, base)) fail_at(at, fmt::format("'{}' is not declared", at.text));
    operand.index = base.index;
    switch (base.kind) {
      case OperandKind::kRegister: operand.base = AddressBase::kRegister; break;
      case OperandKind::kVariable: operand.base = AddressBase::kVariable; break;
      case OperandKind::kModuleVariable: operand.base = AddressBase::kModuleVariable; break;
      default: fail_at(at, fmt::format("'{}' is not a place in memory", at.text));
    }
    if (token_.is('+') || token_.is('-')) {
      // nvcc writes [%rd+-4].
      const bool minus = accept('-');
      if (!minus) advance();
      const auto value = static_cast<std::uint64_t>(signed_integer("a displacement"));
      operand.value = static_cast<std::int64_t>(minus ? 0 - value : value);
    }
  } else {
    operand.value = signed_integer("an address");
  }
  // tex and friends write [name, {coordinates}].
  while (accept(',')) operand.elements.push_back(element());
  expect(']', "after an address");
  return operand;
}

Operand Parser::vector() {
  Operand operand;
  operand.kind = OperandKind::kVector;
  do {
    operand.elements.push_back(element());
  } while (accept(','));
  expect('}', "after a vector");
  return operand;
}

Operand Parser::name_operand() {
  const Token at = token_;
  advance();
  Operand operand;
  if (at.text == "_") return operand;
  if (at.text == "WARP_SZ") {
    operand.kind = OperandKind::kInteger;
    operand.value = 32;
    return operand;
  }
  if (resolve(at.text, operand)) {
    if (operand.kind == OperandKind::kRegister && token_.kind == TokenKind::kDotWord) {
      fail("elements of vector registers are not supported");
    }
    if (token_.is('+') && operand.kind != OperandKind::kRegister) {
      advance();
      operand.value = signed_integer("a displacement");
    }
    return operand;
  }
  if (at.text.empty()) fail_at(at, "an operand expected");
  if (at.text.front() != '%') {
    operand.kind = OperandKind::kLabel;
    return operand;
  }
  std::string_view part;
  if (token_.kind == TokenKind::kDotWord) {
    part = token_.text;
    advance();
  }
  const auto special = find_special(at.text, part);
  if (!special) {
    fail_at(at, fmt::format("register '{}{}{}' is not declared", at.text, part.empty() ? "" : ".", part));
  }
  operand.kind = OperandKind::kSpecial;
  operand.index = static_cast<std::uint32_t>(*special);
  return operand;
}

// An operand where no label can stand, inside another one.
Operand Parser::element() {
  if (operand_depth_ == kMaxOperandDepth) fail("operands are nested too deeply");
  const Token at = token_;
  ++operand_depth_;  // what fails ends the parser: nobody has to count back
  Operand read = operand();
  --operand_depth_;
  if (read.kind == OperandKind::kLabel) fail_at(at, fmt::format("'{}' is not declared", at.text));
  return read;
}

Operand Parser::operand_after_not() {
  const Token at = token_;
  Operand read = name_operand();
  if (read.kind != OperandKind::kRegister) fail_at(at, "'!' stands before a predicate register only");
  read.negated = true;
  return read;
}

Operand Parser::operand() {
  if (accept('[')) return address();
  if (accept('{')) return vector();
  if (accept('!')) return operand_after_not();
  if (token_.kind != TokenKind::kWord) return immediate(accept('-'));
  Operand first = name_operand();
  if (!token_.is('|')) return first;
  if (first.kind == OperandKind::kLabel) fail("the name before '|' is not declared");
  advance();
  Operand pair;
  pair.kind = OperandKind::kPair;
  pair.elements.push_back(std::move(first));
  pair.elements.push_back(element());
  return pair;
}

}  // namespace refrain::ptx
