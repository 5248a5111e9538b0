// Looking around before a program is started. Must not change this process's own environment.
#include "cli/surroundings.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "cli/usage_error.hpp"

namespace refrain::cli {
namespace {

namespace fs = std::filesystem;

std::string prepend(const char* variable, const std::string& value, char separator) {
  const char* before = std::getenv(variable);
  return before && *before ? fmt::format("{}{}{}", value, separator, before) : value;
}

}  // namespace

Libraries find_libraries() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  if (error)
    throw UsageError(kOwnFailure, "where refrain is installed cannot be found out: /proc is not mounted");
  Libraries out;
  out.preload = (here / "lib" / "librefrain.so").string();
  const fs::path installed = here / "lib" / "refrain" / "simgpu";
  out.simgpu_folder = (fs::exists(installed) ? installed : here / "lib" / "simgpu").string();
  if (!fs::exists(out.preload))
    throw UsageError(kOwnFailure, fmt::format("{} is missing; build or install refrain again", out.preload));
  return out;
}

bool has_real_driver() {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!driver) return false;
  dlclose(driver);
  return true;
}

void check_program(const ProgramFile& program, bool simulated) {
  if (program.is_elf && !program.is_dynamic) {
    throw UsageError(kOwnFailure, fmt::format("{} is linked statically: no library can be preloaded into it",
                                              program.path));
  }
  if (program.is_setuid && geteuid() != 0) {
    throw UsageError(
        kOwnFailure,
        fmt::format("{} is setuid or setgid: the dynamic linker ignores LD_PRELOAD for it", program.path));
  }
  if (simulated && program.has_device_code && !program.needs_shared_cudart) {
    throw UsageError(
        kOwnFailure,
        fmt::format("{} has the CUDA runtime linked in statically, which needs private tables of NVIDIA's "
                    "driver that the software device does not have: build it with nvcc -cudart shared, or "
                    "run it on a real GPU",
                    program.path));
  }
}

void add_preload(std::map<std::string, std::string>& variables, const Libraries& libraries, bool simulated) {
  variables["LD_PRELOAD"] = prepend("LD_PRELOAD", REFRAIN_SANITIZER_RUNTIME + libraries.preload, ':');
  if (simulated) variables["LD_LIBRARY_PATH"] = prepend("LD_LIBRARY_PATH", libraries.simgpu_folder, ':');
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text(*entry);
    if (!variables.contains(text.substr(0, text.find('=')))) out.push_back(text);
  }
  for (const auto& [name, value] : variables) out.push_back(fmt::format("{}={}", name, value));
  return out;
}

}  // namespace refrain::cli
