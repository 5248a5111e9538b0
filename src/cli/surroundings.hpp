// What is around a program: refrain's libraries, a driver, the environment it is to get. Nothing is started
// here.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/program_file.hpp"

namespace refrain::cli {

struct Libraries {
  std::string preload;
  std::string simgpu_folder;
};

// Beside this very program. Throws UsageError where the library is missing.
Libraries find_libraries();
bool has_real_driver();

// Throws UsageError where nothing can be preloaded into the program, or it cannot run on that device.
void check_program(const ProgramFile& program, bool simulated);

// Ours first, whatever else is to be preloaded, or found, behind it.
void add_preload(std::map<std::string, std::string>& variables, const Libraries& libraries, bool simulated);
// This process's environment, with these variables in the place of its own.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& variables);

}  // namespace refrain::cli
