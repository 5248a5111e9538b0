// Which library a function is of, and which stub stands for it. Must never load a library.
#include "preload/library_lookup.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "preload/loaded.hpp"

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

std::string_view library_of(std::string_view function) {
  if (function.starts_with("curand")) return "libcurand.so";
  return function.starts_with("cublasLt") ? "libcublasLt.so" : "libcublas.so";
}

}  // namespace

const char* name_of(LibraryHook hook) {
  return kNames[static_cast<std::size_t>(hook)];
}

void* find_in_libraries(const char* name) {
  return find_in_loaded(library_of(name), name);
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
