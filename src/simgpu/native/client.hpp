// A library's way to the device: the public driver API, and the library's kernels loaded as an image. It must
// not include or link the driver of ours.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

#include "simgpu/native/image.hpp"
#include "simgpu/runtime/driver_api.hpp"

namespace refrain::simgpu::native {

// One line "simgpu NAME: ..." on stderr.
void say(const char* library, const char* text) noexcept;
// "... is not supported": the same, at most once for each text in the life of the process.
void say_unsupported(const char* library, const char* what) noexcept;

// Thread safety: any function from any thread. Never destroyed: calls come while the process ends.
class Client {
 public:
  Client(const char* library, std::span<const Kernel> kernels)
      : library_(library), kernels_(kernels), functions_(kernels.size()) {}

  // Finds the driver, starts it, and loads the image. CUDA_ERROR_NOT_FOUND: the driver is a real one; every
  // failure has said why. Once it has succeeded it is cheap.
  CUresult start() noexcept;
  // After start. Makes the primary context current on a thread that has none, as the runtime does. out, if
  // given: the current one, which a handle made now belongs to.
  CUresult make_current(CUcontext* out = nullptr) noexcept;
  const runtime::DriverApi& driver() const noexcept { return *driver_; }
  // In a handle's context. kernel: an index of the rows. arguments: its only parameter.
  CUresult launch(std::size_t kernel, const void* arguments, CUcontext context, CUstream stream) noexcept;

 private:
  CUresult find_device();
  CUresult start_locked();
  CUresult load();

  const char* library_;
  std::span<const Kernel> kernels_;
  std::mutex mutex_;
  bool started_ = false;
  const runtime::DriverApi* driver_ = nullptr;
  Image image_{};
  std::vector<CUfunction> functions_;
};

// Makes a handle's context current while it lives; then it is again the one that was, if there was one.
class InContext {
 public:
  InContext(const Client& client, CUcontext context) noexcept;
  ~InContext();
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;
  CUresult result() const noexcept { return result_; }

 private:
  const runtime::DriverApi& driver_;
  CUcontext before_ = nullptr;  // to be made current again; nullptr: nothing to do
  CUresult result_;
};

}  // namespace refrain::simgpu::native
