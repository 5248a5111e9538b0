// The .def tables expanded once: names, widths, classes, and hashed look-up by text. No parsing here.
#include "ptx/names.hpp"

#include <fmt/format.h>

#include <unordered_map>

namespace refrain::ptx {
namespace {

struct TypeInfo {
  std::string_view text;
  std::uint32_t bits;
  TypeKind kind;
};
constexpr TypeInfo kTypes[] = {
    {"", 0, TypeKind::kBits},
#define PTX_TYPE(id, text, bits, kind) {text, bits, TypeKind::kind},
#include "ptx/types.def"
#undef PTX_TYPE
};

struct OpcodeInfo {
  std::string_view text;
  OpcodeClass cls;
  std::string_view roles;
};
constexpr OpcodeInfo kOpcodes[] = {
#define PTX_OPCODE(id, text, cls, roles) {text, OpcodeClass::cls, roles},
#include "ptx/opcodes.def"
#undef PTX_OPCODE
    {"unknown", OpcodeClass::kUnknown, ""},
};

constexpr std::string_view kModifiers[] = {
#define PTX_MODIFIER(id, text) text,
#include "ptx/modifiers.def"
#undef PTX_MODIFIER
    "other",
};

struct SpecialInfo {
  std::string_view text;
  std::string_view part;
  std::uint32_t bits;
  SpecialKind kind;
};
constexpr SpecialInfo kSpecials[] = {
#define PTX_SPECIAL(id, text, part, bits, kind) {text, part, bits, SpecialKind::kind},
#include "ptx/special_registers.def"
#undef PTX_SPECIAL
};

constexpr std::string_view kSpaces[] = {"generic", "param", "local", "shared", "global", "const"};

template <class Enum, class Table, class TextOf>
std::unordered_map<std::string_view, Enum> index_of(const Table& table, std::size_t first, TextOf text_of) {
  std::unordered_map<std::string_view, Enum> index;
  for (std::size_t i = first; i < std::size(table); ++i)
    index.emplace(text_of(table[i]), static_cast<Enum>(i));
  return index;
}

template <class Enum>
std::optional<Enum> look_up(const std::unordered_map<std::string_view, Enum>& index, std::string_view text) {
  const auto found = index.find(text);
  if (found == index.end()) return std::nullopt;
  return found->second;
}

}  // namespace

Error::Error(std::uint32_t line, std::uint32_t column, const std::string& message)
    : std::runtime_error(fmt::format("line {}, column {}: {}", line, column, message)),
      line_(line),
      column_(column) {}

std::string_view name_of(Type type) noexcept {
  return kTypes[static_cast<std::size_t>(type)].text;
}
std::uint32_t bits_of(Type type) noexcept {
  return kTypes[static_cast<std::size_t>(type)].bits;
}
TypeKind kind_of(Type type) noexcept {
  return kTypes[static_cast<std::size_t>(type)].kind;
}
std::string_view name_of(Opcode opcode) noexcept {
  return kOpcodes[static_cast<std::size_t>(opcode)].text;
}
OpcodeClass class_of(Opcode opcode) noexcept {
  return kOpcodes[static_cast<std::size_t>(opcode)].cls;
}
std::string_view roles_of(Opcode opcode) noexcept {
  return kOpcodes[static_cast<std::size_t>(opcode)].roles;
}
std::string_view name_of(Modifier modifier) noexcept {
  return kModifiers[static_cast<std::size_t>(modifier)];
}
std::string_view name_of(Space space) noexcept {
  return kSpaces[static_cast<std::size_t>(space)];
}
SpecialKind kind_of(SpecialRegister special) noexcept {
  return kSpecials[static_cast<std::size_t>(special)].kind;
}
std::uint32_t bits_of(SpecialRegister special) noexcept {
  return kSpecials[static_cast<std::size_t>(special)].bits;
}

std::string name_of(const Register& reg) {
  return reg.number < 0 ? std::string(reg.prefix) : fmt::format("{}{}", reg.prefix, reg.number);
}

std::optional<Type> find_type(std::string_view text) {
  static const auto index = index_of<Type>(kTypes, 1, [](const TypeInfo& info) { return info.text; });
  return look_up(index, text);
}

std::optional<Space> find_space(std::string_view text) {
  static const auto index = index_of<Space>(kSpaces, 1, [](std::string_view space) { return space; });
  // What comes after the colons is what the plain space means, or what the operand says anyway.
  if (text == "shared::cta") text = "shared";
  if (text == "param::entry" || text == "param::func") text = "param";
  return look_up(index, text);
}

std::optional<Modifier> find_modifier(std::string_view text) {
  static const auto index = index_of<Modifier>(kModifiers, 0, [](std::string_view word) { return word; });
  if (text.starts_with("L1::")) return Modifier::kL1;
  if (text.starts_with("L2::")) return Modifier::kL2;
  return look_up(index, text);
}

Opcode find_opcode(std::string_view text) {
  static const auto index = index_of<Opcode>(kOpcodes, 0, [](const OpcodeInfo& info) { return info.text; });
  return look_up(index, text).value_or(Opcode::kUnknown);
}

std::optional<SpecialRegister> find_special(std::string_view name, std::string_view part) {
  for (std::size_t i = 0; i < std::size(kSpecials); ++i) {
    if (kSpecials[i].text == name && kSpecials[i].part == part) return static_cast<SpecialRegister>(i);
  }
  return std::nullopt;
}

const Function* Module::find_function(std::string_view name) const noexcept {
  for (const Function& function : functions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

const SourceFile* Module::find_file(std::uint32_t number) const noexcept {
  for (const SourceFile& file : files) {
    if (file.number == number) return &file;
  }
  return nullptr;
}

const Variable* Module::find_variable(std::string_view name) const noexcept {
  for (const Variable& variable : variables) {
    if (variable.name == name) return &variable;
  }
  return nullptr;
}

}  // namespace refrain::ptx
