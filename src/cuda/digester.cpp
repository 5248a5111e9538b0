// Loading and launching the digest kernel. Must not use device memory of its own: the cap has no room for it.
#include "cuda/digester.hpp"

#include <algorithm>

extern "C" const char refrain_kernels_begin[];

namespace refrain::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kMostBlocks = 1024;  // a few for each SM of the largest GPUs
constexpr std::uint64_t kBytesPerBlock = std::uint64_t{kThreads} * 16 * 4;

}  // namespace

// Goes on where an earlier attempt has failed.
CUresult Digester::load() {
  CUresult result = CUDA_SUCCESS;
  if (!partials_) {
    result = driver_.cuMemHostAlloc(&partials_, kMostBlocks * sizeof(engine::Digest),
                                    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  }
  if (result == CUDA_SUCCESS && partials_address_ == 0) {
    result = driver_.cuMemHostGetDevicePointer(&partials_address_, partials_, 0);
  }
  if (result == CUDA_SUCCESS && !module_) result = driver_.cuModuleLoadData(&module_, refrain_kernels_begin);
  if (result == CUDA_SUCCESS) result = driver_.cuModuleGetFunction(&function_, module_, "refrain_digest");
  return result;
}

CUresult Digester::launch(CUdeviceptr address, std::uint64_t bytes, CUstream stream) {
  if (!function_) {
    const CUresult result = load();
    if (result != CUDA_SUCCESS) return result;
  }
  blocks_ = static_cast<unsigned>(std::clamp<std::uint64_t>(bytes / kBytesPerBlock, 1, kMostBlocks));
  void* arguments[] = {&address, &bytes, &partials_address_};
  return driver_.cuLaunchKernel(function_, blocks_, 1, 1, kThreads, 1, 1, 0, stream, arguments, nullptr);
}

engine::Digest Digester::result() const {
  engine::Digest total;
  const auto* const partials = static_cast<const volatile std::uint64_t*>(partials_);
  for (unsigned i = 0; i < blocks_; ++i) {
    total.low += partials[2 * i];
    total.high += partials[2 * i + 1];
  }
  return total;
}

void Digester::forget(bool alive) {
  if (alive && module_) driver_.cuModuleUnload(module_);
  if (alive && partials_) driver_.cuMemFreeHost(partials_);
  partials_ = nullptr;
  partials_address_ = 0;
  module_ = nullptr;
  function_ = nullptr;
}

}  // namespace refrain::cuda
