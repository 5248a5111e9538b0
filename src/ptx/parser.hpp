// The recursive-descent parser behind ptx::parse; for the parser's own files only.
// It builds the tree and resolves names; it must not judge whether an instruction makes sense.
#pragma once

#include <optional>
#include <unordered_map>

#include "ptx/lexer.hpp"

namespace refrain::ptx {

class Parser {
 public:
  explicit Parser(std::string_view text);
  Module run();

 private:
  struct RegisterRange {
    std::uint32_t first;
    std::uint32_t count;
  };
  // A name in front of .callprototype, .branchtargets or .calltargets.
  struct NamedList {
    OperandKind kind;
    std::uint32_t index;
  };
  // Names that a { } block declares. Labels are resolved when the function is complete.
  struct Scope {
    std::uint32_t parent;
    std::unordered_map<std::string_view, std::uint32_t> registers;
    std::unordered_map<std::string_view, RegisterRange> ranges;
    std::unordered_map<std::string_view, std::uint32_t> variables;
    std::unordered_map<std::string_view, std::uint32_t> labels;
    std::unordered_map<std::string_view, NamedList> lists;
  };
  struct LabelUse {
    std::string_view name;
    std::uint32_t scope;
    std::uint32_t instruction;  // of an operand; or kInList
    std::uint32_t operand;      // or, in a list of branch targets: which list
    std::uint32_t line;
    std::uint32_t column;
  };
  static constexpr std::uint32_t kInList = 0xffffffff;
  struct Declared {
    Variable variable;
    std::string_view name;
  };

  // Tokens
  void advance() { token_ = lexer_.next(); }
  bool accept(char punctuation);
  bool accept_dot(std::string_view word);
  void expect(char punctuation, const char* where);
  std::string_view expect_word(const char* what);
  std::uint64_t expect_integer(const char* what);
  std::int64_t signed_integer(const char* what);
  [[noreturn]] void fail(const std::string& message) const;
  [[noreturn]] void fail_at(const Token& at, const std::string& message) const;
  std::string shown() const;

  // Module level (parser_declarations.cpp)
  void module_item();
  void header_directive(std::string_view word);
  void skip_statement();
  void skip_braces();
  void file_directive();
  void alias_directive();
  void resolve_aliases();
  Linkage linkage_words();
  bool attribute_words(Attributes& attributes);
  void function(bool is_entry, const Linkage& linkage);
  void parameter_list(Function& function);
  void function_directives(Function& function);
  void module_variables(Space space, const Linkage& linkage);
  std::optional<Space> state_space();
  Declared declaration(Space space);
  void dimensions(Variable& variable);
  void initializer(Variable& variable);
  void initial_values(Variable& variable, std::vector<std::byte>& bytes, std::uint32_t depth);
  void initial_value(Variable& variable, std::vector<std::byte>& bytes);
  void store_element(const Variable& variable, std::vector<std::byte>& bytes, std::uint64_t bits) const;
  static std::uint64_t place_parameter(Variable& variable, std::uint64_t end);

  // Function bodies (parser_body.cpp)
  void body();
  void statement(std::uint32_t depth);
  void body_directive();
  void location_directive();
  std::uint32_t add_location(const SourceLocation& location);
  SourceLocation location_numbers();
  void list_directive(const Token& name);
  void prototype(const Token& name);
  void branch_targets(const Token& name);
  void call_targets(const Token& name);
  void add_list(const Token& name, OperandKind kind, std::size_t index);
  void register_declaration();
  void body_variables(Space space);
  void label_or_instruction();
  void guard(Instruction& instruction);
  void instruction(Instruction instruction, const Token& opcode);
  void opcode_words(Instruction& instruction, const Token& opcode);
  void call_operands(Instruction& instruction);
  Operand argument_list();
  Operand operand();
  Operand operand_after_not();
  Operand element();
  Operand name_operand();
  Operand address();
  Operand vector();
  Operand immediate(bool negative);
  std::optional<std::uint32_t> find_register(std::string_view name) const;
  std::optional<std::uint32_t> find_variable(std::string_view name) const;
  bool resolve(std::string_view name, Operand& operand) const;
  void note_label_use(const Token& at, std::uint32_t instruction, std::uint32_t operand);
  void resolve_labels();
  bool resolve_label(const LabelUse& use, const Scope& scope);

  std::shared_ptr<const std::string> text_;
  Lexer lexer_;
  Token token_;
  Module module_;
  std::unordered_map<std::string, std::uint32_t> module_variables_;
  std::unordered_map<std::string, std::uint32_t> functions_;

  Function* function_ = nullptr;
  std::vector<Scope> scopes_;
  std::uint32_t scope_ = 0;
  std::vector<LabelUse> label_uses_;
  std::uint32_t location_ = Instruction::kNoLocation;
  std::uint32_t operand_depth_ = 0;
  bool has_aliases_ = false;
};

}  // namespace refrain::ptx
