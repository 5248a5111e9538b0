// What every call checks first. It must not change what the device holds.
#include "simgpu/driver/session.hpp"

#include <unistd.h>

#include "simgpu/driver/graph.hpp"

namespace refrain::simgpu::driver {
namespace {

Device& need_device() {
  Device* device = find_device();
  require(device != nullptr, CUDA_ERROR_NOT_INITIALIZED);
  require(!thread_state().in_host_function, CUDA_ERROR_NOT_PERMITTED);
  return *device;
}

}  // namespace

ThreadState& thread_state() {
  // A plain pointer, so that it still works in static destructors, when the main thread's own are through;
  // the main thread's state is never destroyed.
  thread_local ThreadState* state = nullptr;
  struct Owner {
    ~Owner() {
      if (gettid() == getpid()) return;
      delete state;
      state = nullptr;
    }
  };
  if (state == nullptr) {
    state = new ThreadState;
    thread_local const Owner owner;
    static_cast<void>(owner);
  }
  return *state;
}

Session::Session(Need need) : device(need_device()), lock(device.mutex) {
  device.queue.tick(lock);
  if (need == Need::kDevice) return;
  const auto& stack = thread_state().contexts;
  require(!stack.empty() && stack.back() != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  context = stack.back();
  require(device.contexts.find(context.get()) != nullptr, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  check_fault();
}

StreamRef Session::stream(CUstream handle) {
  if (handle == nullptr) handle = thread_state().per_thread_default ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  if (handle == CU_STREAM_LEGACY) return context->legacy_stream;
  if (handle == CU_STREAM_PER_THREAD) {
    StreamRef& own = context->thread_streams[std::this_thread::get_id()];
    if (own == nullptr) own = make_stream(device, *context, CU_STREAM_DEFAULT, 0);
    return own;
  }
  StreamRef named = device.streams.need(handle);
  enter(*named->context);
  return named;
}

void Session::enter(const Context& other) {
  context = device.contexts.need(&other, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  check_fault();
}

Ordinal current_ordinal() {
  const auto& stack = thread_state().contexts;
  return stack.empty() || stack.back() == nullptr ? Ordinal{0} : stack.back()->ordinal;
}

void Session::forbid_while_capturing() {
  const CUstreamCaptureMode own = thread_state().capture_mode;
  if (own == CU_STREAM_CAPTURE_MODE_RELAXED) return;
  bool forbidden = false;
  for (const auto& weak : device.captures) {
    const auto capture = weak.lock();
    if (capture == nullptr || capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
    const bool here = capture->thread == std::this_thread::get_id();
    const bool everywhere =
        own == CU_STREAM_CAPTURE_MODE_GLOBAL && capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (here || everywhere) {
      capture->invalid = true;
      forbidden = true;
    }
  }
  require(!forbidden, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

void Session::forbid_wait_on(const Stream& stream) {
  if (stream.capture != nullptr) {
    stream.capture->invalid = true;
    throw CudaError(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
  if (!stream.legacy) return;
  for (const StreamRef& other : stream.context->streams) {
    if (other->capture != nullptr && other->blocking()) {
      other->capture->invalid = true;
      throw CudaError(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    }
  }
}

void Session::wait(const ItemRef& item) {
  device.queue.wait(lock, item);
  check_fault();
}

void Session::wait_all() {
  device.queue.wait_all(lock, *context);
  check_fault();
}

void Session::wait_everywhere() {
  std::vector<ContextRef> all;
  for (const auto& [handle, other] : device.contexts.all()) all.push_back(other);
  for (const ContextRef& other : all) device.queue.wait_all(lock, *other);
  check_fault();
}

void report_exception(const std::exception& error) noexcept {
  say(error.what());
}

}  // namespace refrain::simgpu::driver
