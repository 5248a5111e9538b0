// Which file it is, and whether somebody else has it. Must not open one that is newer than the driver.
#include "cuda/cupti_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <vector>

namespace refrain::cuda {
namespace {

// Records of kernels are the same in these up to the fields that are read here.
constexpr std::uint32_t kOldestVersion = 19;      // of CUDA 12.0
constexpr std::uint32_t kTooNewVersion = 140000;  // of a CUDA 14.0
constexpr int kMajorVersions[] = {13, 12};

// What tells a process that a tool watches it, by way of CUPTI: the driver and NVTX load what these name.
constexpr const char* kInjections[] = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"};

// Called under a lock of the loader's: nothing may be opened here.
int note_loaded(dl_phdr_info* info, std::size_t, void* loaded) {
  const std::string_view path(info->dlpi_name ? info->dlpi_name : "");
  if (!path.substr(path.rfind('/') + 1).starts_with("libcupti.so")) return 0;
  *static_cast<bool*>(loaded) = true;
  return 1;
}

bool is_loaded() {
  bool loaded = false;
  dl_iterate_phdr(note_loaded, &loaded);
  return loaded;
}

// Where toolkits keep it, after the loader's own places.
std::vector<std::string> folders() {
  std::vector<std::string> found{""};
  const char* const toolkits[] = {std::getenv("CUDA_HOME"), std::getenv("CUDA_PATH"), "/usr/local/cuda"};
  for (const char* toolkit : toolkits) {
    if (!toolkit || !*toolkit) continue;
    for (const char* folder : {"/extras/CUPTI/lib64/", "/lib64/", "/lib/"})
      found.push_back(std::string(toolkit) + folder);
  }
  return found;
}

void* open_any(int driver_version) {
  for (const int major : kMajorVersions) {
    if (major > driver_version / 1000) continue;
    for (const std::string& folder : folders()) {
      const std::string path = folder + "libcupti.so." + std::to_string(major);
      if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    }
  }
  return nullptr;
}

}  // namespace

std::string CuptiLibrary::open(int driver_version) {
  static void* library = nullptr;  // opened by us, for good
  for (const char* variable : kInjections) {
    const char* const value = std::getenv(variable);
    if (value && *value) return std::string(variable) + " names a tool";
  }
  if (!library) {
    if (is_loaded()) return "the program uses it";
    library = open_any(driver_version);
  }
  if (!library) return "not found";
#define CALL(name)                                                \
  name = reinterpret_cast<decltype(name)>(dlsym(library, #name)); \
  if (!name) return "it has no " #name;
#include "cuda/cupti_calls.def"
#undef CALL
  std::uint32_t version = 0;
  const CUptiResult result = cuptiGetVersion(&version);
  if (result != CUPTI_SUCCESS) return describe("cuptiGetVersion", result);
  if (version < kOldestVersion || version >= kTooNewVersion)
    return "its version " + std::to_string(version) + " is not known";
  return {};
}

std::string CuptiLibrary::describe(const char* function, CUptiResult result) const {
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) return "another tool is subscribed";
  const char* text = nullptr;
  std::string_view word;
  if (cuptiGetResultString(result, &text) == CUPTI_SUCCESS && text) word = text;
  constexpr std::string_view kPrefix = "CUPTI_ERROR_";
  if (word.starts_with(kPrefix)) word.remove_prefix(kPrefix.size());
  return std::string(function) + ": " + (word.empty() ? std::to_string(result) : std::string(word));
}

}  // namespace refrain::cuda
