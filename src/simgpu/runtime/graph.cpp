// cudaGraph*. It must not keep graphs of its own.
#include "simgpu/runtime/convert.hpp"
#include "simgpu/runtime/registry.hpp"

using namespace refrain::simgpu::runtime;

namespace {

const CUgraphEdgeData* edge_data(const cudaGraphEdgeData* edges) {
  return reinterpret_cast<const CUgraphEdgeData*>(edges);
}
CUgraphEdgeData* edge_data(cudaGraphEdgeData* edges) {
  return reinterpret_cast<CUgraphEdgeData*>(edges);
}

CUDA_HOST_NODE_PARAMS host_params_of(const cudaHostNodeParams& params) {
  CUDA_HOST_NODE_PARAMS out{};
  out.fn = params.fn;
  out.userData = params.userData;
  return out;
}

const auto as_kernel = [](const DriverApi& cu, const cudaKernelNodeParams& params) {
  return kernel_params_of(cu, params);
};
const auto as_host = [](const DriverApi&, const cudaHostNodeParams& params) {
  return host_params_of(params);
};

}  // namespace

SIMGPU_FORWARD(cudaGraphCreate, (cudaGraph_t * out, unsigned flags), cu.cuGraphCreate(out, flags))
SIMGPU_FORWARD(cudaGraphDestroy, (cudaGraph_t graph), cu.cuGraphDestroy(graph))
SIMGPU_FORWARD(cudaGraphClone, (cudaGraph_t * out, cudaGraph_t graph), cu.cuGraphClone(out, graph))
SIMGPU_FORWARD(cudaGraphNodeFindInClone, (cudaGraphNode_t * out, cudaGraphNode_t node, cudaGraph_t graph),
               cu.cuGraphNodeFindInClone(out, node, graph))
SIMGPU_FORWARD(cudaGraphNodeGetType, (cudaGraphNode_t node, cudaGraphNodeType* type),
               cu.cuGraphNodeGetType(node, reinterpret_cast<CUgraphNodeType*>(type)))
SIMGPU_FORWARD(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count),
               cu.cuGraphGetNodes(graph, nodes, count))
SIMGPU_FORWARD(cudaGraphGetRootNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count),
               cu.cuGraphGetRootNodes(graph, nodes, count))
SIMGPU_FORWARD(cudaGraphGetEdges,
               (cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* edges,
                size_t* count),
               cu.cuGraphGetEdges(graph, from, to, edge_data(edges), count))
SIMGPU_FORWARD(cudaGraphNodeGetDependencies,
               (cudaGraphNode_t node, cudaGraphNode_t* out, cudaGraphEdgeData* edges, size_t* count),
               cu.cuGraphNodeGetDependencies(node, out, edge_data(edges), count))
SIMGPU_FORWARD(cudaGraphNodeGetDependentNodes,
               (cudaGraphNode_t node, cudaGraphNode_t* out, cudaGraphEdgeData* edges, size_t* count),
               cu.cuGraphNodeGetDependentNodes(node, out, edge_data(edges), count))
SIMGPU_FORWARD(cudaGraphAddDependencies,
               (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                const cudaGraphEdgeData* edges, size_t count),
               cu.cuGraphAddDependencies(graph, from, to, edge_data(edges), count))
SIMGPU_FORWARD(cudaGraphRemoveDependencies,
               (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                const cudaGraphEdgeData* edges, size_t count),
               cu.cuGraphRemoveDependencies(graph, from, to, edge_data(edges), count))
