// Finding the real functions of libraries. Must never load a library.
#include "preload/library_lookup.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "preload/interpose.hpp"

extern "C" __attribute__((visibility("hidden"))) void* const refrain_library_stubs[];

namespace refrain::preload {
namespace {

constexpr std::size_t kHooks = static_cast<std::size_t>(LibraryHook::kCount);

constexpr std::array<const char*, kHooks> kNames = {
#define LIBRARY_CALL(symbol, ...) #symbol,
#include "preload/library_calls.def"
#undef LIBRARY_CALL
};

std::array<std::atomic<void*>, kHooks> real_functions{};

bool is_ours(const void* address) {
  return std::find(refrain_library_stubs, refrain_library_stubs + kHooks, address) !=
         refrain_library_stubs + kHooks;
}

struct Loaded {
  std::string prefix;  // of a library's file: libcublas.so, libcublasLt.so, libcurand.so
  std::vector<std::string> paths;
};

// Called under a lock of the loader's: nothing may be opened here.
int note_path(dl_phdr_info* info, std::size_t, void* data) {
  Loaded& loaded = *static_cast<Loaded*>(data);
  const std::string_view path(info->dlpi_name ? info->dlpi_name : "");
  if (path.substr(path.rfind('/') + 1).starts_with(loaded.prefix)) loaded.paths.emplace_back(path);
  return 0;
}

std::string library_of(std::string_view function) {
  if (function.starts_with("curand")) return "libcurand.so";
  return function.starts_with("cublasLt") ? "libcublasLt.so" : "libcublas.so";
}

}  // namespace

const char* name_of(LibraryHook hook) {
  return kNames[static_cast<std::size_t>(hook)];
}

void* find_in_libraries(const char* name) {
  void* const next = real_dlsym()(RTLD_NEXT, name);
  if (next) return next;
  Loaded loaded{.prefix = library_of(name), .paths = {}};
  dl_iterate_phdr(note_path, &loaded);
  for (const std::string& path : loaded.paths) {
    void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (!library) continue;
    void* const found = real_dlsym()(library, name);
    dlclose(library);
    if (found) return found;
  }
  return nullptr;
}

void* real_function(LibraryHook hook) {
  std::atomic<void*>& known = real_functions[static_cast<std::size_t>(hook)];
  void* found = known.load(std::memory_order_relaxed);
  if (found) return found;
  found = find_in_libraries(name_of(hook));
  known.store(found, std::memory_order_relaxed);
  return found;
}

void* library_stub_for(std::string_view name, void* found) {
  static const std::unordered_map<std::string_view, std::size_t> numbers = [] {
    std::unordered_map<std::string_view, std::size_t> out;
    for (std::size_t i = 0; i < kHooks; ++i) out.emplace(kNames[i], i);
    return out;
  }();
  const auto number = numbers.find(name);
  if (number == numbers.end() || is_ours(found)) return nullptr;
  const bool same = real_function(static_cast<LibraryHook>(number->second)) == found;
  return same ? refrain_library_stubs[number->second] : nullptr;
}

}  // namespace refrain::preload
