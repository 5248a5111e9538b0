// CUPTI's library: found, opened, and its functions looked up. Must not call any that starts it.
#pragma once

#include <cupti.h>

#include <string>

namespace refrain::cuda {

struct CuptiLibrary {
#define CALL(symbol) decltype(&::symbol) symbol = nullptr;
#include "cuda/cupti_calls.def"
#undef CALL

  // Opens it once in a process, and for good: it has threads of its own. Returns why not, or nothing.
  std::string open(int driver_version);
  // "cuptiSubscribe: NOT_INITIALIZED"
  std::string describe(const char* function, CUptiResult result) const;
};

}  // namespace refrain::cuda
