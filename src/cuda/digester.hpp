// The 128-bit digest of device memory, by the kernel of kernels/digest.cu. Orders nothing: the caller sees to
// it that the bytes are there when the stream gets to them.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>

#include "cuda/driver.hpp"
#include "engine/ids.hpp"

namespace refrain::cuda {

// Thread safety: the caller's lock. One digest at a time: read what was launched before the next launch.
class Digester {
 public:
  explicit Digester(const Driver& driver) : driver_(driver) {}

  // In the current context. Loads the kernel the first time.
  CUresult launch(CUdeviceptr address, std::uint64_t bytes, CUstream stream);
  // Of the last launch, which the stream has finished.
  engine::Digest result() const;
  // The context, and with it the kernel, is gone or about to go.
  void forget(bool alive);

 private:
  CUresult load();

  const Driver& driver_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  void* partials_ = nullptr;  // pinned host memory, for the life of the context
  CUdeviceptr partials_address_ = 0;
  unsigned blocks_ = 0;
};

}  // namespace refrain::cuda
