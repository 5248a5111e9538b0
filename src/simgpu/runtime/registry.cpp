// The registration functions and look-ups. It must not launch.
#include "simgpu/runtime/registry.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace refrain::simgpu::runtime {
namespace {

struct FatBinary {
  const void* wrapper = nullptr;
  CUlibrary library = nullptr;
};

struct Kernel {
  FatBinary* binary = nullptr;
  std::string name;
  CUkernel loaded = nullptr;
};

struct Variable {
  FatBinary* binary = nullptr;
  std::string name;
  std::size_t bytes = 0;
};

// A __managed__ variable: the program reaches it through a pointer of its own, which we set when its code is
// loaded.
struct ManagedVariable {
  FatBinary* binary = nullptr;
  std::string name;
};

struct Registry {
  std::mutex mutex;
  std::map<void**, std::unique_ptr<FatBinary>> binaries;
  std::map<const void*, Kernel> kernels;  // by host function
  std::map<CUkernel, const void*> host_functions;
  std::map<const void*, Variable> variables;  // by host variable
  std::map<void**, ManagedVariable> managed;  // by the program's pointer
};

Registry& registry() {
  static auto* instance = new Registry;  // never destroyed: programs unregister while they end
  return *instance;
}

void point_at_managed(const DriverApi& cu, const FatBinary& binary) {
  for (auto& [pointer, variable] : registry().managed) {
    if (variable.binary != &binary) continue;
    CUdeviceptr address = 0;
    check(cu.cuLibraryGetManaged(&address, nullptr, binary.library, variable.name.c_str()));
    *pointer = reinterpret_cast<void*>(address);
  }
}

CUlibrary load(const DriverApi& cu, FatBinary& binary) {
  if (binary.library == nullptr) {
    CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED;
    void* value = reinterpret_cast<void*>(1);
    check(cu.cuLibraryLoadData(&binary.library, binary.wrapper, nullptr, nullptr, 0, &option, &value, 1));
    point_at_managed(cu, binary);
  }
  return binary.library;
}

FatBinary* binary_of(void** handle) {
  return registry().binaries.at(handle).get();
}

}  // namespace

CUkernel kernel_of(const DriverApi& cu, const void* host_function) {
  Registry& known = registry();
  std::lock_guard lock(known.mutex);
  const auto found = known.kernels.find(host_function);
  if (found == known.kernels.end()) {
    auto* kernel = reinterpret_cast<CUkernel>(const_cast<void*>(host_function));
    const char* name = nullptr;
    require(host_function != nullptr && cu.cuKernelGetName(&name, kernel) == CUDA_SUCCESS,
            cudaErrorInvalidDeviceFunction);
    return kernel;
  }
  Kernel& kernel = found->second;
  if (kernel.loaded == nullptr) {
    const CUresult result =
        cu.cuLibraryGetKernel(&kernel.loaded, load(cu, *kernel.binary), kernel.name.c_str());
    if (result == CUDA_ERROR_NOT_FOUND) throw RuntimeError(cudaErrorInvalidDeviceFunction);
    check(result);
    known.host_functions[kernel.loaded] = host_function;
  }
  return kernel.loaded;
}

void* host_function_of(CUkernel kernel) {
  Registry& known = registry();
  std::lock_guard lock(known.mutex);
  const auto found = known.host_functions.find(kernel);
  return found == known.host_functions.end() ? reinterpret_cast<void*>(kernel)
                                             : const_cast<void*>(found->second);
}

Symbol symbol_of(const DriverApi& cu, const void* host_variable) {
  Registry& known = registry();
  std::lock_guard lock(known.mutex);
  // What a program passes for a managed variable is where it lies.
  for (const auto& [pointer, variable] : known.managed) {
    if (host_variable == nullptr || *pointer != host_variable) continue;
    Symbol out{};
    check(
        cu.cuLibraryGetManaged(&out.address, &out.bytes, load(cu, *variable.binary), variable.name.c_str()));
    return out;
  }
  const auto found = known.variables.find(host_variable);
  require(found != known.variables.end(), cudaErrorInvalidSymbol);
  const Variable& variable = found->second;
  Symbol out{};
  const CUresult result =
      cu.cuLibraryGetGlobal(&out.address, &out.bytes, load(cu, *variable.binary), variable.name.c_str());
  if (result == CUDA_ERROR_NOT_FOUND) throw RuntimeError(cudaErrorInvalidSymbol);
  check(result);
  return out;
}

