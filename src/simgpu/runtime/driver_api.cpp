// Finding the driver. It must not keep a pointer that it did not get from cuGetProcAddress, but for the first
// one.
#include "simgpu/runtime/driver_api.hpp"

#include <dlfcn.h>

#include <cstdio>

#include "simgpu/runtime/call.hpp"

namespace refrain::simgpu::runtime {
namespace {

using Look = decltype(&::cuGetProcAddress);

// Under the name that this ABI has in the library.
Look first_look_up() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  require(library != nullptr, cudaErrorInsufficientDriver);
  void* symbol = dlsym(library, "cuGetProcAddress_v2");
  require(symbol != nullptr, cudaErrorInsufficientDriver);
  return reinterpret_cast<Look>(symbol);
}

void* find(Look look, const char* name, int version, cuuint64_t flags) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const CUresult result = look(name, &function, version, flags, &status);
  if (result != CUDA_SUCCESS || function == nullptr) {
    std::fprintf(stderr, "simgpu runtime: the driver has no %s for CUDA %d\n", name, version);
    throw RuntimeError(cudaErrorCallRequiresNewerDriver);
  }
  return function;
}

DriverApi load(Look look, cuuint64_t flags) {
  DriverApi out;
#define DRIVER_CALL(name, version) \
  out.name = reinterpret_cast<decltype(&::name)>(find(look, #name, version, flags));
#include "simgpu/runtime/driver_api.def"
#undef DRIVER_CALL
  return out;
}

struct Tables {
  DriverApi legacy, per_thread;
};

Tables load_tables() {
  const Look look = reinterpret_cast<Look>(
      find(first_look_up(), "cuGetProcAddress", 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM));
  return {load(look, CU_GET_PROC_ADDRESS_DEFAULT), load(look, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)};
}

}  // namespace

const DriverApi& driver_api(DefaultStream kind) {
  static const auto* tables =
      new Tables(load_tables());  // never destroyed; a failure is tried again by the next call
  return kind == DefaultStream::kLegacy ? tables->legacy : tables->per_thread;
}

}  // namespace refrain::simgpu::runtime
