// Graph nodes that copy, fill, allocate and free, and the calls that take any kind of node. It must not keep
// parameters.
#include <cstring>

#include "simgpu/runtime/convert.hpp"
#include "simgpu/runtime/registry.hpp"

namespace refrain::simgpu::runtime {

CUcontext current_context(const DriverApi& cu) {
  CUcontext out = nullptr;
  check(cu.cuCtxGetCurrent(&out));
  return out;
}

namespace {

const auto as_copy = [](const DriverApi&, const cudaMemcpy3DParms& params) { return copy_of(params); };
const auto as_fill = [](const DriverApi&, const cudaMemsetParams& params) { return fill_of(params); };

CUDA_MEMCPY3D linear(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return flat_copy(to, bytes, from, bytes, bytes, 1, kind);
}

// The three calls about a copy that is given by itself.
CUresult add(const DriverApi& cu, cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* before,
             std::size_t count, const CUDA_MEMCPY3D& copy) {
  return cu.cuGraphAddMemcpyNode(out, graph, before, count, &copy, current_context(cu));
}
CUresult set(const DriverApi& cu, cudaGraphNode_t node, const CUDA_MEMCPY3D& copy) {
  return cu.cuGraphMemcpyNodeSetParams(node, &copy);
}
CUresult set(const DriverApi& cu, cudaGraphExec_t exec, cudaGraphNode_t node, const CUDA_MEMCPY3D& copy) {
  return cu.cuGraphExecMemcpyNodeSetParams(exec, node, &copy, current_context(cu));
}

void fill_kernel(const DriverApi& cu, const cudaKernelNodeParamsV2& from, CUDA_KERNEL_NODE_PARAMS_v3& out) {
  cudaKernelNodeParams older{};
  older.func = from.func;
  older.gridDim = from.gridDim;
  older.blockDim = from.blockDim;
  older.sharedMemBytes = from.sharedMemBytes;
  older.kernelParams = from.kernelParams;
  older.extra = from.extra;
  const CUDA_KERNEL_NODE_PARAMS params = kernel_params_of(cu, older);
  out = {params.func,         params.gridDimX,  params.gridDimY,  params.gridDimZ,
         params.blockDimX,    params.blockDimY, params.blockDimZ, params.sharedMemBytes,
         params.kernelParams, params.extra,     nullptr,          nullptr};
}

// Kernels, copies and fills are described anew; the rest has one layout in both APIs.
CUgraphNodeParams node_params_of(const DriverApi& cu, const cudaGraphNodeParams& from) {
  static_assert(sizeof(CUgraphNodeParams) == sizeof(cudaGraphNodeParams));
  CUgraphNodeParams out{};
  std::memcpy(&out, &from, sizeof out);
  switch (from.type) {
    case cudaGraphNodeTypeKernel: fill_kernel(cu, from.kernel, out.kernel); break;
    case cudaGraphNodeTypeMemcpy:
      out.memcpy = {};
      out.memcpy.copyCtx = current_context(cu);
      out.memcpy.copyParams = copy_of(from.memcpy.copyParams);
      break;
    case cudaGraphNodeTypeMemset: out.memset.ctx = current_context(cu); break;
    default: break;
  }
  return out;
}

}  // namespace
}  // namespace refrain::simgpu::runtime

using namespace refrain::simgpu::runtime;

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* before,
                                   size_t count, const cudaMemcpy3DParms* params) {
  return with_params(params, as_copy, [&](const DriverApi& cu, const CUDA_MEMCPY3D* converted) {
    return add(cu, out, graph, before, count, *converted);
  });
}
cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* params) {
  return call([&](const DriverApi& cu) {
    require(params != nullptr);
    CUDA_MEMCPY3D found{};
    check(cu.cuGraphMemcpyNodeGetParams(node, &found));
    *params = params_of(found);
  });
}
cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* params) {
  return with_params(params, as_copy, [&](const DriverApi& cu, const CUDA_MEMCPY3D* converted) {
    return set(cu, node, *converted);
  });
}
cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* params) {
  return with_params(params, as_copy, [&](const DriverApi& cu, const CUDA_MEMCPY3D* converted) {
    return set(cu, exec, node, *converted);
  });
}

SIMGPU_FORWARD(cudaGraphAddMemcpyNode1D,
               (cudaGraphNode_t * out, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count,
                void* to, const void* from, size_t bytes, cudaMemcpyKind kind),
               add(cu, out, graph, before, count, linear(to, from, bytes, kind)))
SIMGPU_FORWARD(cudaGraphMemcpyNodeSetParams1D,
               (cudaGraphNode_t node, void* to, const void* from, size_t bytes, cudaMemcpyKind kind),
               set(cu, node, linear(to, from, bytes, kind)))
SIMGPU_FORWARD(cudaGraphExecMemcpyNodeSetParams1D,
               (cudaGraphExec_t exec, cudaGraphNode_t node, void* to, const void* from, size_t bytes,
                cudaMemcpyKind kind),
               set(cu, exec, node, linear(to, from, bytes, kind)))
SIMGPU_FORWARD(cudaGraphAddMemcpyNodeToSymbol,
               (cudaGraphNode_t * out, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count,
                const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind),
               add(cu, out, graph, before, count,
                   linear(in_symbol(cu, symbol, offset, bytes), from, bytes, kind)))
SIMGPU_FORWARD(cudaGraphMemcpyNodeSetParamsToSymbol,
               (cudaGraphNode_t node, const void* symbol, const void* from, size_t bytes, size_t offset,
                cudaMemcpyKind kind),
               set(cu, node, linear(in_symbol(cu, symbol, offset, bytes), from, bytes, kind)))
