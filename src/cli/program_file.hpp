// What can be told of a program before it is started. Reads its file, runs nothing.
#pragma once

#include <string>

namespace refrain::cli {

struct ProgramFile {
  std::string path;              // as found along PATH
  bool is_elf = false;           // else a script, or something the kernel knows
  bool is_dynamic = false;       // has a dynamic linker: only then can a library be preloaded
  bool is_setuid = false;        // the dynamic linker ignores LD_PRELOAD
  bool has_device_code = false;  // built by nvcc
  bool needs_shared_cudart = false;
};

// Throws UsageError: not found (127), not executable (126).
ProgramFile inspect_program(const std::string& name);

}  // namespace refrain::cli
