// One handler per row of hooks.def: from a CUDA call to a call of the runtime, or straight to the driver.
// Nothing is decided here.
#pragma once

#include "cuda/inside_library.hpp"
#include "preload/interpose.hpp"
#include "preload/session.hpp"

namespace refrain::preload {

// The real function behind a hook, called with exactly these types.
template <Hook H, class... Args>
CUresult real(Args... args) {
  void* const function = real_function(H);
  if (!function) return CUDA_ERROR_NOT_SUPPORTED;
  return reinterpret_cast<CUresult (*)(Args...)>(function)(args...);
}

// The names that end in _ptsz or _ptds mean the calling thread's default stream where no stream is given.
template <Hook H>
CUstream resolve(CUstream stream) {
  static const bool per_thread = name_of(H).ends_with("_ptsz") || name_of(H).ends_with("_ptds");
  if (stream) return stream;
  return per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

// Set between a barrier's stub and this thread's next call: the real call has returned then.
inline thread_local bool unfollowed_call = false;

// The runtime whose lock this thread holds, because it is inside a library's op; nullptr: it is not.
inline cuda::Runtime* runtime_of_op() {
  return cuda::inside_one_op() ? &Session::instance().runtime() : nullptr;
}

// nullptr: everything goes to the driver as it is.
inline cuda::Runtime* runtime() {
  if (cuda::inside_one_op()) return nullptr;
  Session& session = Session::instance();
  if (!session.managing()) return nullptr;
  if (unfollowed_call) {
    unfollowed_call = false;
    session.runtime().after_unfollowed();
  }
  return &session.runtime();
}

}  // namespace refrain::preload