void renew_managed(const DriverApi& cu) {
  Registry& known = registry();
  std::lock_guard lock(known.mutex);
  for (const auto& [handle, binary] : known.binaries) {
    if (binary->library != nullptr) point_at_managed(cu, *binary);
  }
}

void forget_loaded(const DriverApi& cu) {
  Registry& known = registry();
  std::lock_guard lock(known.mutex);
  for (auto& [function, kernel] : known.kernels) kernel.loaded = nullptr;
  known.host_functions.clear();
  for (auto& [handle, binary] : known.binaries) {
    if (binary->library != nullptr) cu.cuLibraryUnload(binary->library);
    binary->library = nullptr;
  }
}

}  // namespace refrain::simgpu::runtime

using namespace refrain::simgpu::runtime;

#pragma GCC visibility push(default)
extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  auto binary = std::make_unique<FatBinary>();
  binary->wrapper = wrapper;
  auto** handle = reinterpret_cast<void**>(binary.get());
  std::lock_guard lock(registry().mutex);
  registry().binaries.emplace(handle, std::move(binary));
  return handle;
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** handle) {
  Registry& known = registry();
  std::lock_guard lock(known.mutex);
  const auto found = known.binaries.find(handle);
  if (found == known.binaries.end()) return;
  FatBinary* binary = found->second.get();
  std::erase_if(known.host_functions, [&](const auto& entry) {
    const auto kernel = known.kernels.find(entry.second);
    return kernel != known.kernels.end() && kernel->second.binary == binary;
  });
  std::erase_if(known.kernels, [&](const auto& entry) { return entry.second.binary == binary; });
  std::erase_if(known.variables, [&](const auto& entry) { return entry.second.binary == binary; });
  std::erase_if(known.managed, [&](const auto& entry) { return entry.second.binary == binary; });
  if (binary->library != nullptr) driver_api(DefaultStream::kLegacy).cuLibraryUnload(binary->library);
  known.binaries.erase(found);
}

void __cudaRegisterFunction(void** handle, const char* host_function, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  std::lock_guard lock(registry().mutex);
  registry().kernels[host_function] = {binary_of(handle), name, nullptr};
}

void __cudaRegisterVar(void** handle, char* host_variable, char*, const char* name, int, size_t bytes, int,
                       int) {
  std::lock_guard lock(registry().mutex);
  registry().variables[host_variable] = {binary_of(handle), name, bytes};
}

void __cudaRegisterManagedVar(void** handle, void** variable, char*, const char* name, int, size_t, int,
                              int) {
  std::lock_guard lock(registry().mutex);
  registry().managed[variable] = {binary_of(handle), name};
}

char __cudaInitModule(void** handle) {
  const cudaError_t result = call([&](const DriverApi& cu) {
    std::lock_guard lock(registry().mutex);
    load(cu, *binary_of(handle));
  });
  return result == cudaSuccess ? 1 : 0;
}

cudaError_t __cudaGetKernel(cudaKernel_t* out, const void* host_function) {
  return call([&](const DriverApi& cu) {
    require(out != nullptr);
    *out = kernel_of(cu, host_function);
  });
}

}  // extern "C"
#pragma GCC visibility pop

cudaError_t cudaGetKernel(cudaKernel_t* out, const void* host_function) {
  return __cudaGetKernel(out, host_function);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* out, const void* host_function) {
  return call([&](const DriverApi& cu) {
    require(out != nullptr);
    return cu.cuKernelGetFunction(out, kernel_of(cu, host_function));
  });
}

cudaError_t cudaGetSymbolAddress(void** out, const void* symbol) {
  return call([&](const DriverApi& cu) {
    require(out != nullptr);
    *out = reinterpret_cast<void*>(symbol_of(cu, symbol).address);
  });
}

cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  return call([&](const DriverApi& cu) {
    require(bytes != nullptr);
    *bytes = symbol_of(cu, symbol).bytes;
  });
}