SIMGPU_FORWARD(cudaGraphDestroyNode, (cudaGraphNode_t node), cu.cuGraphDestroyNode(node))

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* before,
                                   size_t count, const cudaKernelNodeParams* params) {
  return with_params(params, as_kernel, [&](const DriverApi& cu, const CUDA_KERNEL_NODE_PARAMS* converted) {
    return cu.cuGraphAddKernelNode(out, graph, before, count, converted);
  });
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* params) {
  return call([&](const DriverApi& cu) {
    require(params != nullptr);
    CUDA_KERNEL_NODE_PARAMS found{};
    check(cu.cuGraphKernelNodeGetParams(node, &found));
    params->func = host_function_of(reinterpret_cast<CUkernel>(found.func));
    params->gridDim = dim3(found.gridDimX, found.gridDimY, found.gridDimZ);
    params->blockDim = dim3(found.blockDimX, found.blockDimY, found.blockDimZ);
    params->sharedMemBytes = found.sharedMemBytes;
    params->kernelParams = found.kernelParams;
    params->extra = found.extra;
  });
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* params) {
  return with_params(params, as_kernel, [&](const DriverApi& cu, const CUDA_KERNEL_NODE_PARAMS* converted) {
    return cu.cuGraphKernelNodeSetParams(node, converted);
  });
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* params) {
  return with_params(params, as_kernel, [&](const DriverApi& cu, const CUDA_KERNEL_NODE_PARAMS* converted) {
    return cu.cuGraphExecKernelNodeSetParams(exec, node, converted);
  });
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* before,
                                 size_t count, const cudaHostNodeParams* params) {
  return with_params(params, as_host, [&](const DriverApi& cu, const CUDA_HOST_NODE_PARAMS* converted) {
    return cu.cuGraphAddHostNode(out, graph, before, count, converted);
  });
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* params) {
  return call([&](const DriverApi& cu) {
    require(params != nullptr);
    CUDA_HOST_NODE_PARAMS found{};
    check(cu.cuGraphHostNodeGetParams(node, &found));
    *params = {found.fn, found.userData};
  });
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* params) {
  return with_params(params, as_host, [&](const DriverApi& cu, const CUDA_HOST_NODE_PARAMS* converted) {
    return cu.cuGraphHostNodeSetParams(node, converted);
  });
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                           const cudaHostNodeParams* params) {
  return with_params(params, as_host, [&](const DriverApi& cu, const CUDA_HOST_NODE_PARAMS* converted) {
    return cu.cuGraphExecHostNodeSetParams(exec, node, converted);
  });
}

SIMGPU_FORWARD(cudaGraphAddEmptyNode,
               (cudaGraphNode_t * out, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count),
               cu.cuGraphAddEmptyNode(out, graph, before, count))
SIMGPU_FORWARD(cudaGraphAddChildGraphNode,
               (cudaGraphNode_t * out, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count,
                cudaGraph_t child),
               cu.cuGraphAddChildGraphNode(out, graph, before, count, child))
SIMGPU_FORWARD(cudaGraphChildGraphNodeGetGraph, (cudaGraphNode_t node, cudaGraph_t* out),
               cu.cuGraphChildGraphNodeGetGraph(node, out))
SIMGPU_FORWARD(cudaGraphAddEventRecordNode,
               (cudaGraphNode_t * out, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count,
                cudaEvent_t event),
               cu.cuGraphAddEventRecordNode(out, graph, before, count, event))
SIMGPU_FORWARD(cudaGraphAddEventWaitNode,
               (cudaGraphNode_t * out, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count,
                cudaEvent_t event),
               cu.cuGraphAddEventWaitNode(out, graph, before, count, event))
SIMGPU_FORWARD(cudaGraphEventRecordNodeGetEvent, (cudaGraphNode_t node, cudaEvent_t* event),
               cu.cuGraphEventRecordNodeGetEvent(node, event))
SIMGPU_FORWARD(cudaGraphEventRecordNodeSetEvent, (cudaGraphNode_t node, cudaEvent_t event),
               cu.cuGraphEventRecordNodeSetEvent(node, event))
SIMGPU_FORWARD(cudaGraphEventWaitNodeGetEvent, (cudaGraphNode_t node, cudaEvent_t* event),
               cu.cuGraphEventWaitNodeGetEvent(node, event))
SIMGPU_FORWARD(cudaGraphEventWaitNodeSetEvent, (cudaGraphNode_t node, cudaEvent_t event),
               cu.cuGraphEventWaitNodeSetEvent(node, event))
SIMGPU_FORWARD(cudaGraphExecEventRecordNodeSetEvent,
               (cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event),
               cu.cuGraphExecEventRecordNodeSetEvent(exec, node, event))
SIMGPU_FORWARD(cudaGraphExecEventWaitNodeSetEvent,
               (cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event),
               cu.cuGraphExecEventWaitNodeSetEvent(exec, node, event))
SIMGPU_FORWARD(cudaGraphExecChildGraphNodeSetParams,
               (cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child),
               cu.cuGraphExecChildGraphNodeSetParams(exec, node, child))
