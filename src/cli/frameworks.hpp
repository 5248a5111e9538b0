// Frameworks that take device memory in large pieces of their own, and the one setting each has against that.
// Finds out which a Python program could import; imports none of them.
#pragma once

#include <string>
#include <vector>

#include "cli/program_file.hpp"

namespace refrain::cli {

struct Adaptation {
  std::string framework;
  std::string variable;  // that makes it allocate each tensor on its own
  std::string value;
};

// Empty where the program is no Python (by its own name, or its first line), or Python finds none of them.
std::vector<Adaptation> adaptations_for(const ProgramFile& program);

}  // namespace refrain::cli
