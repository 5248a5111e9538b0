// What a model finds wrong goes to whoever runs it: a GoogleTest, or a soak that has none. No policy here.
#pragma once

#include <string>

namespace refrain::engine::test {

// Set by the program that the model is part of.
extern void (*on_wrong)(const char* what);

inline void must(bool condition, const char* what) {
  if (!condition) on_wrong(what);
}

}  // namespace refrain::engine::test
