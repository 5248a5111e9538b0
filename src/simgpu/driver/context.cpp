// cuCtx* and cuDevicePrimaryCtx*: which context is current, and limits. It must not queue work.
#include "simgpu/driver/module.hpp"
#include "simgpu/driver/session.hpp"

namespace refrain::simgpu::driver {
namespace {

constexpr unsigned kContextVersion = 3020;

template <class Body>
CUresult with_card(CUdevice ordinal, Body body) {
  return api(Need::kDevice, [&](Session& session) { body(session, session.device.card(ordinal)); });
}

// It ends, whoever still holds it.
void end_primary(Session& session, Card& card) {
  const ContextRef gone = std::exchange(card.primary, nullptr);
  destroy_context(session.lock, session.device, gone);
}

ContextRef current() {
  const auto& stack = thread_state().contexts;
  return stack.empty() ? nullptr : stack.back();
}

CUcontext handle_of(const ContextRef& context) {
  return reinterpret_cast<CUcontext>(context.get());
}

CUresult create(CUcontext* out, unsigned flags, CUdevice ordinal) {
  return with_card(ordinal, [&](Session& session, Card&) {
    require(out != nullptr);
    auto context = make_context(session.device, static_cast<Ordinal>(ordinal), flags, false);
    thread_state().contexts.push_back(context);
    *out = handle_of(context);
  });
}

ContextRef need_current(Session& session) {
  ContextRef context = current();
  require(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  require(session.device.contexts.find(context.get()) != nullptr, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  return context;
}

// The context that a handle names, the current one for nullptr.
ContextRef named(Session& session, CUcontext handle) {
  return handle == nullptr ? need_current(session)
                           : session.device.contexts.need(handle, CUDA_ERROR_INVALID_CONTEXT);
}

std::size_t default_limit(CUlimit limit) {
  switch (limit) {
    case CU_LIMIT_STACK_SIZE: return 1024;
    case CU_LIMIT_PRINTF_FIFO_SIZE: return std::size_t{1} << 20;
    case CU_LIMIT_MALLOC_HEAP_SIZE: return std::size_t{8} << 20;
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY: return 128;
    case CU_LIMIT_PERSISTING_L2_CACHE_SIZE: return 0;
    default: throw CudaError(CUDA_ERROR_UNSUPPORTED_LIMIT);
  }
}

}  // namespace
}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice ordinal) {
  return with_card(ordinal, [&](Session& session, Card& card) {
    require(out != nullptr);
    if (card.primary == nullptr) {
      card.primary = make_context(session.device, static_cast<Ordinal>(ordinal), card.primary_flags, true);
    }
    ++card.primary->references;
    *out = handle_of(card.primary);
  });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal) {
  return with_card(ordinal, [&](Session& session, Card& card) {
    require(card.primary != nullptr, CUDA_ERROR_INVALID_CONTEXT);
    if (--card.primary->references == 0) end_primary(session, card);
  });
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice ordinal) {
  return with_card(ordinal, [&](Session& session, Card& card) {
    if (card.primary == nullptr) return;
    end_primary(session, card);
    reload_libraries(session.device, static_cast<Ordinal>(ordinal));
  });
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned flags) {
  return with_card(ordinal, [&](Session&, Card& card) {
    card.primary_flags = flags;
    if (card.primary != nullptr) card.primary->flags = flags;
  });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned* flags, int* active) {
  return with_card(ordinal, [&](Session&, Card& card) {
    require(flags != nullptr && active != nullptr);
    *flags = card.primary_flags;
    *active = card.primary != nullptr ? 1 : 0;
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice ordinal) {
  return cuDevicePrimaryCtxRelease_v2(ordinal);
}
CUresult cuDevicePrimaryCtxReset(CUdevice ordinal) {
  return cuDevicePrimaryCtxReset_v2(ordinal);
}
CUresult cuDevicePrimaryCtxSetFlags(CUdevice ordinal, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(ordinal, flags);
}

CUresult cuCtxCreate_v2(CUcontext* out, unsigned flags, CUdevice ordinal) {
  return create(out, flags, ordinal);
}

CUresult cuCtxCreate_v3(CUcontext* out, CUexecAffinityParam*, int count, unsigned flags, CUdevice ordinal) {
  if (count != 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  return create(out, flags, ordinal);
}

CUresult cuCtxCreate_v4(CUcontext* out, CUctxCreateParams* params, unsigned flags, CUdevice ordinal) {
  if (params != nullptr && params->numExecAffinityParams != 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  return create(out, flags, ordinal);
}

CUresult cuCtxDestroy(CUcontext handle) {
  return api(Need::kDevice, [&](Session& session) {
    const auto context = session.device.contexts.need(handle, CUDA_ERROR_INVALID_CONTEXT);
    require(!context->primary, CUDA_ERROR_INVALID_CONTEXT);
    if (current() == context) thread_state().contexts.pop_back();
    destroy_context(session.lock, session.device, context);
  });
}

CUresult cuCtxPushCurrent(CUcontext handle) {
  return api(Need::kDevice, [&](Session& session) {
    thread_state().contexts.push_back(session.device.contexts.need(handle, CUDA_ERROR_INVALID_CONTEXT));
  });
}

CUresult cuCtxPopCurrent(CUcontext* out) {
  return api(Need::kDevice, [&](Session&) {
    require(current() != nullptr, CUDA_ERROR_INVALID_CONTEXT);
    if (out != nullptr) *out = handle_of(current());
    thread_state().contexts.pop_back();
  });
}

CUresult cuCtxSetCurrent(CUcontext handle) {
  return api(Need::kDevice, [&](Session& session) {
    auto& stack = thread_state().contexts;
    if (handle == nullptr) {
      if (!stack.empty()) stack.pop_back();
      return;
    }
    auto context = session.device.contexts.need(handle, CUDA_ERROR_INVALID_CONTEXT);
    if (stack.empty()) {
      stack.push_back(std::move(context));
    } else {
      stack.back() = std::move(context);
    }
  });
}

CUresult cuCtxGetCurrent(CUcontext* out) {
  return api(Need::kDevice, [&](Session&) {
    require(out != nullptr);
    *out = handle_of(current());
  });
}

CUresult cuCtxGetDevice(CUdevice* out) {
  return api(Need::kDevice, [&](Session& session) {
    require(out != nullptr);
    *out = need_current(session)->ordinal;
  });
}

CUresult cuCtxGetDevice_v2(CUdevice* out, CUcontext handle) {
  return api(Need::kDevice, [&](Session& session) {
    require(out != nullptr);
    *out = named(session, handle)->ordinal;
  });
}

CUresult cuCtxGetFlags(unsigned* flags) {
  return api(Need::kDevice, [&](Session& session) {
    require(flags != nullptr);
    *flags = need_current(session)->flags;
  });
}

CUresult cuCtxSetFlags(unsigned flags) {
  return api(Need::kDevice, [&](Session& session) { need_current(session)->flags = flags; });
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  return api(Need::kDevice, [&](Session& session) {
    require(id != nullptr);
    *id = named(session, handle)->id;
  });
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned* version) {
  return api(Need::kDevice, [&](Session& session) {
    require(version != nullptr);
    named(session, handle);
    *version = kContextVersion;
  });
}

CUresult cuCtxSynchronize() {
  return api(Need::kContext, [&](Session& session) {
    session.forbid_while_capturing();
    session.wait_all();
  });
}

CUresult cuCtxSynchronize_v2(CUcontext handle) {
  return api(Need::kDevice, [&](Session& session) {
    session.context = named(session, handle);
    session.check_fault();
    session.forbid_while_capturing();
    session.wait_all();
  });
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return api(Need::kContext, [&](Session& session) {
    default_limit(limit);
    session.context->limits[limit] = value;
    if (limit == CU_LIMIT_MALLOC_HEAP_SIZE)
      session.device.memory.set_heap_limit(session.context->ordinal, value);
  });
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return api(Need::kContext, [&](Session& session) {
    require(value != nullptr);
    const auto set = session.context->limits.find(limit);
    *value = set == session.context->limits.end() ? default_limit(limit) : set->second;
  });
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  return api(Need::kContext, [&](Session&) {
    require(config != nullptr);
    *config = CU_FUNC_CACHE_PREFER_NONE;
  });
}

CUresult cuCtxSetCacheConfig(CUfunc_cache) {
  return api(Need::kContext, [](Session&) {});
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig* config) {
  return api(Need::kContext, [&](Session&) {
    require(config != nullptr);
    *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
  });
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig) {
  return api(Need::kContext, [](Session&) {});
}

CUresult cuCtxResetPersistingL2Cache() {
  return api(Need::kContext, [](Session&) {});
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return api(Need::kContext, [&](Session&) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
  });
}

// Contexts of one device see each other's memory anyway.
CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned flags) {
  return api(Need::kContext, [&](Session& session) {
    require(flags == 0);
    const auto peer = session.device.contexts.need(handle, CUDA_ERROR_INVALID_CONTEXT);
    require(peer != session.context, CUDA_ERROR_INVALID_CONTEXT);
    require(peer->ordinal != session.context->ordinal, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    require(!session.context->peers.contains(peer.get()), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    open_peer(session.device, *session.context, *peer);
  });
}

CUresult cuCtxDisablePeerAccess(CUcontext handle) {
  return api(Need::kContext, [&](Session& session) {
    const auto peer = session.device.contexts.need(handle, CUDA_ERROR_INVALID_CONTEXT);
    require(session.context->peers.contains(peer.get()), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    close_peer(session.device, *session.context, *peer);
  });
}

CUresult cuProfilerStart() {
  return api(Need::kContext, [](Session&) {});
}

CUresult cuProfilerStop() {
  return api(Need::kContext, [](Session&) {});
}
