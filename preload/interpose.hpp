// How the process comes to call our functions: which real pointer of the driver has which stub. Knows nothing
// of what the stubs do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace refrain::preload {

enum class Hook : std::uint16_t {
#define HOOK(symbol, handler) k_##symbol,  // pasted: cuda.h would rename the bare name
#include "preload/hooks.def"
#undef HOOK
  kCount,
};
enum class Barrier : std::uint16_t {
#define BARRIER(symbol) k_##symbol,
#include "preload/barriers.def"
#undef BARRIER
  kCount,
};

std::string_view name_of(Hook hook);
std::string_view name_of(Barrier barrier);

// The real function, or nullptr where the driver in use does not have it. Opens the driver at first use.
void* real_function(Hook hook);
void* real_function(Barrier barrier);
// Any function of the driver by its exported name.
void* driver_function(const char* exported_name);

// The stub for a pointer that the driver returned, or nullptr: it is none of the hooked functions. Because
// the driver itself chose the pointer, version and per-thread variant are always those that were asked for.
void* stub_for(const void* real);

// The dlsym of the C library.
void* (*real_dlsym())(void*, const char*);

}  // namespace refrain::preload
