// Asks the dynamic linker. Must never load a library.
#include "preload/loaded.hpp"

#include <dlfcn.h>
#include <link.h>

#include <string>
#include <vector>

#include "preload/interpose.hpp"

namespace refrain::preload {
namespace {

struct Loaded {
  std::string_view library;
  std::vector<std::string> paths;
};

// Called under a lock of the loader's: nothing may be opened here.
int note_path(dl_phdr_info* info, std::size_t, void* data) {
  Loaded& loaded = *static_cast<Loaded*>(data);
  const std::string_view path(info->dlpi_name ? info->dlpi_name : "");
  if (is_file_of(loaded.library, path)) loaded.paths.emplace_back(path);
  return 0;
}

}  // namespace

void* find_in_loaded(std::string_view library, const char* name) {
  void* const next = real_dlsym()(RTLD_NEXT, name);
  if (next) return next;
  Loaded loaded{.library = library, .paths = {}};
  dl_iterate_phdr(note_path, &loaded);
  for (const std::string& path : loaded.paths) {
    void* const handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) continue;
    void* const found = real_dlsym()(handle, name);
    dlclose(handle);
    if (found) return found;
  }
  return nullptr;
}

}  // namespace refrain::preload