SIMGPU_FORWARD(cudaGraphDebugDotPrint, (cudaGraph_t graph, const char* path, unsigned flags),
               cu.cuGraphDebugDotPrint(graph, path, flags))
SIMGPU_FORWARD(cudaGraphKernelNodeSetAttribute,
               (cudaGraphNode_t node, cudaLaunchAttributeID id, const cudaLaunchAttributeValue* value),
               cu.cuGraphKernelNodeSetAttribute(node, static_cast<CUlaunchAttributeID>(id),
                                                reinterpret_cast<const CUlaunchAttributeValue*>(value)))
SIMGPU_FORWARD(cudaGraphKernelNodeGetAttribute,
               (cudaGraphNode_t node, cudaLaunchAttributeID id, cudaLaunchAttributeValue* value),
               cu.cuGraphKernelNodeGetAttribute(node, static_cast<CUlaunchAttributeID>(id),
                                                reinterpret_cast<CUlaunchAttributeValue*>(value)))
SIMGPU_FORWARD(cudaGraphKernelNodeCopyAttributes, (cudaGraphNode_t to, cudaGraphNode_t from),
               cu.cuGraphKernelNodeCopyAttributes(to, from))
SIMGPU_FORWARD(cudaUserObjectCreate,
               (cudaUserObject_t * out, void* pointer, cudaHostFn_t destroy, unsigned count, unsigned flags),
               cu.cuUserObjectCreate(out, pointer, destroy, count, flags))
SIMGPU_FORWARD(cudaUserObjectRetain, (cudaUserObject_t object, unsigned count),
               cu.cuUserObjectRetain(object, count))
SIMGPU_FORWARD(cudaUserObjectRelease, (cudaUserObject_t object, unsigned count),
               cu.cuUserObjectRelease(object, count))
SIMGPU_FORWARD(cudaGraphRetainUserObject,
               (cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags),
               cu.cuGraphRetainUserObject(graph, object, count, flags))
SIMGPU_FORWARD(cudaGraphReleaseUserObject, (cudaGraph_t graph, cudaUserObject_t object, unsigned count),
               cu.cuGraphReleaseUserObject(graph, object, count))
SIMGPU_FORWARD(cudaGraphInstantiate, (cudaGraphExec_t * out, cudaGraph_t graph, unsigned long long flags),
               cu.cuGraphInstantiateWithFlags(out, graph, flags))
SIMGPU_FORWARD(cudaGraphInstantiateWithFlags,
               (cudaGraphExec_t * out, cudaGraph_t graph, unsigned long long flags),
               cu.cuGraphInstantiateWithFlags(out, graph, flags))
SIMGPU_FORWARD(cudaGraphInstantiateWithParams,
               (cudaGraphExec_t * out, cudaGraph_t graph, cudaGraphInstantiateParams* params),
               cu.cuGraphInstantiateWithParams(out, graph,
                                               reinterpret_cast<CUDA_GRAPH_INSTANTIATE_PARAMS*>(params)))
SIMGPU_FORWARD(cudaGraphExecGetFlags, (cudaGraphExec_t exec, unsigned long long* flags),
               cu.cuGraphExecGetFlags(exec, reinterpret_cast<cuuint64_t*>(flags)))
SIMGPU_FORWARD(cudaGraphUpload, (cudaGraphExec_t exec, cudaStream_t stream), cu.cuGraphUpload(exec, stream))
SIMGPU_FORWARD(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream), cu.cuGraphLaunch(exec, stream))
SIMGPU_FORWARD(cudaGraphExecDestroy, (cudaGraphExec_t exec), cu.cuGraphExecDestroy(exec))
SIMGPU_FORWARD(cudaGraphExecUpdate,
               (cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info),
               cu.cuGraphExecUpdate(exec, graph, reinterpret_cast<CUgraphExecUpdateResultInfo*>(info)))
SIMGPU_FORWARD(cudaGraphNodeSetEnabled, (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled),
               cu.cuGraphNodeSetEnabled(exec, node, enabled))
SIMGPU_FORWARD(cudaGraphNodeGetEnabled, (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned* enabled),
               cu.cuGraphNodeGetEnabled(exec, node, enabled))
