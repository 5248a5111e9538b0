// The driver functions that refrain calls itself, as pointers that the owner resolves. No library is linked.
#pragma once

#include <cuda.h>

namespace refrain::cuda {

struct Driver {
// Members bear the exported names: cuda.h turns CALL(cuMemFree) into cuMemFree_v2.
#define CALL(symbol) decltype(&::symbol) symbol = nullptr;
#include "cuda/driver_calls.def"
#undef CALL

  // It is simgpu's: no other library exports what src/simgpu/native/image.hpp names.
  bool software_device = false;

  // Resolves every member by its exported name; returns the first name that is missing, or nullptr.
  template <class Resolve>
  const char* load(Resolve&& resolve) {
    const char* missing = nullptr;
    software_device = resolve("simgpu_native_image_version") != nullptr;
#define CALL_NAME(symbol) #symbol
#define CALL(symbol)                                                       \
  symbol = reinterpret_cast<decltype(symbol)>(resolve(CALL_NAME(symbol))); \
  if (!symbol && !missing) missing = CALL_NAME(symbol);
#include "cuda/driver_calls.def"
#undef CALL
#undef CALL_NAME
    return missing;
  }
};

}  // namespace refrain::cuda
