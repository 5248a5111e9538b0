// Names in front of lists (.callprototype, .branchtargets, .calltargets), other names of functions (.alias),
// and where instructions come from (.file, .loc). It must not look at instructions.
#include <fmt/format.h>

#include "ptx/names.hpp"
#include "ptx/parser.hpp"

namespace refrain::ptx {

// .file number "name" [, time stamp, size]
void Parser::file_directive() {
  const std::uint64_t number = expect_integer("the number of a file");
  if (token_.kind != TokenKind::kString) fail(fmt::format("the name of a file expected, found {}", shown()));
  module_.files.push_back({static_cast<std::uint32_t>(number), std::string(token_.text)});
  advance();
  while (accept(',')) expect_integer("a time stamp or size");
}

// .alias name, function;
void Parser::alias_directive() {
  const Token at = token_;
  const auto name = functions_.find(std::string(expect_word("the name of an alias")));
  expect(',', "after the name of an alias");
  const auto target = functions_.find(std::string(expect_word("the name of a function")));
  expect(';', "after an alias");
  if (name == functions_.end() || target == functions_.end()) fail_at(at, "an alias needs two functions");
  if (module_.functions[name->second].is_defined) fail_at(at, "an alias cannot have a body");
  module_.functions[name->second].alias_of = target->second;
  has_aliases_ = true;
}

// Operands that name an alias name its function from here on.
void Parser::resolve_aliases() {
  const auto resolve_one = [&](std::uint32_t& index) {
    for (std::size_t step = 0; module_.functions[index].alias_of != Function::kNoAlias; ++step) {
      if (step > module_.functions.size()) fail("aliases go in a circle");
      index = module_.functions[index].alias_of;
    }
  };
  const auto visit = [&](auto&& self, std::vector<Operand>& operands) -> void {
    for (Operand& operand : operands) {
      if (operand.kind == OperandKind::kFunction) resolve_one(operand.index);
      self(self, operand.elements);
    }
  };
  for (Function& function : module_.functions) {
    for (Instruction& instruction : function.body) visit(visit, instruction.operands);
    for (TargetList& list : function.call_targets) {
      for (std::uint32_t& target : list.targets) resolve_one(target);
    }
  }
}

SourceLocation Parser::location_numbers() {
  SourceLocation location;
  location.file = static_cast<std::uint32_t>(expect_integer("the number of a file"));
  location.line = static_cast<std::uint32_t>(expect_integer("a line"));
  location.column = static_cast<std::uint32_t>(expect_integer("a column"));
  return location;
}

std::uint32_t Parser::add_location(const SourceLocation& location) {
  auto& all = module_.locations;
  // The same place comes again and again where code was inlined: it is among the last ones then.
  constexpr std::size_t kLookBack = 8;
  for (std::size_t back = 1; back <= kLookBack && back <= all.size(); ++back) {
    if (all[all.size() - back] == location) return static_cast<std::uint32_t>(all.size() - back);
  }
  all.push_back(location);
  return static_cast<std::uint32_t>(all.size() - 1);
}

// .loc file line column [, function_name label [+ offset]] [, inlined_at file line column]
void Parser::location_directive() {
  SourceLocation location = location_numbers();
  while (accept(',')) {
    const std::string_view word = expect_word("function_name or inlined_at");
    if (word == "inlined_at") {
      location.inlined_at = add_location(location_numbers());
    } else if (word == "function_name") {
      expect_word("a label");
      if (accept('+')) expect_integer("an offset");
    } else {
      fail(fmt::format("function_name or inlined_at expected, found '{}'", word.substr(0, 60)));
    }
  }
  location_ = add_location(location);
}

void Parser::add_list(const Token& name, OperandKind kind, std::size_t index) {
  if (!scopes_[scope_].lists.emplace(name.text, NamedList{kind, static_cast<std::uint32_t>(index)}).second) {
    fail_at(name, fmt::format("'{}' is defined twice", name.text));
  }
}

void Parser::list_directive(const Token& name) {
  if (accept_dot("callprototype")) return prototype(name);
  if (accept_dot("branchtargets")) return branch_targets(name);
  accept_dot("calltargets");
  call_targets(name);
}

// name: .callprototype (.param .b32 _) _ (.param .b64 _) [.noreturn];
void Parser::prototype(const Token& name) {
  Function heading;
  if (token_.is('(')) {
    parameter_list(heading);
    heading.return_count = static_cast<std::uint32_t>(heading.variables.size());
  }
  expect_word("'_'");
  heading.param_bytes = 0;
  if (token_.is('(')) parameter_list(heading);
  function_directives(heading);
  expect(';', "after a call prototype");
  add_list(name, OperandKind::kPrototype, function_->prototypes.size());
  function_->prototypes.push_back({name.text, heading.return_count, heading.param_bytes,
                                   heading.does_not_return, std::move(heading.variables)});
}

void Parser::branch_targets(const Token& name) {
  const std::size_t index = function_->branch_targets.size();
  do {
    const Token at = token_;
    expect_word("a label");
    note_label_use(at, kInList, static_cast<std::uint32_t>(index));
  } while (accept(','));
  expect(';', "after branch targets");
  add_list(name, OperandKind::kBranchTargets, index);
  function_->branch_targets.push_back({name.text, {}});
}

void Parser::call_targets(const Token& name) {
  TargetList list{name.text, {}};
  do {
    const Token at = token_;
    const auto found = functions_.find(std::string(expect_word("a function")));
    if (found == functions_.end()) fail_at(at, fmt::format("function '{}' is not declared", at.text));
    list.targets.push_back(found->second);
  } while (accept(','));
  expect(';', "after call targets");
  add_list(name, OperandKind::kCallTargets, function_->call_targets.size());
  function_->call_targets.push_back(std::move(list));
}

}  // namespace refrain::ptx
