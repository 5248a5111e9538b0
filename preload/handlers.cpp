// The table that the exported stubs jump through, and what a barrier does.
#include "preload/handlers.hpp"

#include "preload/memory_handlers.hpp"
#include "preload/object_handlers.hpp"
#include "preload/work_handlers.hpp"

using namespace refrain::preload;

namespace {

struct BarrierAnswer {
  void* real;           // where to go on, or nullptr:
  std::int64_t result;  // what the program gets instead
};

}  // namespace

extern "C" {
// In the order of hooks.def. Filled in by the linker: stubs may run before any constructor.
extern __attribute__((visibility("hidden"))) void* const refrain_handlers[];
void* const refrain_handlers[] = {
#define HOOK(symbol, handler) reinterpret_cast<void*>(handler<Hook::k_##symbol>),
#include "preload/hooks.def"
#undef HOOK
};

__attribute__((visibility("hidden"))) BarrierAnswer refrain_on_barrier(std::uint32_t index) {
  const auto barrier = static_cast<Barrier>(index);
  void* const function = real_function(barrier);
  if (!function) return {nullptr, CUDA_ERROR_NOT_SUPPORTED};
  refrain::cuda::Runtime* r = runtime();
  const CUresult result = r ? r->barrier(name_of(barrier), [] { return CUDA_SUCCESS; }) : CUDA_SUCCESS;
  if (result != CUDA_SUCCESS) return {nullptr, result};
  return {function, 0};
}
}
