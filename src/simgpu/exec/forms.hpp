// The forms of instructions that are executed; the table is forms.def. Words only: operands are the
// decoder's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptx/ast.hpp"

namespace refrain::simgpu {

// Every word of the instruction has a meaning here, and together they are one that PTX has.
bool is_supported_form(const ptx::Instruction& instruction);

// The words after the opcode, as forms.def spells them.
std::vector<std::string_view> words_of(const ptx::Instruction& instruction);

// Each form of an opcode written out, for tests.
std::vector<std::string> all_forms(ptx::Opcode opcode);

}  // namespace refrain::simgpu
