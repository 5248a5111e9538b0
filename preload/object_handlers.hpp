// Start-up, look-ups, modules, streams and contexts.
#pragma once

#include "preload/external_memory.hpp"
#include "preload/handlers.hpp"

namespace refrain::preload {

template <Hook H>
CUresult init(unsigned flags) {
  if (Session::instance().refuses_to_start()) return CUDA_ERROR_INVALID_VALUE;
  return real<H>(flags);
}

// The driver chooses the pointer for name, version and flags; ours stands for exactly that pointer.
inline CUresult answer(CUresult result, const char* symbol, void** function) {
  if (result != CUDA_SUCCESS || !function || !*function) return result;
  void* const stub = stub_for(*function);
  Session::instance().count_lookup(stub != nullptr, symbol);
  if (stub) *function = stub;
  return result;
}

template <Hook H>
CUresult get_proc_address_v1(const char* symbol, void** function, int version, cuuint64_t flags) {
  return answer(real<H>(symbol, function, version, flags), symbol, function);
}
template <Hook H>
CUresult get_proc_address(const char* symbol, void** function, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* status) {
  return answer(real<H>(symbol, function, version, flags, status), symbol, function);
}

// Work on the list of modules, under the runtime's lock, after the real call has succeeded.
template <class Change>
CUresult after(CUresult result, Change&& change) {
  if (cuda::Runtime* op = runtime_of_op(); op && result == CUDA_SUCCESS) change(op->kernels());
  cuda::Runtime* r = runtime();
  if (result != CUDA_SUCCESS || !r) return result;
  const std::lock_guard lock(r->mutex());
  change(r->kernels());
  return result;
}

template <Hook H>
CUresult module_load(CUmodule* module, const char* path) {
  return after(real<H>(module, path), [&](cuda::Kernels& kernels) { kernels.add_file(*module, path); });
}
template <Hook H>
CUresult module_load_data(CUmodule* module, const void* image) {
  return after(real<H>(module, image), [&](cuda::Kernels& kernels) { kernels.add_image(*module, image); });
}
template <Hook H>
CUresult module_load_data_ex(CUmodule* module, const void* image, unsigned count, CUjit_option* options,
                             void** values) {
  return after(real<H>(module, image, count, options, values),
               [&](cuda::Kernels& kernels) { kernels.add_image(*module, image); });
}
template <Hook H>
CUresult module_get_function(CUfunction* function, CUmodule module, const char* name) {
  return after(real<H>(function, module, name),
               [&](cuda::Kernels& kernels) { kernels.add_function(module, *function, name, false); });
}

// While recorded ops need its kernels, a module stays loaded: also at the end of the process, when static
// objects may still read what they made.
template <class RealCall>
CUresult unload(const void* owner, RealCall&& real_call) {
  cuda::Runtime* r = runtime();
  if (runtime_of_op() || (r && !r->may_unload())) return CUDA_SUCCESS;
  return after(real_call(), [&](cuda::Kernels& kernels) { kernels.remove(owner); });
}
template <Hook H>
CUresult module_unload(CUmodule module) {
  return unload(module, [&] { return real<H>(module); });
}
template <Hook H>
CUresult library_unload(CUlibrary library) {
  return unload(library, [&] { return real<H>(library); });
}

template <Hook H>
CUresult library_load_data(CUlibrary* library, const void* code, CUjit_option* jit_options, void** jit_values,
                           unsigned jit_count, CUlibraryOption* options, void** values, unsigned count) {
  return after(real<H>(library, code, jit_options, jit_values, jit_count, options, values, count),
               [&](cuda::Kernels& kernels) { kernels.add_image(*library, code); });
}
template <Hook H>
CUresult library_load_from_file(CUlibrary* library, const char* path, CUjit_option* jit_options,
                                void** jit_values, unsigned jit_count, CUlibraryOption* options,
                                void** values, unsigned count) {
  return after(real<H>(library, path, jit_options, jit_values, jit_count, options, values, count),
               [&](cuda::Kernels& kernels) { kernels.add_file(*library, path); });
}
template <Hook H>
CUresult library_get_kernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return after(real<H>(kernel, library, name),
               [&](cuda::Kernels& kernels) { kernels.add_function(library, *kernel, name, true); });
}
template <Hook H>
CUresult library_get_module(CUmodule* module, CUlibrary library) {
  return after(real<H>(module, library),
               [&](cuda::Kernels& kernels) { kernels.add_alias(library, *module); });
}
template <Hook H>
CUresult kernel_get_function(CUfunction* function, CUkernel kernel) {
  return after(real<H>(function, kernel),
               [&](cuda::Kernels& kernels) { kernels.add_function_alias(kernel, *function); });
}

template <Hook H>
CUresult stream_destroy(CUstream stream) {
  if (cuda::Runtime* r = runtime()) r->stream_destroyed(stream);
  return real<H>(stream);
}

template <class RealCall>
CUresult begin_capture(RealCall&& real_call) {
  cuda::Runtime* r = runtime();
  return r ? r->begin_capture(real_call) : real_call();
}
template <Hook H>
CUresult stream_begin_capture_v1(CUstream stream) {
  return begin_capture([&] { return real<H>(stream); });
}
template <Hook H>
CUresult stream_begin_capture(CUstream stream, CUstreamCaptureMode mode) {
  return begin_capture([&] { return real<H>(stream, mode); });
}
template <Hook H>
CUresult stream_begin_capture_to_graph(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                       const CUgraphEdgeData* edges, std::size_t count,
                                       CUstreamCaptureMode mode) {
  return begin_capture([&] { return real<H>(stream, graph, dependencies, edges, count, mode); });
}
template <Hook H>
CUresult stream_end_capture(CUstream stream, CUgraph* graph) {
  const auto call = [&] { return real<H>(stream, graph); };
  cuda::Runtime* r = runtime();
  return r ? r->end_capture(resolve<H>(stream), call) : call();
}

template <Hook H>
CUresult primary_ctx_release(CUdevice device) {
  const CUresult result = real<H>(device);
  cuda::Runtime* r = runtime();
  if (result == CUDA_SUCCESS && r && !Session::instance().ending()) r->context_released(device);
  return result;
}
template <Hook H>
CUresult primary_ctx_reset(CUdevice device) {
  cuda::Runtime* r = runtime();
  if (r && !Session::instance().ending()) r->context_gone(device);
  const CUresult result = real<H>(device);
  if (result == CUDA_SUCCESS && r) r->external_freed(ExternalMemory::instance().forget_allocations());
  return result;
}
template <Hook H>
CUresult ctx_enable_peer_access(CUcontext peer, unsigned flags) {
  const CUresult result = real<H>(peer, flags);
  cuda::Runtime* r = runtime();
  if (result == CUDA_SUCCESS && r) r->peer_opened(peer);
  return result;
}
template <Hook H>
CUresult ctx_destroy(CUcontext context) {
  cuda::Runtime* r = runtime();
  if (r && !Session::instance().ending()) r->context_gone(context);
  return real<H>(context);
}

}  // namespace refrain::preload
