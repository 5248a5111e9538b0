// Loaded code: modules and libraries from PTX text and fat binaries, and the functions in them. It must not
// launch.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simgpu/driver/device.hpp"
#include "simgpu/driver/native.hpp"
#include "simgpu/exec/module.hpp"

namespace refrain::simgpu::driver {

// What a CUfunction and a CUkernel name: one type, so that either is accepted where the other is.
struct Function {
  // As set for one device.
  struct Attributes {
    int max_dynamic_shared_bytes = 0;
    int carveout = -1;
    int non_portable_cluster = 0;
  };
  Library* library = nullptr;
  std::string name;
  std::array<Attributes, kMaxDevices> attributes;
};

// What code is made from: PTX texts to be linked, or native kernels.
struct Source {
  std::vector<std::string> ptx;
  const native::Image* native = nullptr;
};

// What a CUmodule and a CUlibrary name. PTX is made ready at first use on a device; managed variables are one
// for all devices.
struct Library {
  bool is_module = false;
  Context* context = nullptr;  // of a module; a library has none
  Source source;
  std::array<std::shared_ptr<Module>, kMaxDevices> code;  // after loading
  std::shared_ptr<ManagedVariables> managed;
  CUresult load_error = CUDA_SUCCESS;
  std::string load_log;   // what the loader said
  std::string module_id;  // in the log of accesses; empty: native, or no log
  std::map<std::string, std::shared_ptr<Function>, std::less<>> functions;
};

// How many blocks of that many threads fit on a multiprocessor.
std::uint64_t blocks_that_fit(const Kernel& kernel, std::uint64_t block, std::uint64_t dynamic_bytes);

// The PTX of an image that suits the device, or its native kernels; a file has none of those. Throws
// CudaError after saying what is wrong.
Source choose_source(const void* image);
Source choose_source_of_file(const char* path);

// What cuLinkComplete gives: texts in one piece of memory that choose_source knows again.
std::vector<char> linked_image(const std::vector<std::string>& ptx);

std::shared_ptr<Library> add_library(Device& device, Source source, Context* module_of);
// Makes it ready on that device, or on a module's own, if it is not. Throws CudaError.
const std::shared_ptr<Module>& load(Device& device, Library& library, Ordinal ordinal);
// The kernel as loaded on a device. Throws CUDA_ERROR_INVALID_HANDLE for that of another one's module.
const Kernel& kernel_on(Device& device, const Function& function, Ordinal ordinal);
// Of whichever device has it: what is the same on all.
const Kernel& any_kernel(Device& device, const Function& function);
void unload(Device& device, Library& library);
void unload_modules_of(Device& device, const Context& context);
// Libraries and their kernels outlive contexts; what they hold on a device starts anew after a reset.
void reload_libraries(Device& device, Ordinal ordinal);

}  // namespace refrain::simgpu::driver
