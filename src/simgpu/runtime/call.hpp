// The frame around every runtime function: start, context, last error. It must not know any particular
// function.
#pragma once

#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

#include <exception>
#include <new>
#include <type_traits>

#include "simgpu/runtime/driver_api.hpp"

namespace refrain::simgpu::runtime {

// Thrown inside, returned at the C boundary.
struct RuntimeError : std::exception {
  explicit RuntimeError(cudaError_t error) : code(error) {}
  explicit RuntimeError(CUresult error) : code(static_cast<cudaError_t>(error)) {}
  const char* what() const noexcept override { return "a CUDA runtime error code"; }
  cudaError_t code;
};

inline void check(CUresult result) {
  if (result != CUDA_SUCCESS) throw RuntimeError(result);
}
inline void require(bool condition, cudaError_t otherwise = cudaErrorInvalidValue) {
  if (!condition) throw RuntimeError(otherwise);
}

struct ThreadState {
  cudaError_t last_error = cudaSuccess;
  int device = -1;                  // as the thread has chosen; -1: not yet
  bool per_thread_default = false;  // in a function of the per-thread ABI
};
ThreadState& thread_state();

void say(const char* text) noexcept;

enum class Need { kDriver, kContext };

// The driver's functions for this call's default stream; starts the driver, and the primary context where
// needed.
const DriverApi& ready(Need need);

// The thread's device: of its current context, or else that it will have a context of.
int current_device(const DriverApi& cu);
// The primary context of a device, which is kept until the process ends or the device is reset. Throws
// cudaErrorInvalidDevice.
CUcontext primary_of(const DriverApi& cu, int device);
// For threads that choose none.
void set_default_device(int device);

// Runs body(driver functions), which returns nothing, a CUresult or a cudaError_t, and remembers an error.
template <class Body>
cudaError_t call(Need need, Body&& body) noexcept {
  cudaError_t result = cudaSuccess;
  try {
    const DriverApi& cu = ready(need);
    if constexpr (std::is_void_v<std::invoke_result_t<Body, const DriverApi&>>) {
      body(cu);
    } else {
      result = static_cast<cudaError_t>(body(cu));
    }
  } catch (const RuntimeError& error) {
    result = error.code;
  } catch (const std::bad_alloc&) {
    result = cudaErrorMemoryAllocation;
  } catch (const std::exception& error) {
    say(error.what());
    result = cudaErrorUnknown;
  }
  if (result != cudaSuccess) thread_state().last_error = result;
  return result;
}

template <class Body>
cudaError_t call(Body&& body) noexcept {
  return call(Need::kContext, static_cast<Body&&>(body));
}

// A runtime function that is one driver call.
#define SIMGPU_FORWARD(name, parameters, expression)              \
  cudaError_t name parameters {                                   \
    return call([&](const DriverApi& cu) { return expression; }); \
  }

}  // namespace refrain::simgpu::runtime
