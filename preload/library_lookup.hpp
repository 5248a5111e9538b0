// The real functions of libraries (cuBLAS, cuBLASLt, cuRAND), which refrain never links. Knows nothing of
// what they do.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace refrain::preload {

enum class LibraryHook : std::uint16_t {
#define LIBRARY_CALL(symbol, ...) k_##symbol,
#include "preload/library_calls.def"
#undef LIBRARY_CALL
  kCount,
};

const char* name_of(LibraryHook hook);

// As `find_in_loaded` has it, in the library that functions of that name are of.
void* find_in_libraries(const char* name);
void* real_function(LibraryHook hook);

// found: what a look-up of the name in some library gave. Our stub, if that is the function that the stub
// calls; else nullptr.
void* library_stub_for(std::string_view name, void* found);

// A function that refrain calls itself.
class LibraryFunction {
 public:
  constexpr explicit LibraryFunction(const char* name) : name_(name) {}
  void* get() {
    void* found = found_.load(std::memory_order_relaxed);
    if (found) return found;
    found = find_in_libraries(name_);
    found_.store(found, std::memory_order_relaxed);
    return found;
  }

 private:
  const char* name_;
  std::atomic<void*> found_{nullptr};
};

// The real function of that name, or nullptr, with the type that its header gives it.
#define REFRAIN_REAL(symbol)                                      \
  ([] {                                                           \
    static ::refrain::preload::LibraryFunction function{#symbol}; \
    return reinterpret_cast<decltype(&::symbol)>(function.get()); \
  }())

}  // namespace refrain::preload
