// Finding the device and launching. It must not know what a kernel does.
#include "simgpu/native/client.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <set>
#include <string>

#include "simgpu/runtime/call.hpp"

namespace refrain::simgpu::native {
namespace {

bool first_time(const char* text) {
  static std::mutex mutex;
  static auto* said = new std::set<std::string>;  // never destroyed: calls come while the process ends
  std::lock_guard lock(mutex);
  return said->emplace(text).second;
}

}  // namespace

void say(const char* library, const char* text) noexcept {
  std::fprintf(stderr, "simgpu %s: %s\n", library, text);
}

void say_unsupported(const char* library, const char* what) noexcept {
  try {
    if (!first_time(what)) return;
  } catch (const std::bad_alloc&) {  // then it may be said twice
  }
  std::fprintf(stderr, "simgpu %s: %s is not supported\n", library, what);
}

CUresult Client::find_device() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) {
    say(library_, "there is no libcuda.so.1");
    return CUDA_ERROR_NOT_FOUND;
  }
  image_.version = dlsym(library, kVersionSymbol);
  if (image_.version == nullptr) {
    say(library_,
        "this library runs on simgpu's libcuda.so.1 only, and the driver here is another one: take its "
        "folder "
        "out of LD_LIBRARY_PATH");
    return CUDA_ERROR_NOT_FOUND;
  }
  const std::uint32_t version = *static_cast<const std::uint32_t*>(image_.version);
  if (version == kVersion) return CUDA_SUCCESS;
  say(library_,
      ("it speaks version " + std::to_string(kVersion) + " of simgpu's native kernels, the device " +
       std::to_string(version) + ": use libraries of one build")
          .c_str());
  return CUDA_ERROR_NOT_FOUND;
}

CUresult Client::load() {
  std::memcpy(image_.magic, kMagic, sizeof kMagic);
  image_.kernels = kernels_.data();
  image_.kernel_count = kernels_.size();
  CUlibrary library = nullptr;
  CUresult result = driver_->cuLibraryLoadData(&library, &image_, nullptr, nullptr, 0, nullptr, nullptr, 0);
  for (std::size_t index = 0; result == CUDA_SUCCESS && index < kernels_.size(); ++index) {
    CUkernel kernel = nullptr;
    result = driver_->cuLibraryGetKernel(&kernel, library, kernels_[index].name);
    functions_[index] = reinterpret_cast<CUfunction>(kernel);  // either handle launches
  }
  return result;
}

CUresult Client::start_locked() {
  if (started_) return CUDA_SUCCESS;
  const CUresult found = find_device();
  if (found != CUDA_SUCCESS) return found;
  driver_ = &runtime::driver_api(runtime::DefaultStream::kLegacy);
  CUresult result = driver_->cuInit(0);
  if (result == CUDA_SUCCESS) result = load();
  started_ = result == CUDA_SUCCESS;
  return result;
}

CUresult Client::start() noexcept {
  try {
    std::lock_guard lock(mutex_);
    return start_locked();
  } catch (const runtime::RuntimeError&) {
    say(library_, "there is no usable libcuda.so.1");
    return CUDA_ERROR_NOT_INITIALIZED;
  } catch (const std::exception& error) {
    say(library_, error.what());
    return CUDA_ERROR_UNKNOWN;
  }
}

CUresult Client::make_current(CUcontext* out) noexcept {
  CUcontext context = nullptr;
  const CUresult result = driver_->cuCtxGetCurrent(&context);
  if (out != nullptr) *out = context;
  if (result != CUDA_SUCCESS || context != nullptr) return result;
  // One reference is enough to keep it: the runtime's, if the program uses it; else ours, which stays.
  unsigned flags = 0;
  int active = 0;
  CUresult made = driver_->cuDevicePrimaryCtxGetState(0, &flags, &active);
  if (made == CUDA_SUCCESS) made = driver_->cuDevicePrimaryCtxRetain(&context, 0);
  if (made == CUDA_SUCCESS) made = driver_->cuCtxSetCurrent(context);
  if (made == CUDA_SUCCESS && active != 0) made = driver_->cuDevicePrimaryCtxRelease(0);
  if (out != nullptr) *out = context;
  return made;
}

CUresult Client::launch(std::size_t kernel, const void* arguments, CUcontext context,
                        CUstream stream) noexcept {
  const InContext there(*this, context);
  if (there.result() != CUDA_SUCCESS) return there.result();
  void* params[] = {const_cast<void*>(arguments)};
  return driver_->cuLaunchKernel(functions_[kernel], 1, 1, 1, 128, 1, 1, 0, stream, params, nullptr);
}

InContext::InContext(const Client& client, CUcontext context) noexcept : driver_(client.driver()) {
  CUcontext now = nullptr;
  result_ = driver_.cuCtxGetCurrent(&now);
  if (result_ != CUDA_SUCCESS || now == context) return;
  result_ = driver_.cuCtxSetCurrent(context);
  if (result_ == CUDA_SUCCESS) before_ = now;
}

InContext::~InContext() {
  if (before_ != nullptr) driver_.cuCtxSetCurrent(before_);
}

}  // namespace refrain::simgpu::native
