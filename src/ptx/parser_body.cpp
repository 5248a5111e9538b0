// Function bodies: blocks, declarations, labels, instructions. Operands are in parser_operands.cpp.
// It keeps what it reads and must not decide whether an instruction is supported.
#include <fmt/format.h>

#include <algorithm>

#include "ptx/names.hpp"
#include "ptx/parser.hpp"

namespace refrain::ptx {
namespace {

constexpr std::uint32_t kMaxRegisters = 1u << 22;
constexpr std::uint32_t kMaxBlockDepth = 256;

}  // namespace

void Parser::body() {
  expect('{', "before a function's body");
  while (!token_.is('}')) statement(0);
  advance();
  resolve_labels();
}

void Parser::statement(std::uint32_t depth) {
  if (token_.kind == TokenKind::kEnd) fail("'}' expected before the end of the text");
  if (accept(';')) return;
  if (accept('{')) {
    if (depth >= kMaxBlockDepth) fail("blocks are nested too deeply");
    const std::uint32_t outer = scope_;
    scopes_.push_back({});
    scopes_.back().parent = outer;
    scope_ = static_cast<std::uint32_t>(scopes_.size() - 1);
    while (!accept('}')) statement(depth + 1);
    scope_ = outer;
    return;
  }
  if (token_.kind == TokenKind::kDotWord) return body_directive();
  label_or_instruction();
}

void Parser::body_directive() {
  if (accept_dot("reg")) return register_declaration();
  if (accept_dot("pragma")) return skip_statement();
  if (accept_dot("loc")) return location_directive();
  if (accept_dot("file")) return file_directive();
  if (const auto space = state_space()) return body_variables(*space);
  fail(fmt::format("unsupported directive {} in a function", shown()));
}

void Parser::register_declaration() {
  std::uint32_t width = 1;
  if (accept_dot("v2")) width = 2;
  if (accept_dot("v4")) width = 4;
  const auto type = token_.kind == TokenKind::kDotWord ? find_type(token_.text) : std::nullopt;
  if (!type) fail(fmt::format("a register's type expected, found {}", shown()));
  advance();
  do {
    const Token at = token_;
    const std::string_view name = expect_word("a register's name");
    std::uint64_t count = 1;
    const auto first = static_cast<std::uint32_t>(function_->registers.size());
    const bool is_range = accept('<');
    if (is_range) {
      count = expect_integer("a number of registers");
      expect('>', "after a number of registers");
    }
    if (count > kMaxRegisters || first + count > kMaxRegisters) {
      fail_at(at, fmt::format("more than {} registers", kMaxRegisters));
    }
    if (is_range) {
      scopes_[scope_].ranges[name] = {first, static_cast<std::uint32_t>(count)};
    } else if (!scopes_[scope_].registers.emplace(name, first).second) {
      fail_at(at, fmt::format("register '{}' is declared twice", name));
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      function_->registers.push_back({*type, name, is_range ? static_cast<std::int32_t>(i) : -1, width});
    }
  } while (accept(','));
  expect(';', "after a register declaration");
}

void Parser::body_variables(Space space) {
  const Token at = token_;
  Declared declared = declaration(space);
  if (accept('=')) initializer(declared.variable);
  if (token_.is(',')) fail("one variable a declaration is supported inside a function");
  expect(';', "after a variable");
  const auto index = static_cast<std::uint32_t>(function_->variables.size());
  if (!scopes_[scope_].variables.emplace(declared.name, index).second) {
    fail_at(at, fmt::format("variable '{}' is declared twice", declared.name));
  }
  function_->variables.push_back(std::move(declared.variable));
}

void Parser::guard(Instruction& instruction) {
  if (!accept('@')) return;
  instruction.guard_negated = accept('!');
  const Token at = token_;
  const std::string_view name = expect_word("a predicate register");
  const auto reg = find_register(name);
  if (!reg || function_->registers[*reg].type != Type::kPred) {
    fail_at(at, fmt::format("'{}' is not a declared predicate register", name));
  }
  instruction.guard = *reg;
}

void Parser::label_or_instruction() {
  Instruction parsed;
  guard(parsed);
  const Token word = token_;
  expect_word("an instruction");
  if (parsed.guard == Instruction::kNoGuard && accept(':')) {
    if (token_.is_dot("branchtargets") || token_.is_dot("callprototype") || token_.is_dot("calltargets")) {
      return list_directive(word);
    }
    const auto target = static_cast<std::uint32_t>(function_->body.size());
    if (!scopes_[scope_].labels.emplace(word.text, target).second) {
      fail_at(word, fmt::format("label '{}' is defined twice", word.text));
    }
    function_->labels.push_back({word.text, target});
    return;
  }
  instruction(std::move(parsed), word);
}

void Parser::opcode_words(Instruction& instruction, const Token& opcode) {
  const char* end = opcode.text.data() + opcode.text.size();
  for (; token_.kind == TokenKind::kDotWord; advance()) {
    const std::string_view word = token_.text;
    end = word.data() + word.size();
    if (const auto type = find_type(word)) {
      if (instruction.type_count == 4) fail("an instruction has at most four types");
      instruction.types[instruction.type_count++] = *type;
    } else if (const auto space = find_space(word)) {
      if (instruction.space_count == 2) fail("an instruction has at most two state spaces");
      instruction.spaces[instruction.space_count++] = *space;
    } else {
      const Modifier modifier = find_modifier(word).value_or(Modifier::kOther);
      instruction.modifiers.set(static_cast<std::size_t>(modifier));
      if (modifier == Modifier::kV2) instruction.vector_width = 2;
      if (modifier == Modifier::kV4) instruction.vector_width = 4;
      if (modifier == Modifier::kV8) instruction.vector_width = 8;
    }
  }
  instruction.text = {opcode.text.data(), static_cast<std::size_t>(end - opcode.text.data())};
}

namespace {

// What every form of an opcode has at least: whoever reads the tree may take the first two for granted.
std::size_t least_operands(Opcode opcode) {
  switch (opcode) {
    case Opcode::kBar:
    case Opcode::kBarrier:
    case Opcode::kCp:
    case Opcode::kMbarrier:
    case Opcode::kUnknown: return 0;
    default: return std::min<std::size_t>(roles_of(opcode).size(), 2);
  }
}

}  // namespace

void Parser::instruction(Instruction parsed, const Token& opcode) {
  parsed.opcode = find_opcode(opcode.text);
  parsed.line = opcode.line;
  parsed.column = opcode.column;
  parsed.location = location_;
  opcode_words(parsed, opcode);
  if (parsed.opcode == Opcode::kCall) {
    call_operands(parsed);
  } else if (!token_.is(';')) {
    do {
      const Token at = token_;
      Operand read = operand();
      if (read.kind == OperandKind::kLabel) {
        note_label_use(at, static_cast<std::uint32_t>(function_->body.size()),
                       static_cast<std::uint32_t>(parsed.operands.size()));
      }
      parsed.operands.push_back(std::move(read));
    } while (accept(','));
  }
  expect(';', "after an instruction");
  if (parsed.operands.size() < least_operands(parsed.opcode)) {
    fail_at(opcode,
            fmt::format("'{}' has {} operands, which are too few", parsed.text, parsed.operands.size()));
  }
  function_->body.push_back(std::move(parsed));
}

Operand Parser::argument_list() {
  Operand list;
  list.kind = OperandKind::kArguments;
  expect('(', "before call arguments");
  while (!accept(')')) {
    list.elements.push_back(element());
    if (!token_.is(')')) expect(',', "between call arguments");
  }
  return list;
}

// call (ret), f, (args) | call f, (args) | call f; an indirect call also names a prototype or a list of call
// targets, which is kept as operand 3.
void Parser::call_operands(Instruction& instruction) {
  Operand none;
  none.kind = OperandKind::kArguments;
  instruction.operands.assign(3, none);
  if (token_.is('(')) {
    instruction.operands[0] = argument_list();
    expect(',', "after a call's results");
  }
  const Token at = token_;
  instruction.operands[1] = operand();
  if (instruction.operands[1].kind == OperandKind::kLabel) {
    fail_at(at, fmt::format("function '{}' is not declared", at.text));
  }
  if (accept(',')) {
    if (token_.is('(')) {
      instruction.operands[2] = argument_list();
      if (!accept(',')) return;
    }
    const Token name = token_;
    expect_word("a call prototype");
    note_label_use(name, static_cast<std::uint32_t>(function_->body.size()), 3);
    instruction.operands.emplace_back();
    instruction.operands.back().kind = OperandKind::kPrototype;
  }
}

void Parser::note_label_use(const Token& at, std::uint32_t instruction, std::uint32_t operand) {
  label_uses_.push_back({at.text, scope_, instruction, operand, at.line, at.column});
}

bool Parser::resolve_label(const LabelUse& use, const Scope& scope) {
  const auto label = scope.labels.find(use.name);
  if (use.instruction == kInList) {
    if (label == scope.labels.end()) return false;
    function_->branch_targets[use.operand].targets.push_back(label->second);
    return true;
  }
  Operand& operand = function_->body[use.instruction].operands[use.operand];
  if (const auto list = scope.lists.find(use.name); list != scope.lists.end()) {
    operand.kind = list->second.kind;
    operand.index = list->second.index;
    return true;
  }
  if (label == scope.labels.end() || operand.kind == OperandKind::kPrototype) return false;
  operand.index = label->second;
  return true;
}

void Parser::resolve_labels() {
  for (const LabelUse& use : label_uses_) {
    for (std::uint32_t scope = use.scope;; scope = scopes_[scope].parent) {
      if (resolve_label(use, scopes_[scope])) break;
      if (scope == 0) {
        throw Error(use.line, use.column, fmt::format("'{}' is neither declared nor a label", use.name));
      }
    }
  }
}

}  // namespace refrain::ptx
