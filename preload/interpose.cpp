// Look-ups. Runs before main and inside the dynamic linker's callers: no lock but its own, no output.
#include "preload/interpose.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "preload/cupti_clients.hpp"
#include "preload/loaded.hpp"
#include "preload/session.hpp"
#if REFRAIN_LIBRARIES
#include "preload/library_lookup.hpp"
#endif

extern "C" {
// Written once, with the same value by whoever comes first; read by dlsym.S.
__attribute__((visibility("hidden"))) void* refrain_real_dlsym = nullptr;
extern __attribute__((visibility("hidden"))) void* const refrain_hook_stubs[];
extern __attribute__((visibility("hidden"))) void* const refrain_barrier_stubs[];

// A sanitizer's own start-up looks functions up before instrumented code may run: this must not be
// instrumented.
__attribute__((visibility("hidden"), no_sanitize("address", "thread", "undefined"))) void*
refrain_find_real_dlsym() {
  // The newest version first: an older one may be a compatibility symbol that behaves differently.
  void* found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  if (!found) found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  __atomic_store_n(&refrain_real_dlsym, found, __ATOMIC_RELAXED);
  return found;
}
}

namespace refrain::preload {
namespace {

// REFRAIN_CHILDREN=off: programs that this one starts, at whatever moment, are not preloaded.
__attribute__((constructor)) void keep_out_of_children() {
  const char* const children = std::getenv("REFRAIN_CHILDREN");
  const char* const preload = std::getenv("LD_PRELOAD");
  if (!children || !preload || std::string_view(children) != "off") return;
  std::string rest;
  for (std::string_view left(preload); !left.empty();) {
    const std::size_t end = std::min(left.find_first_of(": "), left.size());
    const std::string_view entry = left.substr(0, end);
    if (!entry.empty() && !entry.ends_with("librefrain.so"))
      rest += (rest.empty() ? "" : ":") + std::string(entry);
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  rest.empty() ? unsetenv("LD_PRELOAD") : setenv("LD_PRELOAD", rest.c_str(), 1);
}

constexpr std::size_t kHooks = static_cast<std::size_t>(Hook::kCount);
constexpr std::size_t kBarriers = static_cast<std::size_t>(Barrier::kCount);

constexpr std::array<const char*, kHooks> kHookNames = {
#define HOOK(symbol, handler) #symbol,
#include "preload/hooks.def"
#undef HOOK
};
constexpr std::array<const char*, kBarriers> kBarrierNames = {
#define BARRIER(symbol) #symbol,
#include "preload/barriers.def"
#undef BARRIER
};

struct Tables {
  void* library = nullptr;
  std::array<void*, kHooks> hooks{};
  std::array<void*, kBarriers> barriers{};
  struct Entry {
    const void* real;
    void* stub;
  };
  std::vector<Entry> stubs;  // sorted by real

  Tables() {
    // The program has opened it, or is about to: this only counts one more reference, which is never given
    // back.
    library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!library) return;
    const auto find = real_dlsym();
    for (std::size_t i = 0; i < kHooks; ++i)
      add(hooks[i] = find(library, kHookNames[i]), refrain_hook_stubs[i]);
    for (std::size_t i = 0; i < kBarriers; ++i) {
      add(barriers[i] = find(library, kBarrierNames[i]), refrain_barrier_stubs[i]);
    }
    std::stable_sort(stubs.begin(), stubs.end(),
                     [](const Entry& a, const Entry& b) { return a.real < b.real; });
  }
  void add(const void* real, void* stub) {
    if (real) stubs.push_back({real, stub});
  }
};

const Tables& tables() {
  static const Tables* const instance = new Tables;  // never destroyed: hooks are called until the very end
  return *instance;
}

// library: as its file's name begins.
bool is_in(std::string_view library, const void* address) {
  Dl_info info{};
  if (!dladdr(address, &info) || !info.dli_fname) return false;
  return is_file_of(library, info.dli_fname);
}

}  // namespace

std::string_view name_of(Hook hook) {
  return kHookNames[static_cast<std::size_t>(hook)];
}
std::string_view name_of(Barrier barrier) {
  return kBarrierNames[static_cast<std::size_t>(barrier)];
}

void* real_function(Hook hook) {
  return tables().hooks[static_cast<std::size_t>(hook)];
}
void* real_function(Barrier barrier) {
  return tables().barriers[static_cast<std::size_t>(barrier)];
}

void* driver_function(const char* exported_name) {
  return tables().library ? real_dlsym()(tables().library, exported_name) : nullptr;
}

void* stub_for(const void* real) {
  const auto& stubs = tables().stubs;
  const auto it = std::lower_bound(stubs.begin(), stubs.end(), real,
                                   [](const Tables::Entry& entry, const void* r) { return entry.real < r; });
  return it != stubs.end() && it->real == real ? it->stub : nullptr;
}

void* (*real_dlsym())(void*, const char*) {
  void* found = __atomic_load_n(&refrain_real_dlsym, __ATOMIC_RELAXED);
  if (!found) found = refrain_find_real_dlsym();
  return reinterpret_cast<void* (*)(void*, const char*)>(found);
}

}  // namespace refrain::preload

namespace {
struct Inside {
  bool& flag;
  ~Inside() { flag = false; }
};
}  // namespace

// Names that begin with "cu": the driver's, and those of libraries that are followed; but also those of cuDNN
// and the runtime, which are not ours.
extern "C" __attribute__((visibility("hidden"))) void* refrain_dlsym(void* handle, const char* name) {
  using namespace refrain::preload;
  // CUPTI's own calls of the driver are no program's, and it may make them while the runtime waits for it.
  if (is_in("libcupti.so", __builtin_return_address(0))) return real_dlsym()(handle, name);
  if (std::string_view(name).starts_with("cupti")) return cupti_function(handle, name);
  void* const found = real_dlsym()(handle, name);
  // Opening the driver runs its constructors, which may look functions up themselves: those get the real
  // ones.
  static thread_local bool inside = false;
  if (inside || !found) return found;
#if REFRAIN_LIBRARIES
  if (void* const library_stub = library_stub_for(name, found)) return library_stub;
#endif
  if (!is_in("libcuda.so", found)) return found;
  inside = true;
  const Inside guard{inside};
  void* const stub = stub_for(found);
  Session::instance().count_lookup(stub != nullptr, name);
  return stub ? stub : found;
}
