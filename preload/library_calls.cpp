// The table that the stubs of library functions jump through.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_fp16.h>

#include "preload/cublas_batched.hpp"
#include "preload/library_entries.hpp"

using namespace refrain::preload;

namespace {

// Each handler has the type that the library's header gives the function; some have several there.
#define LIBRARY_CALL(symbol, ...)                                              \
  using Type_##symbol = decltype(&__VA_ARGS__::call<LibraryHook::k_##symbol>); \
  static_assert(std::is_same_v<decltype(static_cast<Type_##symbol>(&::symbol)), Type_##symbol>);
#define LIBRARY_SETTING(symbol, handler)
#include "preload/library_calls.def"
#undef LIBRARY_CALL

}  // namespace

extern "C" {
// In the order of library_calls.def.
extern __attribute__((visibility("hidden"))) void* const refrain_library_handlers[];
void* const refrain_library_handlers[] = {
#define LIBRARY_CALL(symbol, ...) reinterpret_cast<void*>(&__VA_ARGS__::call<LibraryHook::k_##symbol>),
#include "preload/library_calls.def"
#undef LIBRARY_CALL
};
}
