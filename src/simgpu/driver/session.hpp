// The frame around every API function: initialisation, context, sticky errors, the lock, and exceptions
// turned into return values. It must not know any particular function.
#pragma once

#include <new>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>

#include "simgpu/driver/device.hpp"
#include "simgpu/driver/failure.hpp"

namespace refrain::simgpu::driver {

enum class Need {
  kDevice,   // after cuInit
  kContext,  // and a current context without a fault
};

// The calling thread's state.
struct ThreadState {
  std::vector<ContextRef>
      contexts;  // the stack; the last is current. A destroyed one stays until it is popped
  bool per_thread_default = false;  // stream 0 means CU_STREAM_PER_THREAD in this call
  bool in_host_function = false;    // where no CUDA call is permitted
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
};
ThreadState& thread_state();
// The device of the thread's current context; without one, the first.
Ordinal current_ordinal();

class Session {
 public:
  explicit Session(Need need);

  // The stream that a handle names, default streams included. The call is about its context from then on: it
  // gets that one's faults.
  StreamRef stream(CUstream handle);
  // The call is about that context from here on. Throws its fault.
  void enter(const Context& other);
  // The device of the call's context; without one, the current one.
  Ordinal ordinal() const { return context != nullptr ? context->ordinal : current_ordinal(); }
  // A call that capturing forbids in some modes, such as cuMemAlloc: cuThreadExchangeStreamCaptureMode.
  void forbid_while_capturing();
  // A call that waits for a stream: not while it captures.
  void forbid_wait_on(const Stream& stream);
  // Waits, then passes on a fault of the context.
  void wait(const ItemRef& item);
  void wait_all();
  // For the work of all contexts, for whose faults the call is not.
  void wait_everywhere();
  void check_fault() const { require(context->fault == CUDA_SUCCESS, context->fault); }

  Device& device;
  Lock lock;
  ContextRef context;  // with Need::kContext
};

void report_exception(const std::exception& error) noexcept;

// The API function that a call is of: the default argument of whatever it calls first. Where(): it is counted
// elsewhere.
using Where = std::source_location;

// Runs body(session); body returns nothing or a CUresult.
template <class Body>
CUresult api(Need need, Body&& body, const Where& where = Where::current()) noexcept {
  try {
    if (const std::optional<CUresult> failure = failure_at(where)) return *failure;
    Session session(need);
    if constexpr (std::is_void_v<std::invoke_result_t<Body, Session&>>) {
      body(session);
      return CUDA_SUCCESS;
    } else {
      return body(session);
    }
  } catch (const CudaError& error) {
    return error.code;
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    report_exception(error);
    return CUDA_ERROR_UNKNOWN;
  }
}

}  // namespace refrain::simgpu::driver
