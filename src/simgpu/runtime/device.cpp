// cudaDevice*, versions and driver entry points. It must not keep state.
#include <cstring>

#include "simgpu/runtime/call.hpp"

using namespace refrain::simgpu::runtime;

namespace {

template <class Body>
cudaError_t with_device(int ordinal, Body body) {
  return call(Need::kDriver, [&](const DriverApi& cu) {
    CUdevice found = 0;
    check(cu.cuDeviceGet(&found, ordinal));
    return body(cu);
  });
}

// For the thread's device.
template <class Body>
cudaError_t with_current(Body body) {
  return call(Need::kDriver, [&](const DriverApi& cu) { return body(cu, current_device(cu)); });
}

void fill_properties(const DriverApi& cu, int ordinal, cudaDeviceProp& out) {
  std::memset(&out, 0, sizeof out);
  check(cu.cuDeviceGetName(out.name, sizeof out.name, ordinal));
  check(cu.cuDeviceGetUuid(reinterpret_cast<CUuuid*>(&out.uuid), ordinal));
  check(cu.cuDeviceTotalMem(&out.totalGlobalMem, ordinal));
  const auto attribute = [&](CUdevice_attribute wanted) {
    int value = 0;
    check(cu.cuDeviceGetAttribute(&value, wanted, ordinal));
    return value;
  };
#define PROPERTY(field, name) \
  out.field = static_cast<decltype(out.field + 0)>(attribute(CU_DEVICE_ATTRIBUTE_##name));
#include "simgpu/runtime/properties.def"
#undef PROPERTY
}

cudaError_t entry_point(const char* name, void** out, unsigned version, unsigned long long flags,
                        cudaDriverEntryPointQueryResult* status) {
  return call(Need::kDriver, [&](const DriverApi& cu) {
    require(name != nullptr && out != nullptr && flags <= cudaEnablePerThreadDefaultStream);
    const bool per_thread = flags == cudaEnablePerThreadDefaultStream ||
                            (flags == cudaEnableDefault && thread_state().per_thread_default);
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    check(cu.cuGetProcAddress(
        name, out, static_cast<int>(version),
        per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_LEGACY_STREAM,
        &found));
    if (status != nullptr) *status = static_cast<cudaDriverEntryPointQueryResult>(found);
  });
}

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  return call(Need::kDriver, [&](const DriverApi& cu) { return cu.cuDeviceGetCount(count); });
}

cudaError_t cudaGetDevice(int* out) {
  return with_current([&](const DriverApi&, int device) {
    require(out != nullptr);
    *out = device;
  });
}

cudaError_t cudaSetDevice(int ordinal) {
  return call(Need::kDriver, [&](const DriverApi& cu) {
    check(cu.cuCtxSetCurrent(primary_of(cu, ordinal)));
    thread_state().device = ordinal;
  });
}

cudaError_t cudaInitDevice(int ordinal, unsigned, unsigned) {
  return call(Need::kDriver, [&](const DriverApi& cu) { primary_of(cu, ordinal); });
}

// The first one is where threads begin that choose none.
cudaError_t cudaSetValidDevices(int* devices, int count) {
  return call(Need::kDriver, [&](const DriverApi& cu) {
    require(count >= 0 && (devices != nullptr || count == 0));
    for (int index = 0; index < count; ++index) {
      CUdevice found = 0;
      check(cu.cuDeviceGet(&found, devices[index]));
    }
    set_default_device(count == 0 ? 0 : devices[0]);
  });
}

// They are all alike.
cudaError_t cudaChooseDevice(int* out, const cudaDeviceProp* wanted) {
  return call(Need::kDriver, [&](const DriverApi&) {
    require(out != nullptr && wanted != nullptr);
    *out = 0;
  });
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  return with_current(
      [&](const DriverApi& cu, int device) { return cu.cuDevicePrimaryCtxSetFlags(device, flags & 0x7f); });
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  return with_current([&](const DriverApi& cu, int device) {
    int active = 0;
    return cu.cuDevicePrimaryCtxGetState(device, flags, &active);
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* out, int ordinal) {
  return with_device(ordinal, [&](const DriverApi& cu) {
    require(out != nullptr);
    fill_properties(cu, ordinal, *out);
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int ordinal) {
  return with_device(ordinal, [&](const DriverApi& cu) {
    return cu.cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(attribute), ordinal);
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int ordinal) {
  return with_device(ordinal,
                     [&](const DriverApi& cu) { return cu.cuDeviceGetPCIBusId(text, length, ordinal); });
}

cudaError_t cudaDeviceGetByPCIBusId(int* out, const char* text) {
  return call(Need::kDriver, [&](const DriverApi& cu) { return cu.cuDeviceGetByPCIBusId(out, text); });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int ordinal, int peer) {
  return call(Need::kDriver,
              [&](const DriverApi& cu) { return cu.cuDeviceCanAccessPeer(can, ordinal, peer); });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int ordinal, int peer) {
  return call(Need::kDriver, [&](const DriverApi& cu) {
    return cu.cuDeviceGetP2PAttribute(value, static_cast<CUdevice_P2PAttribute>(attribute), ordinal, peer);
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return call([&](const DriverApi& cu) {
    require(peer != current_device(cu), cudaErrorInvalidDevice);
    return cu.cuCtxEnablePeerAccess(primary_of(cu, peer), flags);
  });
}
SIMGPU_FORWARD(cudaDeviceDisablePeerAccess, (int peer), cu.cuCtxDisablePeerAccess(primary_of(cu, peer)))

SIMGPU_FORWARD(cudaCtxResetPersistingL2Cache, (), cu.cuCtxResetPersistingL2Cache())

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* out, int ordinal) {
  return with_device(ordinal,
                     [&](const DriverApi& cu) { return cu.cuDeviceGetDefaultMemPool(out, ordinal); });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* out, int ordinal) {
  return with_device(ordinal, [&](const DriverApi& cu) { return cu.cuDeviceGetMemPool(out, ordinal); });
}

cudaError_t cudaDeviceSetMemPool(int ordinal, cudaMemPool_t pool) {
  return with_device(ordinal, [&](const DriverApi& cu) { return cu.cuDeviceSetMemPool(ordinal, pool); });
}

SIMGPU_FORWARD(cudaDeviceSynchronize, (), cu.cuCtxSynchronize())
SIMGPU_FORWARD(cudaDeviceGetStreamPriorityRange, (int* least, int* greatest),
               cu.cuCtxGetStreamPriorityRange(least, greatest))
SIMGPU_FORWARD(cudaDeviceSetLimit, (cudaLimit limit, size_t value),
               cu.cuCtxSetLimit(static_cast<CUlimit>(limit), value))
SIMGPU_FORWARD(cudaDeviceGetLimit, (size_t * value, cudaLimit limit),
               cu.cuCtxGetLimit(value, static_cast<CUlimit>(limit)))
SIMGPU_FORWARD(cudaDeviceGetCacheConfig, (cudaFuncCache * config),
               cu.cuCtxGetCacheConfig(reinterpret_cast<CUfunc_cache*>(config)))
SIMGPU_FORWARD(cudaDeviceSetCacheConfig, (cudaFuncCache config),
               cu.cuCtxSetCacheConfig(static_cast<CUfunc_cache>(config)))
SIMGPU_FORWARD(cudaProfilerStart, (), cu.cuProfilerStart())
SIMGPU_FORWARD(cudaProfilerStop, (), cu.cuProfilerStop())

cudaError_t cudaDriverGetVersion(int* version) {
  return call(Need::kDriver, [&](const DriverApi& cu) { return cu.cuDriverGetVersion(version); });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return thread_state().last_error = cudaErrorInvalidValue;
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPoint(const char* name, void** out, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return entry_point(name, out, CUDART_VERSION, flags, status);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** out, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* status) {
  return entry_point(name, out, version, flags, status);
}
