// Several PTX modules made one, as the device linker does with the objects of a program compiled with
// -rdc=true. Names that modules share are resolved; no instruction is looked at beyond its operands.
#pragma once

#include <vector>

#include "ptx/ast.hpp"

namespace refrain::ptx {

// PTX ISA 9.0, "Linking Directives": what is .extern takes the definition of another module; .weak
// definitions give way to others, of several the first counts; of .common variables the largest counts;
// everything that is none of these and not .visible stays its module's own, whatever others call theirs.
// Throws Error for two strong definitions of one name. One module comes back as it is.
Module link(std::vector<Module> modules);

}  // namespace refrain::ptx
