// cuModule* and cuLibrary*. It must not parse images (module.cpp).
#include "simgpu/driver/jit_log.hpp"
#include "simgpu/driver/module.hpp"
#include "simgpu/driver/session.hpp"

namespace refrain::simgpu::driver {
namespace {

CUresult load_as_module(CUmodule* out, Source (*choose)(const void*), const void* image,
                        const JitLog& log = {0, nullptr, nullptr}) {
  return api(Need::kContext, [&](Session& session) {
    require(out != nullptr && image != nullptr);
    auto library = add_library(session.device, choose(image), session.context.get());
    try {
      load(session.device, *library, session.context->ordinal);
      log.write({});
    } catch (const std::exception&) {
      log.write(library->load_log);
      unload(session.device, *library);
      throw;
    }
    *out = reinterpret_cast<CUmodule>(library.get());
  });
}

Source choose_path(const void* path) {
  return choose_source_of_file(static_cast<const char*>(path));
}

CUresult load_as_library(CUlibrary* out, Source (*choose)(const void*), const void* image) {
  return api(Need::kDevice, [&](Session& session) {
    require(out != nullptr && image != nullptr);
    *out = reinterpret_cast<CUlibrary>(add_library(session.device, choose(image), nullptr).get());
  });
}

// The library or module behind a handle, loaded on the call's device: its functions are known.
std::shared_ptr<Library> loaded(Session& session, const void* handle) {
  auto library = session.device.libraries.need(handle);
  load(session.device, *library, session.ordinal());
  return library;
}

// The code of a library on the call's device.
const Module& code_of(Session& session, const void* handle) {
  return *load(session.device, *session.device.libraries.need(handle), session.ordinal());
}

template <class Handle>
Handle find_function(Library& library, const char* name) {
  const auto found = library.functions.find(name);
  require(found != library.functions.end(), CUDA_ERROR_NOT_FOUND);
  return reinterpret_cast<Handle>(found->second.get());
}

void find_global(const Module& code, const char* name, CUdeviceptr* address, std::size_t* bytes) {
  require(name != nullptr && (address != nullptr || bytes != nullptr));
  const GlobalVariable* global = code.find_global(name);
  require(global != nullptr, CUDA_ERROR_NOT_FOUND);
  if (address != nullptr) *address = global->address;
  if (bytes != nullptr) *bytes = global->bytes;
}

// The code of a library wherever it is loaded, for what is the same there.
const Module& any_code_of(Session& session, const void* handle) {
  const auto library = session.device.libraries.need(handle);
  for (const auto& code : library->code) {
    if (code != nullptr) return *code;
  }
  return code_of(session, handle);
}

// A variable that is managed, and only such.
void find_managed(const Module& code, const char* name, CUdeviceptr* address, std::size_t* bytes) {
  require(name != nullptr);
  const GlobalVariable* global = code.find_global(name);
  require(global != nullptr && global->managed, CUDA_ERROR_NOT_FOUND);
  find_global(code, name, address, bytes);
}

template <class Handle>
void list_functions(const Library& library, Handle* out, unsigned count) {
  require(out != nullptr || count == 0);
  for (const auto& [name, function] : library.functions) {
    if (count-- == 0) break;
    *out++ = reinterpret_cast<Handle>(function.get());
  }
}

}  // namespace
}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuModuleLoadData(CUmodule* out, const void* image) {
  return load_as_module(out, &choose_source, image);
}

CUresult cuModuleLoadDataEx(CUmodule* out, const void* image, unsigned count, CUjit_option* options,
                            void** values) {
  return load_as_module(out, &choose_source, image, JitLog(count, options, values));
}

CUresult cuModuleLoadFatBinary(CUmodule* out, const void* image) {
  return load_as_module(out, &choose_source, image);
}

CUresult cuModuleLoad(CUmodule* out, const char* path) {
  return load_as_module(out, &choose_path, path);
}

CUresult cuModuleUnload(CUmodule module) {
  return api(Need::kContext, [&](Session& session) {
    const auto library = session.device.libraries.need(module);
    require(library->is_module, CUDA_ERROR_INVALID_HANDLE);
    unload(session.device, *library);
  });
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (find_device() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* out, CUmodule module, const char* name) {
  return api(Need::kContext, [&](Session& session) {
    require(out != nullptr && name != nullptr);
    *out = find_function<CUfunction>(*loaded(session, module), name);
  });
}

CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule module) {
  return api(Need::kContext, [&](Session& session) {
    require(count != nullptr);
    *count = static_cast<unsigned>(loaded(session, module)->functions.size());
  });
}

CUresult cuModuleEnumerateFunctions(CUfunction* out, unsigned count, CUmodule module) {
  return api(Need::kContext, [&](Session& session) { list_functions(*loaded(session, module), out, count); });
}

CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  return api(Need::kContext,
             [&](Session& session) { find_global(code_of(session, module), name, address, bytes); });
}

CUresult cuLibraryLoadData(CUlibrary* out, const void* image, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  return load_as_library(out, &choose_source, image);
}

CUresult cuLibraryLoadFromFile(CUlibrary* out, const char* path, CUjit_option*, void**, unsigned,
                               CUlibraryOption*, void**, unsigned) {
  return load_as_library(out, &choose_path, path);
}

CUresult cuLibraryUnload(CUlibrary handle) {
  return api(Need::kDevice, [&](Session& session) {
    const auto library = session.device.libraries.need(handle);
    require(!library->is_module, CUDA_ERROR_INVALID_HANDLE);
    unload(session.device, *library);
  });
}

CUresult cuLibraryGetKernel(CUkernel* out, CUlibrary handle, const char* name) {
  return api(Need::kDevice, [&](Session& session) {
    require(out != nullptr && name != nullptr);
    *out = find_function<CUkernel>(*loaded(session, handle), name);
  });
}

CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary handle) {
  return api(Need::kDevice, [&](Session& session) {
    require(count != nullptr);
    *count = static_cast<unsigned>(loaded(session, handle)->functions.size());
  });
}

CUresult cuLibraryEnumerateKernels(CUkernel* out, unsigned count, CUlibrary handle) {
  return api(Need::kDevice, [&](Session& session) { list_functions(*loaded(session, handle), out, count); });
}

CUresult cuLibraryGetModule(CUmodule* out, CUlibrary handle) {
  return api(Need::kContext, [&](Session& session) {
    require(out != nullptr);
    *out = reinterpret_cast<CUmodule>(loaded(session, handle).get());
  });
}

CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary handle, const char* name) {
  return api(Need::kContext,
             [&](Session& session) { find_global(code_of(session, handle), name, address, bytes); });
}

CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary handle, const char* name) {
  return api(Need::kDevice,
             [&](Session& session) { find_managed(any_code_of(session, handle), name, address, bytes); });
}
