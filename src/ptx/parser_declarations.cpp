// Module-level PTX: header directives, variables with initialisers, function headings and parameters.
// It must not look inside function bodies.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "ptx/names.hpp"
#include "ptx/parser.hpp"

namespace refrain::ptx {
namespace {

// A larger variable or parameter is damage or cannot exist on any device.
constexpr std::uint64_t kMaxVariableBytes = 1ull << 36;
constexpr std::uint64_t kMaxInitialBytes = 1ull << 30;
constexpr std::uint32_t kMaxInitializerDepth = 16;

}  // namespace

void Parser::skip_statement() {
  while (!token_.is(';')) {
    if (token_.kind == TokenKind::kEnd) fail("';' expected before the end of the text");
    advance();
  }
  advance();
}

void Parser::skip_braces() {
  expect('{', "before a section's contents");
  for (int depth = 1; depth > 0; advance()) {
    if (token_.kind == TokenKind::kEnd) fail("'}' expected before the end of the text");
    if (token_.is('{')) ++depth;
    if (token_.is('}')) --depth;
  }
}

void Parser::header_directive(std::string_view word) {
  if (word == "version") {
    if (token_.kind != TokenKind::kFloat64)
      fail(fmt::format("a version such as 9.0 expected, found {}", shown()));
    // 8.7 has no exact double: read it as tenths.
    const double value = std::bit_cast<double>(token_.value);
    if (!(value > 0 && value < 1000)) fail("a version such as 9.0 expected");
    const auto tenths = static_cast<std::uint32_t>(std::lround(value * 10));
    module_.version_major = tenths / 10;
    module_.version_minor = tenths % 10;
    advance();
  } else if (word == "target") {
    module_.target = expect_word("a target such as sm_75");
    while (accept(',')) expect_word("a target option");
  } else if (word == "address_size") {
    module_.address_bits = static_cast<std::uint32_t>(expect_integer("an address size of 32 or 64"));
    if (module_.address_bits != 64) fail("only .address_size 64 is supported");
  } else if (word == "file") {
    file_directive();
  } else if (word == "alias") {
    alias_directive();
  } else if (word == "section") {
    while (!token_.is('{') && token_.kind != TokenKind::kEnd) advance();
    skip_braces();
  } else {
    skip_statement();
  }
}

Linkage Parser::linkage_words() {
  Linkage linkage;
  while (true) {
    if (accept_dot("extern")) {
      linkage.is_extern = true;
    } else if (accept_dot("visible")) {
      linkage.is_visible = true;
    } else if (accept_dot("weak")) {
      linkage.is_weak = true;
    } else if (accept_dot("common")) {
      linkage.is_common = true;
    } else {
      return linkage;
    }
  }
}

// .attribute(.managed, .unified(low, high))
bool Parser::attribute_words(Attributes& attributes) {
  if (!accept_dot("attribute")) return false;
  expect('(', "after .attribute");
  do {
    if (accept_dot("managed")) {
      attributes.is_managed = true;
    } else if (accept_dot("unified")) {
      attributes.is_unified = true;
      if (accept('(')) {
        attributes.unified_id[0] = expect_integer("an identifier");
        expect(',', "between the parts of an identifier");
        attributes.unified_id[1] = expect_integer("an identifier");
        expect(')', "after an identifier");
      }
    } else {
      fail(fmt::format("unsupported attribute {}", shown()));
    }
  } while (accept(','));
  expect(')', "after attributes");
  return true;
}

void Parser::module_item() {
  if (accept(';')) return;
  if (token_.kind != TokenKind::kDotWord) fail(fmt::format("a directive expected, found {}", shown()));
  const Linkage linkage = linkage_words();
  if (const auto space = state_space()) return module_variables(*space, linkage);
  const Token word = token_;
  if (accept_dot("entry")) return function(true, linkage);
  if (accept_dot("func")) return function(false, linkage);
  for (const char* known : {"version", "target", "address_size", "file", "section", "pragma", "alias"}) {
    if (word.is_dot(known)) {
      advance();
      return header_directive(word.text);
    }
  }
  fail(fmt::format("unsupported directive {}", shown()));
}

std::optional<Space> Parser::state_space() {
  if (token_.kind != TokenKind::kDotWord) return std::nullopt;
  const auto space = find_space(token_.text);
  if (space) advance();
  return space;
}

void Parser::dimensions(Variable& variable) {
  std::uint64_t count = 1;
  bool unsized = false;
  while (accept('[')) {
    variable.is_array = true;
    if (accept(']')) {
      unsized = true;
      continue;
    }
    const std::uint64_t extent = expect_integer("an array size");
    if (extent != 0 && count > kMaxVariableBytes / extent) fail("array is too large");
    count *= extent;
    expect(']', "after an array size");
  }
  if (variable.size_bytes != 0 && count > kMaxVariableBytes / variable.size_bytes) fail("array is too large");
  variable.size_bytes = unsized ? 0 : variable.size_bytes * count;
}

// Reads [.align N] [.v2] .type name[dims]; attributes such as .ptr .global .align 4 of parameters are
// accepted.
Parser::Declared Parser::declaration(Space space) {
  Declared result;
  Variable& variable = result.variable;
  variable.space = space;
  variable.line = token_.line;
  std::uint32_t align = 0;
  std::uint32_t width = 1;
  while (token_.kind == TokenKind::kDotWord) {
    if (accept_dot("align")) {
      const std::uint64_t value = expect_integer("an alignment");
      if (!std::has_single_bit(value) || value > 4096) fail("alignment must be a power of two up to 4096");
      if (align == 0) align = static_cast<std::uint32_t>(value);
    } else if (accept_dot("ptr")) {
      state_space();
      if (accept_dot("align")) expect_integer("an alignment");
    } else if (attribute_words(variable.attributes)) {
      continue;
    } else if (accept_dot("v2")) {
      width = 2;
    } else if (accept_dot("v4")) {
      width = 4;
    } else if (const auto type = find_type(token_.text)) {
      variable.type = *type;
      advance();
    } else {
      fail(fmt::format("a type expected, found {}", shown()));
    }
  }
  if (variable.type == Type::kNone || variable.type == Type::kPred)
    fail("a variable needs a type such as .b32");
  variable.size_bytes = bytes_of(variable.type) * width;
  variable.align_bytes = align != 0 ? align : static_cast<std::uint32_t>(variable.size_bytes);
  result.name = expect_word("a variable's name");
  variable.name = result.name;
  dimensions(variable);
  return result;
}

void Parser::store_element(const Variable& variable, std::vector<std::byte>& bytes,
                           std::uint64_t bits) const {
  if (bytes.size() >= kMaxInitialBytes) fail("initialiser is too large");
  const std::uint32_t size = bytes_of(variable.type);
  std::byte raw[16] = {};
  std::memcpy(raw, &bits, sizeof bits);
  bytes.insert(bytes.end(), raw, raw + size);
}

void Parser::initial_value(Variable& variable, std::vector<std::byte>& bytes) {
  if (token_.kind == TokenKind::kWord) {
    std::string_view name = expect_word("a name");
    const bool generic = name == "generic" && accept('(');
    if (generic) name = expect_word("a variable's name");
    if (generic) expect(')', "after generic(name");
    Relocation relocation{bytes.size(), std::string(name), 0};
    if (token_.is('+') || token_.is('-')) relocation.addend = signed_integer("a displacement");
    if (bytes_of(variable.type) != 8) fail("an address needs a 64-bit element");
    variable.relocations.push_back(std::move(relocation));
    return store_element(variable, bytes, 0);
  }
  const Operand value = immediate(accept('-'));
  std::uint64_t bits = static_cast<std::uint64_t>(value.value);
  if (value.kind == OperandKind::kFloat64 && variable.type == Type::kF32) {
    bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
  } else if (value.kind == OperandKind::kFloat32 && variable.type == Type::kF64) {
    bits = std::bit_cast<std::uint64_t>(
        static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
  }
  store_element(variable, bytes, bits);
}

void Parser::initial_values(Variable& variable, std::vector<std::byte>& bytes, std::uint32_t depth) {
  if (depth > kMaxInitializerDepth) fail("initialiser is nested too deeply");
  if (!accept('{')) return initial_value(variable, bytes);
  while (!accept('}')) {
    initial_values(variable, bytes, depth + 1);
    if (!token_.is('}')) expect(',', "between initial values");
  }
}

void Parser::initializer(Variable& variable) {
  const Token at = token_;
  // Rows shorter than a declared dimension would need padding: only flat or full nesting is accepted.
  initial_values(variable, variable.initial, 0);
  if (variable.size_bytes == 0) variable.size_bytes = variable.initial.size();
  if (variable.initial.size() > variable.size_bytes) fail_at(at, "initialiser is larger than its variable");
  variable.initial.resize(variable.size_bytes > kMaxInitialBytes ? variable.initial.size()
                                                                 : variable.size_bytes);
}

void Parser::module_variables(Space space, const Linkage& linkage) {
  const bool is_extern = linkage.is_extern;
  Declared declared = declaration(space);
  while (true) {
    Variable& variable = declared.variable;
    variable.is_extern = is_extern;
    variable.linkage = linkage;
    if (accept('=')) initializer(variable);
    const auto [place, added] =
        module_variables_.emplace(variable.name, static_cast<std::uint32_t>(module_.variables.size()));
    const Type type = variable.type;
    const std::uint32_t align = variable.align_bytes;
    const Attributes attributes = variable.attributes;
    if (added) {
      module_.variables.push_back(std::move(variable));
    } else if (module_.variables[place->second].is_extern) {
      module_.variables[place->second] = std::move(variable);
    } else if (!is_extern) {
      fail(fmt::format("variable '{}' is defined twice", variable.name));
    }
    if (!accept(',')) break;
    declared = Declared{};
    declared.name = expect_word("a variable's name");
    declared.variable.name = declared.name;
    declared.variable.space = space;
    declared.variable.type = type;
    declared.variable.align_bytes = align;
    declared.variable.attributes = attributes;
    declared.variable.line = token_.line;
    declared.variable.size_bytes = bytes_of(type);
    dimensions(declared.variable);
  }
  expect(';', "after a variable");
}

std::uint64_t Parser::place_parameter(Variable& variable, std::uint64_t end) {
  const std::uint64_t align = variable.align_bytes;
  variable.offset_bytes = (end + align - 1) / align * align;
  return variable.offset_bytes + variable.size_bytes;
}

// Reads ( .param … , … ) into function.variables; .reg parameters are not used by any current compiler.
void Parser::parameter_list(Function& function) {
  std::uint64_t end = 0;
  expect('(', "before parameters");
  while (!accept(')')) {
    if (!accept_dot("param")) fail(fmt::format(".param expected, found {}", shown()));
    Declared declared = declaration(Space::kParam);
    end = place_parameter(declared.variable, end);
    if (function_ == &function) {
      scopes_[0].variables[declared.name] = static_cast<std::uint32_t>(function.variables.size());
    }
    function.variables.push_back(std::move(declared.variable));
    if (!token_.is(')')) expect(',', "between parameters");
  }
  function.param_bytes = end;
}

void Parser::function_directives(Function& function) {
  while (token_.kind == TokenKind::kDotWord) {
    const std::string_view word = token_.text;
    advance();
    if (word == "maxntid" || word == "reqntid") {
      std::uint64_t product = 1;
      do {
        const std::uint64_t extent = expect_integer("a number of threads");
        if (extent == 0 || extent > 1024) fail("a block has 1 to 1024 threads");
        product *= extent;
      } while (accept(','));
      function.max_threads = static_cast<std::uint32_t>(product);
    } else if (word == "reqnctapercluster") {
      std::uint64_t product = 1;
      do product *= std::min<std::uint64_t>(expect_integer("a number of blocks"), 1u << 16);
      while (accept(','));
      function.cluster_size = static_cast<std::uint32_t>(std::min<std::uint64_t>(product, 1u << 16));
    } else if (word == "minnctapersm" || word == "maxnctapersm" || word == "maxnreg" ||
               word == "abi_preserve" || word == "abi_preserve_control" || word == "maxclusterrank") {
      expect_integer("a number");
    } else if (word == "pragma") {
      skip_statement();
    } else if (word == "noreturn") {
      function.does_not_return = true;
    } else if (word != "explicitcluster" && word != "blocksareclusters") {
      fail(fmt::format("unsupported function directive '.{}'", word));
    }
  }
}

void Parser::function(bool is_entry, const Linkage& linkage) {
  Function parsed;
  parsed.is_entry = is_entry;
  parsed.linkage = linkage;
  location_ = Instruction::kNoLocation;
  parsed.line = token_.line;
  scopes_.assign(1, Scope{});
  scope_ = 0;
  label_uses_.clear();
  function_ = &parsed;
  attribute_words(parsed.attributes);
  if (!is_entry && token_.is('(')) {
    parameter_list(parsed);
    parsed.return_count = static_cast<std::uint32_t>(parsed.variables.size());
  }
  parsed.name = expect_word("a function's name");
  parsed.param_bytes = 0;
  if (token_.is('(')) parameter_list(parsed);
  parsed.param_count = static_cast<std::uint32_t>(parsed.variables.size()) - parsed.return_count;
  function_directives(parsed);
  // Known before its body is read, so that it may call itself.
  const auto [place, added] =
      functions_.emplace(parsed.name, static_cast<std::uint32_t>(module_.functions.size()));
  if (added) {
    Function heading;
    heading.name = parsed.name;
    module_.functions.push_back(std::move(heading));
  }
  if (!accept(';')) {
    if (module_.functions[place->second].is_defined) {
      fail(fmt::format("function '{}' is defined twice", parsed.name));
    }
    body();
    parsed.is_defined = true;
  }
  function_ = nullptr;
  if (parsed.is_defined || !module_.functions[place->second].is_defined) {
    module_.functions[place->second] = std::move(parsed);
  }
}

}  // namespace refrain::ptx
