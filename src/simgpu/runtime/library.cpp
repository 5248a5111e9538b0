// cudaLibrary*. It must not register what it loads.
#include <vector>

#include "simgpu/runtime/call.hpp"

using namespace refrain::simgpu::runtime;

namespace {

template <class Load>
cudaError_t load(unsigned jit_count, unsigned option_count, cudaLibraryOption* options, Load body) {
  return call([&](const DriverApi& cu) {
    require(jit_count == 0, cudaErrorNotSupported);
    std::vector<CUlibraryOption> converted;
    for (unsigned index = 0; index < option_count; ++index) {
      converted.push_back(static_cast<CUlibraryOption>(options[index]));
    }
    return body(cu, converted.data());
  });
}

}  // namespace

cudaError_t cudaLibraryLoadData(cudaLibrary_t* out, const void* image, cudaJitOption*, void**,
                                unsigned jit_count, cudaLibraryOption* options, void** values,
                                unsigned count) {
  return load(jit_count, count, options, [&](const DriverApi& cu, CUlibraryOption* converted) {
    return cu.cuLibraryLoadData(out, image, nullptr, nullptr, 0, converted, values, count);
  });
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* out, const char* path, cudaJitOption*, void**,
                                    unsigned jit_count, cudaLibraryOption* options, void** values,
                                    unsigned count) {
  return load(jit_count, count, options, [&](const DriverApi& cu, CUlibraryOption* converted) {
    return cu.cuLibraryLoadFromFile(out, path, nullptr, nullptr, 0, converted, values, count);
  });
}

SIMGPU_FORWARD(cudaLibraryUnload, (cudaLibrary_t library), cu.cuLibraryUnload(library))
SIMGPU_FORWARD(cudaLibraryGetKernel, (cudaKernel_t * out, cudaLibrary_t library, const char* name),
               cu.cuLibraryGetKernel(out, library, name))
SIMGPU_FORWARD(cudaLibraryGetKernelCount, (unsigned* count, cudaLibrary_t library),
               cu.cuLibraryGetKernelCount(count, library))
SIMGPU_FORWARD(cudaLibraryEnumerateKernels, (cudaKernel_t * out, unsigned count, cudaLibrary_t library),
               cu.cuLibraryEnumerateKernels(out, count, library))
SIMGPU_FORWARD(cudaLibraryGetManaged, (void** out, size_t* bytes, cudaLibrary_t library, const char* name),
               cu.cuLibraryGetManaged(reinterpret_cast<CUdeviceptr*>(out), bytes, library, name))
SIMGPU_FORWARD(cudaLibraryGetGlobal, (void** out, size_t* bytes, cudaLibrary_t library, const char* name),
               cu.cuLibraryGetGlobal(reinterpret_cast<CUdeviceptr*>(out), bytes, library, name))
