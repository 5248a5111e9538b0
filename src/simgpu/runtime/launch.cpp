// Launches, the configuration stack behind <<<>>>, function attributes and occupancy. It must not look into
// kernels.
#include "simgpu/runtime/convert.hpp"
#include "simgpu/runtime/registry.hpp"

namespace refrain::simgpu::runtime {
namespace {

struct Configuration {
  dim3 grid, block;
  std::size_t shared_bytes;
  cudaStream_t stream;
};

// Without a destructor, so that static destructors may still launch.
struct ConfigurationStack {
  static constexpr unsigned kRoom = 32;  // launches inside the arguments of launches
  Configuration items[kRoom];
  unsigned count = 0;
};
ConfigurationStack& configurations() {
  thread_local ConfigurationStack stack;
  return stack;
}

CUfunction function_of(CUkernel kernel) {
  return reinterpret_cast<CUfunction>(kernel);
}

CUresult launch(const DriverApi& cu, CUkernel kernel, dim3 grid, dim3 block, void** params,
                std::size_t shared_bytes, cudaStream_t stream) {
  require(grid.x > 0 && grid.y > 0 && grid.z > 0 && block.x > 0 && block.y > 0 && block.z > 0,
          cudaErrorInvalidConfiguration);
  require(block.x <= 1024 && block.y <= 1024 && block.z <= 64 &&
              std::size_t{block.x} * block.y * block.z <= 1024 && grid.y <= 65535 && grid.z <= 65535,
          cudaErrorInvalidConfiguration);
  // The CUkernel goes in as the function: the driver takes either.
  return cu.cuLaunchKernel(function_of(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                           static_cast<unsigned>(shared_bytes), stream, params, nullptr);
}

void fill_attributes(const DriverApi& cu, CUkernel kernel, cudaFuncAttributes& out) {
  const int device = current_device(cu);
  const auto value = [&](CUfunction_attribute attribute) {
    int number = 0;
    check(cu.cuKernelGetAttribute(&number, attribute, kernel, device));
    return number;
  };
  out = {};
  out.sharedSizeBytes = static_cast<std::size_t>(value(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  out.constSizeBytes = static_cast<std::size_t>(value(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
  out.localSizeBytes = static_cast<std::size_t>(value(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  out.maxThreadsPerBlock = value(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  out.numRegs = value(CU_FUNC_ATTRIBUTE_NUM_REGS);
  out.ptxVersion = value(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  out.binaryVersion = value(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  out.cacheModeCA = value(CU_FUNC_ATTRIBUTE_CACHE_MODE_CA);
  out.maxDynamicSharedSizeBytes = value(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  out.preferredShmemCarveout = value(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
}

}  // namespace

CUDA_KERNEL_NODE_PARAMS kernel_params_of(const DriverApi& cu, const cudaKernelNodeParams& params) {
  CUDA_KERNEL_NODE_PARAMS out{};
  out.func = function_of(kernel_of(cu, params.func));
  out.gridDimX = params.gridDim.x;
  out.gridDimY = params.gridDim.y;
  out.gridDimZ = params.gridDim.z;
  out.blockDimX = params.blockDim.x;
  out.blockDimY = params.blockDim.y;
  out.blockDimZ = params.blockDim.z;
  out.sharedMemBytes = params.sharedMemBytes;
  out.kernelParams = params.kernelParams;
  out.extra = params.extra;
  return out;
}

}  // namespace refrain::simgpu::runtime

using namespace refrain::simgpu::runtime;

#pragma GCC visibility push(default)
extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, CUstream_st* stream) {
  ConfigurationStack& stack = configurations();
  if (stack.count == ConfigurationStack::kRoom) return 1;  // the caller does not launch
  stack.items[stack.count++] = {grid, block, shared_bytes, stream};
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  ConfigurationStack& stack = configurations();
  if (stack.count == 0) return thread_state().last_error = cudaErrorMissingConfiguration;
  const Configuration& top = stack.items[--stack.count];
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** params, size_t shared_bytes,
                               cudaStream_t stream) {
  return call([&](const DriverApi& cu) {
    require(kernel != nullptr, cudaErrorInvalidDeviceFunction);
    return launch(cu, kernel, grid, block, params, shared_bytes, stream);
  });
}

}  // extern "C"
#pragma GCC visibility pop

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** params, size_t shared_bytes,
                             cudaStream_t stream) {
  return call([&](const DriverApi& cu) {
    return launch(cu, kernel_of(cu, function), grid, block, params, shared_bytes, stream);
  });
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** params) {
  return call([&](const DriverApi& cu) {
    require(config != nullptr);
    CUlaunchConfig out{};
    out.gridDimX = config->gridDim.x;
    out.gridDimY = config->gridDim.y;
    out.gridDimZ = config->gridDim.z;
    out.blockDimX = config->blockDim.x;
    out.blockDimY = config->blockDim.y;
    out.blockDimZ = config->blockDim.z;
    out.sharedMemBytes = static_cast<unsigned>(config->dynamicSmemBytes);
    out.hStream = config->stream;
    out.attrs = reinterpret_cast<CUlaunchAttribute*>(config->attrs);
    out.numAttrs = config->numAttrs;
    return cu.cuLaunchKernelEx(&out, function_of(kernel_of(cu, function)), params, nullptr);
  });
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** params,
                                        size_t shared_bytes, cudaStream_t stream) {
  return call([&](const DriverApi& cu) {
    return cu.cuLaunchCooperativeKernel(function_of(kernel_of(cu, function)), grid.x, grid.y, grid.z, block.x,
                                        block.y, block.z, static_cast<unsigned>(shared_bytes), stream,
                                        params);
  });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, const void* function) {
  return call([&](const DriverApi& cu) {
    require(out != nullptr);
    fill_attributes(cu, kernel_of(cu, function), *out);
  });
}

SIMGPU_FORWARD(cudaFuncSetAttribute, (const void* function, cudaFuncAttribute attribute, int value),
               cu.cuKernelSetAttribute(static_cast<CUfunction_attribute>(attribute), value,
                                       kernel_of(cu, function), 0))
SIMGPU_FORWARD(cudaKernelSetAttributeForDevice,
               (cudaKernel_t kernel, cudaFuncAttribute attribute, int value, int device),
               cu.cuKernelSetAttribute(static_cast<CUfunction_attribute>(attribute), value, kernel, device))
SIMGPU_FORWARD(cudaFuncSetCacheConfig, (const void* function, cudaFuncCache config),
               cu.cuKernelSetCacheConfig(kernel_of(cu, function), static_cast<CUfunc_cache>(config),
                                         current_device(cu)))
SIMGPU_FORWARD(cudaFuncGetName, (const char** name, const void* function),
               cu.cuKernelGetName(name, kernel_of(cu, function)))
SIMGPU_FORWARD(cudaFuncGetParamInfo, (const void* function, size_t index, size_t* offset, size_t* bytes),
               cu.cuKernelGetParamInfo(kernel_of(cu, function), index, offset, bytes))
SIMGPU_FORWARD(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
               (int* blocks, const void* function, int block, size_t shared_bytes, unsigned flags),
               cu.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks,
                                                                       function_of(kernel_of(cu, function)),
                                                                       block, shared_bytes, flags))
SIMGPU_FORWARD(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
               (int* blocks, const void* function, int block, size_t shared_bytes),
               cu.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks,
                                                                       function_of(kernel_of(cu, function)),
                                                                       block, shared_bytes, 0))
SIMGPU_FORWARD(cudaOccupancyAvailableDynamicSMemPerBlock,
               (size_t * bytes, const void* function, int blocks, int block),
               cu.cuOccupancyAvailableDynamicSMemPerBlock(bytes, function_of(kernel_of(cu, function)), blocks,
                                                          block))
