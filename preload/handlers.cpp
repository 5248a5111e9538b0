// The table that the exported stubs jump through, and what a barrier does.
#include "preload/handlers.hpp"

#include "preload/memory_handlers.hpp"
#include "preload/object_handlers.hpp"
#include "preload/work_handlers.hpp"

using namespace refrain::preload;

namespace {

// No exception crosses into the program. The only one that the code below throws on purpose is for host
// memory.
template <auto Handler>
struct Guarded;
template <class... Args, CUresult (*Handler)(Args...)>
struct Guarded<Handler> {
  static CUresult call(Args... args) noexcept {
    try {
      return Handler(args...);
    } catch (const std::bad_alloc&) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
};

CUresult make_barrier(Barrier barrier) {
  refrain::cuda::Runtime* r = runtime();
  if (!r) return CUDA_SUCCESS;
  return r->before_unfollowed(name_of(barrier), unfollowed_call);
}

struct BarrierAnswer {
  void* real;           // where to go on, or nullptr:
  std::int64_t result;  // what the program gets instead
};

}  // namespace

extern "C" {
// In the order of hooks.def. Filled in by the linker: stubs may run before any constructor.
extern __attribute__((visibility("hidden"))) void* const refrain_handlers[];
void* const refrain_handlers[] = {
#define HOOK(symbol, handler) reinterpret_cast<void*>(&Guarded<handler<Hook::k_##symbol>>::call),
#include "preload/hooks.def"
#undef HOOK
};

__attribute__((visibility("hidden"))) BarrierAnswer refrain_on_barrier(std::uint32_t index) {
  const auto barrier = static_cast<Barrier>(index);
  void* const function = real_function(barrier);
  if (!function) return {nullptr, CUDA_ERROR_NOT_SUPPORTED};
  const CUresult result = Guarded<make_barrier>::call(barrier);
  if (result != CUDA_SUCCESS) return {nullptr, result};
  return {function, 0};
}
}
