// cuFunc* and cuKernel*: what is known about a function. It must not launch it.
#include "simgpu/driver/module.hpp"
#include "simgpu/driver/profile.hpp"
#include "simgpu/driver/session.hpp"
#include "simgpu/driver/settings.hpp"

namespace refrain::simgpu::driver {
namespace {

int attribute_of(const Kernel& kernel, const Function::Attributes& set, CUfunction_attribute attribute) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return static_cast<int>(kernel.max_threads_per_block());
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: return static_cast<int>(kernel.static_shared_bytes());
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: return 0;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: return static_cast<int>(kernel.local_bytes());
    case CU_FUNC_ATTRIBUTE_NUM_REGS: return static_cast<int>(kernel.register_count());
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: return static_cast<int>(settings().sm);
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: return 0;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: return set.max_dynamic_shared_bytes;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return set.carveout;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: return set.non_portable_cluster;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: return 0;
    default: throw CudaError(CUDA_ERROR_INVALID_VALUE);
  }
}

void set_attribute(const Kernel& kernel, Function::Attributes& set, CUfunction_attribute attribute,
                   int value) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      require(value >= 0 && value + static_cast<int>(kernel.static_shared_bytes()) <=
                                static_cast<int>(profile().shared_optin_bytes));
      set.max_dynamic_shared_bytes = value;
      return;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      require(value >= -1 && value <= 100);
      set.carveout = value;
      return;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: set.non_portable_cluster = value; return;
    default: throw CudaError(CUDA_ERROR_INVALID_VALUE);
  }
}

// Any of the calls that look at one function.
template <class Body>
CUresult with_function(const void* handle, Body body) {
  return api(Need::kDevice, [&](Session& session) { body(*session.device.functions.need(handle)); });
}

// The same with the kernel and what is set for the device of the call: a module's own, or the current one.
// choose(session): the device.
template <class Choose, class Body>
CUresult with_attributes(const void* handle, Choose choose, Body body) {
  return api(Need::kDevice, [&](Session& session) {
    Function& function = *session.device.functions.need(handle);
    const Library& library = *function.library;
    const Ordinal chosen = choose(session);
    const Ordinal ordinal = library.is_module ? library.context->ordinal : chosen;
    body(any_kernel(session.device, function), function.attributes[ordinal]);
  });
}

Ordinal current(const Session& session) {
  return session.ordinal();
}
auto named(CUdevice device) {
  return [device](const Session& session) { return ordinal_of(session.device, device); };
}

template <class Choose>
CUresult tell(int* value, CUfunction_attribute attribute, const void* handle, Choose choose) {
  return with_attributes(handle, choose, [&](const Kernel& kernel, const Function::Attributes& set) {
    require(value != nullptr);
    *value = attribute_of(kernel, set, attribute);
  });
}

template <class Choose>
CUresult change(CUfunction_attribute attribute, int value, const void* handle, Choose choose) {
  return with_attributes(handle, choose, [&](const Kernel& kernel, Function::Attributes& set) {
    set_attribute(kernel, set, attribute, value);
  });
}

CUresult param_info(const void* handle, size_t index, size_t* offset, size_t* bytes) {
  return with_attributes(handle, current, [&](const Kernel& kernel, const Function::Attributes&) {
    require(offset != nullptr);
    const auto params = kernel.params();
    require(index < params.size());
    *offset = params[index].offset_bytes;
    if (bytes != nullptr) *bytes = params[index].size_bytes;
  });
}

CUresult name_of(const char** name, const void* handle) {
  return with_function(handle, [&](Function& function) {
    require(name != nullptr);
    *name = function.name.c_str();
  });
}

}  // namespace
}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  return tell(value, attribute, handle, current);
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel handle, CUdevice device) {
  return tell(value, attribute, handle, named(device));
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  return change(attribute, value, handle, current);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice device) {
  return change(attribute, value, handle, named(device));
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache) {
  return with_function(handle, [](Function&) {});
}

CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache, CUdevice) {
  return with_function(handle, [](Function&) {});
}

CUresult cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig) {
  return with_function(handle, [](Function&) {});
}

CUresult cuFuncGetModule(CUmodule* out, CUfunction handle) {
  return with_function(handle, [&](Function& function) {
    require(out != nullptr);
    *out = reinterpret_cast<CUmodule>(function.library);
  });
}

CUresult cuKernelGetLibrary(CUlibrary* out, CUkernel handle) {
  return with_function(handle, [&](Function& function) {
    require(out != nullptr);
    *out = reinterpret_cast<CUlibrary>(function.library);
  });
}

CUresult cuKernelGetFunction(CUfunction* out, CUkernel handle) {
  return with_function(handle, [&](Function&) {
    require(out != nullptr);
    *out = reinterpret_cast<CUfunction>(handle);
  });
}

CUresult cuFuncGetName(const char** name, CUfunction handle) {
  return name_of(name, handle);
}
CUresult cuKernelGetName(const char** name, CUkernel handle) {
  return name_of(name, handle);
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* bytes) {
  return param_info(handle, index, offset, bytes);
}

CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t* offset, size_t* bytes) {
  return param_info(handle, index, offset, bytes);
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction handle) {
  return with_function(handle, [&](Function&) {
    require(state != nullptr);
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
  });
}

CUresult cuFuncLoad(CUfunction handle) {
  return with_function(handle, [](Function&) {});
}
