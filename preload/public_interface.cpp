// The functions behind include/refrain/refrain.h. Never an exception into the program, whatever it passes.
#include "refrain/refrain.h"

#include <cuda.h>
#include <sys/types.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "preload/interpose.hpp"
#include "preload/session.hpp"

using refrain::preload::Session;

namespace {

// Asking must not start what the program has not: without a look-up of the driver there is nothing to manage.
Session* session() {
  Session& all = Session::instance();
  return all.managing() && all.seen_cuda() ? &all : nullptr;
}

template <class Function>
Function driver_call(const char* name) {
  return reinterpret_cast<Function>(refrain::preload::driver_function(name));
}

template <class Body>
int guarded(Body&& body) {
  try {
    Session* const active = session();
    return active ? body(*active) : REFRAIN_INACTIVE;
  } catch (const std::bad_alloc&) {
    return REFRAIN_FAILED;
  }
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int refrain_active() {
  return guarded([](Session&) { return REFRAIN_OK; });
}

int refrain_name(const void* address, const char* name) {
  return guarded(
      [&](Session& all) { return name && all.name_tensor(address, name) ? REFRAIN_OK : REFRAIN_UNKNOWN; });
}

int refrain_pin(const void* address) {
  return guarded([&](Session& all) {
    const auto device_address = reinterpret_cast<CUdeviceptr>(address);
    if (!all.runtime().buffer_at(device_address)) return REFRAIN_UNKNOWN;
    return all.runtime().pin(device_address) == CUDA_SUCCESS ? REFRAIN_OK : REFRAIN_FAILED;
  });
}

int refrain_mark(const char* name) {
  return guarded([&](Session& all) {
    all.mark(name ? name : "");
    return REFRAIN_OK;
  });
}

int refrain_get_statistics(refrain_statistics* out) {
  return guarded([&](Session& all) {
    if (!out || out->size < sizeof out->size) return REFRAIN_UNKNOWN;
    const refrain::event::End totals = all.statistics();
    refrain_statistics now{.size = out->size,
                           .evictions = totals.evictions,
                           .evicted_bytes = totals.evicted_bytes,
                           .rematerialisations = totals.rematerialisations,
                           .replayed_ns = totals.replayed_ns,
                           .program_ns = totals.program_ns,
                           .held_bytes_at_most = totals.peak_bytes,
                           .wanted_bytes_at_most = totals.wanted_bytes,
                           .limit_bytes = totals.limit_bytes,
                           .refused = totals.oom};
    std::memcpy(out, &now, std::min(out->size, sizeof now));
    return REFRAIN_OK;
  });
}

// PyTorch has made the device current. Through the exported names, so that these are calls like any other;
// where the library was opened but not preloaded, it sees no launches, and the driver is asked as it is.
void* refrain_torch_alloc(ssize_t bytes, int, void*) {
  const auto allocate = session() ? &cuMemAlloc : driver_call<decltype(&cuMemAlloc)>("cuMemAlloc_v2");
  CUdeviceptr address = 0;
  if (bytes <= 0 || !allocate || allocate(&address, static_cast<std::size_t>(bytes)) != CUDA_SUCCESS)
    return nullptr;
  return reinterpret_cast<void*>(address);
}

void refrain_torch_free(void* address, ssize_t, int, void*) {
  const auto release = session() ? &cuMemFree : driver_call<decltype(&cuMemFree)>("cuMemFree_v2");
  if (address && release) release(reinterpret_cast<CUdeviceptr>(address));
}
}
#pragma GCC visibility pop
