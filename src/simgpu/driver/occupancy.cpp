// cuOccupancy*: how many blocks fit on a multiprocessor. It must not know a real device's tables: a plain
// formula over threads, registers and shared memory.
#include <algorithm>

#include "simgpu/driver/module.hpp"
#include "simgpu/driver/profile.hpp"
#include "simgpu/driver/session.hpp"

namespace refrain::simgpu::driver {
namespace {

constexpr std::uint64_t kRegisters = 65536;
constexpr std::uint64_t kWarp = 32, kRegisterUnit = 8, kSharedUnit = 256;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

std::uint64_t blocks_that_fit(const Kernel& kernel, std::uint64_t block, std::uint64_t dynamic_bytes) {
  if (block == 0 || block > kernel.max_threads_per_block()) return 0;
  const std::uint64_t threads = round_up(block, kWarp);
  const std::uint64_t registers =
      threads * round_up(std::max<std::uint64_t>(1, kernel.register_count()), kRegisterUnit);
  const std::uint64_t shared = round_up(kernel.static_shared_bytes() + dynamic_bytes, kSharedUnit);
  const Profile& device = profile();
  std::uint64_t fit =
      std::min({std::uint64_t{device.blocks}, device.threads / threads, kRegisters / registers});
  if (shared > 0) fit = std::min(fit, device.shared_bytes / shared);
  return fit;
}

}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction handle, int block,
                                                              size_t dynamic_bytes, unsigned) {
  return api(Need::kContext, [&](Session& session) {
    require(blocks != nullptr && block > 0);
    const auto function = session.device.functions.need(handle);
    *blocks = static_cast<int>(blocks_that_fit(any_kernel(session.device, *function),
                                               static_cast<std::uint64_t>(block), dynamic_bytes));
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int block,
                                                     size_t dynamic_bytes) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, block, dynamic_bytes, 0);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction handle,
                                                   CUoccupancyB2DSize bytes_for, size_t dynamic_bytes,
                                                   int limit, unsigned) {
  if (grid == nullptr || block == nullptr) return CUDA_ERROR_INVALID_VALUE;
  int most = 0;
  CUresult result = cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, handle);
  if (result != CUDA_SUCCESS) return result;
  if (limit > 0) most = std::min(most, limit);
  int best = 0;
  int resident = 0;
  for (int size = most; size > 0; size -= static_cast<int>(size % kWarp == 0 ? kWarp : size % kWarp)) {
    const std::size_t bytes = bytes_for != nullptr ? bytes_for(size) : dynamic_bytes;
    int fit = 0;
    result = cuOccupancyMaxActiveBlocksPerMultiprocessor(&fit, handle, size, bytes);
    if (result != CUDA_SUCCESS) return result;
    if (fit * size > resident) {
      resident = fit * size;
      best = size;
      *grid = fit * static_cast<int>(profile().multiprocessors);
    }
  }
  *block = best;
  return best > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction handle,
                                          CUoccupancyB2DSize bytes_for, size_t dynamic_bytes, int limit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, handle, bytes_for, dynamic_bytes, limit, 0);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction handle, int blocks, int block) {
  return api(Need::kContext, [&](Session& session) {
    require(bytes != nullptr && blocks > 0 && block > 0);
    const auto function = session.device.functions.need(handle);
    const std::uint64_t share =
        profile().shared_bytes / static_cast<std::uint64_t>(blocks) / kSharedUnit * kSharedUnit;
    const std::uint64_t used = any_kernel(session.device, *function).static_shared_bytes();
    *bytes = share > used ? share - used : 0;
  });
}
