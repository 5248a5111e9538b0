// Names of kernels as the source has them.
#pragma once

#include <string>

namespace refrain::access {

// "scale(float*, float, int)" for "_Z5scalePffi"; what is no mangled name comes back as it is.
std::string demangled(const std::string& name);

}  // namespace refrain::access
