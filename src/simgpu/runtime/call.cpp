// Starting the driver and the primary context, and the last error. It must not start anything before the
// first call.
#include "simgpu/runtime/call.hpp"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "simgpu/runtime/registry.hpp"

namespace refrain::simgpu::runtime {
namespace {

struct ErrorRow {
  int number;
  const char* name;
  const char* text;
};

constexpr ErrorRow kErrors[] = {
#define CUDA_ERROR_ROW(number, driver_name, runtime_name, text) {number, runtime_name, text},
#include "simgpu/errors.def"
#undef CUDA_ERROR_ROW
};

const ErrorRow* find_row(cudaError_t error) {
  for (const ErrorRow& row : kErrors) {
    if (row.number == static_cast<int>(error) && *row.name != '\0') return &row;
  }
  return nullptr;
}

std::mutex context_mutex;
bool context_retained = false;

// At the end of the process, as the program's own exit handlers are through: gives back the primary context.
void shut_down() {
  const DriverApi& cu = driver_api(DefaultStream::kLegacy);
  std::lock_guard lock(context_mutex);
  if (!context_retained) return;
  forget_loaded(cu);
  cu.cuDevicePrimaryCtxRelease(0);
  context_retained = false;
}

// Registered with the first fat binary or the first call, whichever is earlier, so that it runs late.
struct AtExit {
  AtExit() { std::atexit(&shut_down_if_started); }
  static void shut_down_if_started() {
    if (started) shut_down();
  }
  static inline bool started = false;
};

void make_current(const DriverApi& cu) {
  CUcontext context = nullptr;
  check(cu.cuCtxGetCurrent(&context));
  if (context != nullptr) return;
  std::lock_guard lock(context_mutex);
  check(cu.cuDevicePrimaryCtxRetain(&context, 0));
  if (context_retained) check(cu.cuDevicePrimaryCtxRelease(0));  // one reference for the process
  context_retained = true;
  AtExit::started = true;
  check(cu.cuCtxSetCurrent(context));
}

const AtExit at_exit;  // a constructor of the library runs before those of the program

}  // namespace

ThreadState& thread_state() {
  thread_local ThreadState state;
  return state;
}

void say(const char* text) noexcept {
  std::fprintf(stderr, "simgpu runtime: %s\n", text);
}

const DriverApi& ready(Need need) {
  const DriverApi& cu =
      driver_api(thread_state().per_thread_default ? DefaultStream::kPerThread : DefaultStream::kLegacy);
  static const CUresult started = cu.cuInit(0);
  check(started);
  if (need == Need::kContext) make_current(cu);
  return cu;
}

}  // namespace refrain::simgpu::runtime

using namespace refrain::simgpu::runtime;

cudaError_t cudaGetLastError() {
  return std::exchange(thread_state().last_error, cudaSuccess);
}
cudaError_t cudaPeekAtLastError() {
  return thread_state().last_error;
}

const char* cudaGetErrorName(cudaError_t error) {
  const auto* row = find_row(error);
  return row == nullptr ? "unrecognized error code" : row->name;
}

const char* cudaGetErrorString(cudaError_t error) {
  const auto* row = find_row(error);
  return row == nullptr ? "unrecognized error code" : row->text;
}

cudaError_t cudaDeviceReset() {
  const cudaError_t result = call(Need::kDriver, [&](const DriverApi& cu) {
    std::lock_guard lock(context_mutex);
    check(cu.cuDevicePrimaryCtxReset(0));
    context_retained = false;
    check(cu.cuCtxSetCurrent(nullptr));
    renew_managed(cu);
  });
  if (result == cudaSuccess) thread_state().last_error = cudaSuccess;
  return result;
}