SIMGPU_FORWARD(cudaGraphExecMemcpyNodeSetParamsToSymbol,
               (cudaGraphExec_t exec, cudaGraphNode_t node, const void* symbol, const void* from,
                size_t bytes, size_t offset, cudaMemcpyKind kind),
               set(cu, exec, node, linear(in_symbol(cu, symbol, offset, bytes), from, bytes, kind)))
SIMGPU_FORWARD(cudaGraphAddMemcpyNodeFromSymbol,
               (cudaGraphNode_t * out, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count,
                void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind),
               add(cu, out, graph, before, count,
                   linear(to, in_symbol(cu, symbol, offset, bytes), bytes, kind)))
SIMGPU_FORWARD(cudaGraphMemcpyNodeSetParamsFromSymbol,
               (cudaGraphNode_t node, void* to, const void* symbol, size_t bytes, size_t offset,
                cudaMemcpyKind kind),
               set(cu, node, linear(to, in_symbol(cu, symbol, offset, bytes), bytes, kind)))
SIMGPU_FORWARD(cudaGraphExecMemcpyNodeSetParamsFromSymbol,
               (cudaGraphExec_t exec, cudaGraphNode_t node, void* to, const void* symbol, size_t bytes,
                size_t offset, cudaMemcpyKind kind),
               set(cu, exec, node, linear(to, in_symbol(cu, symbol, offset, bytes), bytes, kind)))

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* before,
                                   size_t count, const cudaMemsetParams* params) {
  return with_params(params, as_fill, [&](const DriverApi& cu, const CUDA_MEMSET_NODE_PARAMS* converted) {
    return cu.cuGraphAddMemsetNode(out, graph, before, count, converted, current_context(cu));
  });
}
cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* params) {
  return call([&](const DriverApi& cu) {
    require(params != nullptr);
    CUDA_MEMSET_NODE_PARAMS found{};
    check(cu.cuGraphMemsetNodeGetParams(node, &found));
    *params = {reinterpret_cast<void*>(found.dst),
               found.pitch,
               found.value,
               found.elementSize,
               found.width,
               found.height};
  });
}
cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* params) {
  return with_params(params, as_fill, [&](const DriverApi& cu, const CUDA_MEMSET_NODE_PARAMS* converted) {
    return cu.cuGraphMemsetNodeSetParams(node, converted);
  });
}
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemsetParams* params) {
  return with_params(params, as_fill, [&](const DriverApi& cu, const CUDA_MEMSET_NODE_PARAMS* converted) {
    return cu.cuGraphExecMemsetNodeSetParams(exec, node, converted, current_context(cu));
  });
}

SIMGPU_FORWARD(cudaGraphAddMemAllocNode,
               (cudaGraphNode_t * out, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count,
                cudaMemAllocNodeParams* params),
               cu.cuGraphAddMemAllocNode(out, graph, before, count,
                                         reinterpret_cast<CUDA_MEM_ALLOC_NODE_PARAMS*>(params)))
SIMGPU_FORWARD(cudaGraphMemAllocNodeGetParams, (cudaGraphNode_t node, cudaMemAllocNodeParams* params),
               cu.cuGraphMemAllocNodeGetParams(node, reinterpret_cast<CUDA_MEM_ALLOC_NODE_PARAMS*>(params)))
SIMGPU_FORWARD(cudaGraphAddMemFreeNode,
               (cudaGraphNode_t * out, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count,
                void* pointer),
               cu.cuGraphAddMemFreeNode(out, graph, before, count, reinterpret_cast<CUdeviceptr>(pointer)))
SIMGPU_FORWARD(cudaGraphMemFreeNodeGetParams, (cudaGraphNode_t node, void* pointer),
               cu.cuGraphMemFreeNodeGetParams(node, static_cast<CUdeviceptr*>(pointer)))
SIMGPU_FORWARD(cudaDeviceGetGraphMemAttribute, (int device, cudaGraphMemAttributeType attribute, void* value),
               cu.cuDeviceGetGraphMemAttribute(device, static_cast<CUgraphMem_attribute>(attribute), value))
SIMGPU_FORWARD(cudaDeviceSetGraphMemAttribute, (int device, cudaGraphMemAttributeType attribute, void* value),
               cu.cuDeviceSetGraphMemAttribute(device, static_cast<CUgraphMem_attribute>(attribute), value))
SIMGPU_FORWARD(cudaDeviceGraphMemTrim, (int device), cu.cuDeviceGraphMemTrim(device))

cudaError_t cudaGraphAddNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* before,
                             const cudaGraphEdgeData* edges, size_t count, cudaGraphNodeParams* params) {
  return call([&](const DriverApi& cu) {
    require(params != nullptr);
    CUgraphNodeParams converted = node_params_of(cu, *params);
    check(cu.cuGraphAddNode(out, graph, before, reinterpret_cast<const CUgraphEdgeData*>(edges), count,
                            &converted));
    if (params->type == cudaGraphNodeTypeMemAlloc) {
      params->alloc.dptr = reinterpret_cast<void*>(converted.alloc.dptr);
    }
    if (params->type == cudaGraphNodeTypeGraph) params->graph.graph = converted.graph.graph;
  });
}
cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* params) {
  return call([&](const DriverApi& cu) {
    require(params != nullptr);
    CUgraphNodeParams converted = node_params_of(cu, *params);
    return cu.cuGraphNodeSetParams(node, &converted);
  });
}
cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                       cudaGraphNodeParams* params) {
  return call([&](const DriverApi& cu) {
    require(params != nullptr);
    CUgraphNodeParams converted = node_params_of(cu, *params);
    return cu.cuGraphExecNodeSetParams(exec, node, &converted);
  });
}
