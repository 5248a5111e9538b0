// What the generated entry points of the driver and of the runtime have in common. Must not know either API.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

namespace refrain::simgpu {

// Calls a function so that stream 0 means the calling thread's own default stream. kFlag: returns a reference
// to the calling thread's flag for that.
template <auto kFunction, auto kFlag>
struct PerThread;

template <class Result, class... Arguments, Result (*kFunction)(Arguments...), auto kFlag>
struct PerThread<kFunction, kFlag> {
  static Result call(Arguments... arguments) {
    bool& flag = kFlag();
    const bool before = std::exchange(flag, true);
    const Result result = kFunction(arguments...);
    flag = before;
    return result;
  }
};

// A literal as a template argument.
template <std::size_t kLength>
struct Name {
  constexpr Name(const char (&text)[kLength]) {  // NOLINT: implicit, from a literal
    std::copy_n(text, kLength, characters);
  }
  char characters[kLength];
};

}  // namespace refrain::simgpu

// An exported name without a C++ function of its own: one jump through a pointer, so that any signature fits.
// Use between asm(".text") and the end of a file. Names are only pasted or quoted: headers may have macros of
// the same spelling.
#define SIMGPU_JUMP(text)                \
  asm(".globl " text                     \
      "\n"                               \
      ".type " text ", @function\n" text \
      ":\n"                              \
      "  jmp *simgpu_target_" text       \
      "(%rip)\n"                         \
      ".size " text ", . - " text "\n");
#define SIMGPU_TARGET extern "C" [[gnu::visibility("hidden"), gnu::used]] void* const
