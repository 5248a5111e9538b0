// cuLaunch*. It must not run kernels (execute.cpp).
#include "simgpu/driver/launch.hpp"

#include <fmt/format.h>

#include <cstring>

#include "simgpu/driver/module.hpp"
#include "simgpu/driver/profile.hpp"
#include "simgpu/driver/submit.hpp"

namespace refrain::simgpu::driver {
namespace {

void check_shape(const Kernel& kernel, int most_dynamic_bytes, const LaunchShape& shape) {
  const Dim3& grid = shape.grid;
  const Dim3& block = shape.block;
  const std::uint32_t dynamic = shape.dynamic_shared_bytes;
  require(grid.x > 0 && grid.y > 0 && grid.z > 0 && block.x > 0 && block.y > 0 && block.z > 0);
  require(grid.x <= 2147483647 && grid.y <= 65535 && grid.z <= 65535);
  require(block.x <= 1024 && block.y <= 1024 && block.z <= 64);
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  require(threads <= kernel.max_threads_per_block());
  require(dynamic <= static_cast<std::uint32_t>(most_dynamic_bytes));
}

// Blocks that wait for each other must all be there.
void check_resident(const Kernel& kernel, const LaunchShape& shape) {
  const std::uint64_t blocks = std::uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z;
  const std::uint64_t threads = std::uint64_t{shape.block.x} * shape.block.y * shape.block.z;
  const std::uint64_t fit = blocks_that_fit(kernel, threads, shape.dynamic_shared_bytes);
  require(blocks <= fit * profile().multiprocessors, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

void copy_params(const Kernel& kernel, void* const* params, std::vector<std::byte>& out) {
  std::size_t index = 0;
  for (const KernelParam& param : kernel.params()) {
    const void* from = params[index++];
    require(from != nullptr);
    std::memcpy(out.data() + param.offset_bytes, from, param.size_bytes);
  }
}

void copy_extra(void* const* extra, std::vector<std::byte>& out) {
  const void* buffer = nullptr;
  const std::size_t* bytes = nullptr;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = extra[1];
    } else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      bytes = static_cast<const std::size_t*>(extra[1]);
    } else {
      throw CudaError(CUDA_ERROR_INVALID_VALUE);
    }
  }
  require(out.empty() || (buffer != nullptr && bytes != nullptr && *bytes >= out.size()));
  if (!out.empty()) std::memcpy(out.data(), buffer, out.size());
}

struct Attributes {
  bool cooperative = false;
};

void read_attribute(CUlaunchAttributeID id, const CUlaunchAttributeValue& value, Attributes& out) {
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      return;  // hints: full order is always allowed
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: out.cooperative = value.cooperative != 0; return;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      if (value.clusterDim.x != 1 || value.clusterDim.y != 1 || value.clusterDim.z != 1) {
        refuse("a launch with thread block clusters");
      }
      return;
    default: refuse(fmt::format("launch attribute {}", static_cast<int>(id)));
  }
}

CUresult launch(CUfunction function, const LaunchShape& shape, CUstream handle, void** params, void** extra,
                bool cooperative = false, const Where& where = Where::current()) {
  return api(
      Need::kContext,
      [&](Session& session) {
        const Ordinal current = session.context->ordinal;
        const StreamRef stream = session.stream(handle);
        require(stream->context->ordinal == current, CUDA_ERROR_INVALID_HANDLE);
        submit(session, stream,
               launch_of(session.device, current, function, shape, params, extra, cooperative));
      },
      where);
}

}  // namespace

KernelLaunch launch_of(Device& device, Ordinal ordinal, CUfunction handle, const LaunchShape& shape,
                       void* const* params, void* const* extra, bool cooperative) {
  KernelLaunch out;
  out.function = device.functions.need(handle);
  const Kernel& kernel = kernel_on(device, *out.function, ordinal);
  out.ordinal = ordinal;
  out.kernel = &kernel;
  out.code = out.function->library->code[ordinal];
  out.shape = shape;
  check_shape(kernel, out.function->attributes[ordinal].max_dynamic_shared_bytes, shape);
  set_cooperative(out, cooperative);
  out.params.resize(kernel.param_bytes());
  require(params == nullptr || extra == nullptr);
  if (params != nullptr) {
    copy_params(kernel, params, out.params);
  } else if (extra != nullptr) {
    copy_extra(extra, out.params);
  } else {
    require(kernel.params().empty());
  }
  return out;
}

void set_cooperative(KernelLaunch& launch, bool cooperative) {
  if (cooperative) check_resident(*launch.kernel, launch.shape);
  launch.cooperative = cooperative;
}

void set_launch_attribute(KernelLaunch& launch, CUlaunchAttributeID id, const CUlaunchAttributeValue& value) {
  Attributes attributes{launch.cooperative};
  read_attribute(id, value, attributes);
  set_cooperative(launch, attributes.cooperative);
}

KernelLaunch launch_of(Device& device, Ordinal otherwise, const CUDA_KERNEL_NODE_PARAMS_v2& params) {
  CUfunction function = params.func != nullptr ? params.func : reinterpret_cast<CUfunction>(params.kern);
  const Library& library = *device.functions.need(function)->library;
  Ordinal ordinal = library.is_module ? library.context->ordinal : otherwise;
  if (params.func == nullptr && params.ctx != nullptr)
    ordinal = device.contexts.need(params.ctx, CUDA_ERROR_INVALID_CONTEXT)->ordinal;
  const LaunchShape shape{{params.gridDimX, params.gridDimY, params.gridDimZ},
                          {params.blockDimX, params.blockDimY, params.blockDimZ},
                          params.sharedMemBytes};
  return launch_of(device, ordinal, function, shape, params.kernelParams, params.extra);
}

CUDA_KERNEL_NODE_PARAMS_v2 params_of(GraphNode& node) {
  auto& launch = std::get<KernelLaunch>(node.operation);
  node.param_pointers.clear();
  for (const KernelParam& param : launch.kernel->params()) {
    node.param_pointers.push_back(launch.params.data() + param.offset_bytes);
  }
  CUDA_KERNEL_NODE_PARAMS_v2 out{};
  out.func = reinterpret_cast<CUfunction>(launch.function.get());
  out.gridDimX = launch.shape.grid.x;
  out.gridDimY = launch.shape.grid.y;
  out.gridDimZ = launch.shape.grid.z;
  out.blockDimX = launch.shape.block.x;
  out.blockDimY = launch.shape.block.y;
  out.blockDimZ = launch.shape.block.z;
  out.sharedMemBytes = launch.shape.dynamic_shared_bytes;
  out.kernelParams = node.param_pointers.data();
  return out;
}

}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void** params, void** extra) {
  return launch(function, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}, stream,
                params, extra);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** params, void** extra) {
  if (config == nullptr || (config->numAttrs > 0 && config->attrs == nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  Attributes attributes;
  const CUresult checked = api(
      Need::kContext,
      [&](Session&) {
        for (unsigned index = 0; index < config->numAttrs; ++index)
          read_attribute(config->attrs[index].id, config->attrs[index].value, attributes);
      },
      Where());
  if (checked != CUDA_SUCCESS) return checked;
  return launch(function,
                {{config->gridDimX, config->gridDimY, config->gridDimZ},
                 {config->blockDimX, config->blockDimY, config->blockDimZ},
                 config->sharedMemBytes},
                config->hStream, params, extra, attributes.cooperative);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z,
                                   unsigned shared_bytes, CUstream stream, void** params) {
  return launch(function, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}, stream,
                params, nullptr, true);
}
