// Starting the driver and the primary contexts, whose devices are current, and the last error. It must not
// start anything before the first call.
#include "simgpu/runtime/call.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
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
std::set<int>& retained() {                  // devices whose primary context we hold once
  static auto* devices = new std::set<int>;  // never destroyed: used while the process ends
  return *devices;
}
std::atomic<int> default_device{0};

// At the end of the process, as the program's own exit handlers are through: gives back the primary contexts.
void shut_down() {
  const DriverApi& cu = driver_api(DefaultStream::kLegacy);
  std::lock_guard lock(context_mutex);
  if (retained().empty()) return;
  forget_loaded(cu);
  for (const int device : retained()) cu.cuDevicePrimaryCtxRelease(device);
  retained().clear();
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
  check(cu.cuCtxSetCurrent(primary_of(cu, current_device(cu))));
}

const AtExit at_exit;  // a constructor of the library runs before those of the program

}  // namespace

ThreadState& thread_state() {
  thread_local ThreadState state;
  return state;
}

int current_device(const DriverApi& cu) {
  CUcontext context = nullptr;
  CUdevice device = 0;
  check(cu.cuCtxGetCurrent(&context));
  if (context != nullptr && cu.cuCtxGetDevice(&device) == CUDA_SUCCESS) return device;
  const int chosen = thread_state().device;
  return chosen >= 0 ? chosen : default_device.load();
}

CUcontext primary_of(const DriverApi& cu, int device) {
  std::lock_guard lock(context_mutex);
  CUcontext context = nullptr;
  unsigned flags = 0;
  int active = 0;
  check(cu.cuDevicePrimaryCtxGetState(device, &flags, &active));
  check(cu.cuDevicePrimaryCtxRetain(&context, device));
  // One reference for the process.
  if (active != 0 && retained().contains(device)) check(cu.cuDevicePrimaryCtxRelease(device));
  retained().insert(device);
  AtExit::started = true;
  return context;
}

void set_default_device(int device) {
  default_device = device;
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
    const int device = current_device(cu);
    std::lock_guard lock(context_mutex);
    check(cu.cuDevicePrimaryCtxReset(device));
    retained().erase(device);
    thread_state().device = device;
    check(cu.cuCtxSetCurrent(nullptr));
    renew_managed(cu);
  });
  if (result == cudaSuccess) thread_state().last_error = cudaSuccess;
  return result;
}
