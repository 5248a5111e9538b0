// Text to table entries, for the parser alone. It must not be included outside this folder.
#pragma once

#include <optional>

#include "ptx/ast.hpp"

namespace refrain::ptx {

std::optional<Type> find_type(std::string_view text);
std::optional<Space> find_space(std::string_view text);
std::optional<Modifier> find_modifier(std::string_view text);
Opcode find_opcode(std::string_view text);
// part is "x", "y", "z" or empty.
std::optional<SpecialRegister> find_special(std::string_view name, std::string_view part);

}  // namespace refrain::ptx
