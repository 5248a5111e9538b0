// cuGraphAdd*Node and the nodes' parameters, in graphs and in executable graphs. It must not change
// structure.
#include "simgpu/driver/graph_nodes.hpp"
#include "simgpu/driver/copy.hpp"
#include "simgpu/driver/launch.hpp"

namespace refrain::simgpu::driver {
namespace {

template <class Make>
CUresult add(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, std::size_t count, Make make) {
  return add_graph_node(out, graph, dependencies, count,
                        [&](Device& device, Graph&) { return make(device, current_ordinal()); });
}

// A kernel's new parameters are for the device that it is on; the others' device does not matter.
Ordinal device_of(const Operation& operation) {
  const auto* kernel = std::get_if<KernelLaunch>(&operation);
  return kernel != nullptr ? kernel->ordinal : current_ordinal();
}

// What a kernel's new parameters do not say stays.
template <class Kind>
void replace(Operation& operation, Kind fresh) {
  require(std::holds_alternative<Kind>(operation));
  if constexpr (std::is_same_v<Kind, KernelLaunch>)
    set_cooperative(fresh, std::get<Kind>(operation).cooperative);
  operation = std::move(fresh);
}

template <class Kind, class Make>
CUresult set(CUgraphNode handle, Make make) {
  return api(Need::kDevice, [&](Session& session) {
    GraphNode& node = need_kind<Kind>(session.device, handle);
    replace<Kind>(node.operation, make(session.device, device_of(node.operation)));
  });
}

template <class Kind, class Make>
CUresult set_exec(CUgraphExec exec_handle, CUgraphNode handle, Make make) {
  return api(Need::kDevice, [&](Session& session) {
    ExecNode& node = need_exec_node(session.device, exec_handle, handle);
    replace<Kind>(node.operation, make(session.device, device_of(node.operation)));
  });
}

auto kernel_of(const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  return [params](Device& device, Ordinal ordinal) {
    require(params != nullptr);
    return launch_of(device, ordinal, *params);
  };
}

auto kernel_of(const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return [params](Device& device, Ordinal ordinal) {
    require(params != nullptr);
    CUDA_KERNEL_NODE_PARAMS_v2 wide{};
    wide.func = params->func;
    wide.gridDimX = params->gridDimX;
    wide.gridDimY = params->gridDimY;
    wide.gridDimZ = params->gridDimZ;
    wide.blockDimX = params->blockDimX;
    wide.blockDimY = params->blockDimY;
    wide.blockDimZ = params->blockDimZ;
    wide.sharedMemBytes = params->sharedMemBytes;
    wide.kernelParams = params->kernelParams;
    wide.extra = params->extra;
    return launch_of(device, ordinal, wide);
  };
}

auto copy_from(const CUDA_MEMCPY3D* params) {
  return [params](Device& device, Ordinal) {
    require(params != nullptr);
    return copy_of(device, *params);
  };
}

auto fill_from(const CUDA_MEMSET_NODE_PARAMS* params) {
  return [params](Device&, Ordinal) {
    require(params != nullptr);
    return fill_of(*params);
  };
}

auto host_from(const CUDA_HOST_NODE_PARAMS* params) {
  return [params](Device&, Ordinal) {
    require(params != nullptr && params->fn != nullptr);
    return HostCall{params->fn, nullptr, nullptr, params->userData};
  };
}

auto child_from(CUgraph child) {
  return [child](Device& device, Ordinal) {
    auto clone = clone_graph(device, *device.graphs.need(child, CUDA_ERROR_INVALID_VALUE));
    clone->embedded = true;
    return ChildGraph{std::move(clone)};
  };
}

template <class Kind>
auto event_from(CUevent event) {
  return [event](Device& device, Ordinal) { return Kind{device.events.need(event)}; };
}

template <class Kind>
CUresult event_of(CUgraphNode handle, CUevent* out) {
  return with_node_of<Kind>(handle, [&](GraphNode& node) {
    require(out != nullptr);
    *out = reinterpret_cast<CUevent>(std::get<Kind>(node.operation).event.get());
  });
}

}  // namespace
}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuGraphAddKernelNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, const CUDA_KERNEL_NODE_PARAMS* params) {
  return add(out, graph, dependencies, count, kernel_of(params));
}
CUresult cuGraphAddKernelNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return add(out, graph, dependencies, count, kernel_of(params));
}
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS* params) {
  return with_node_of<KernelLaunch>(handle, [&](GraphNode& node) {
    require(params != nullptr);
    *params = params_of(node);
  });
}
CUresult cuGraphKernelNodeGetParams(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return with_node_of<KernelLaunch>(handle, [&](GraphNode& node) {
    require(params != nullptr);
    const CUDA_KERNEL_NODE_PARAMS_v2 wide = params_of(node);
    *params = {wide.func,      wide.gridDimX,  wide.gridDimY,       wide.gridDimZ,     wide.blockDimX,
               wide.blockDimY, wide.blockDimZ, wide.sharedMemBytes, wide.kernelParams, wide.extra};
  });
}
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS* params) {
  return set<KernelLaunch>(handle, kernel_of(params));
}
CUresult cuGraphKernelNodeSetParams(CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return set<KernelLaunch>(handle, kernel_of(params));
}
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* params) {
  return set_exec<KernelLaunch>(exec, node, kernel_of(params));
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return set_exec<KernelLaunch>(exec, node, kernel_of(params));
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMCPY3D* params, CUcontext) {
  return add(out, graph, dependencies, count, copy_from(params));
}
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode handle, CUDA_MEMCPY3D* params) {
  return with_node_of<Copy>(handle, [&](GraphNode& node) {
    require(params != nullptr);
    *params = description_of(std::get<Copy>(node.operation));
  });
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode handle, const CUDA_MEMCPY3D* params) {
  return set<Copy>(handle, copy_from(params));
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* params,
                                        CUcontext) {
  return set_exec<Copy>(exec, node, copy_from(params));
}

CUresult cuGraphAddMemsetNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* params, CUcontext) {
  return add(out, graph, dependencies, count, fill_from(params));
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS* params) {
  return with_node_of<Fill>(handle, [&](GraphNode& node) {
    require(params != nullptr);
    *params = params_of(std::get<Fill>(node.operation));
  });
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode handle, const CUDA_MEMSET_NODE_PARAMS* params) {
  return set<Fill>(handle, fill_from(params));
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS* params, CUcontext) {
  return set_exec<Fill>(exec, node, fill_from(params));
}

CUresult cuGraphAddHostNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                            const CUDA_HOST_NODE_PARAMS* params) {
  return add(out, graph, dependencies, count, host_from(params));
}
CUresult cuGraphHostNodeGetParams(CUgraphNode handle, CUDA_HOST_NODE_PARAMS* params) {
  return with_node_of<HostCall>(handle, [&](GraphNode& node) {
    require(params != nullptr);
    const auto& call = std::get<HostCall>(node.operation);
    *params = {};
    params->fn = call.function;
    params->userData = call.data;
  });
}
CUresult cuGraphHostNodeSetParams(CUgraphNode handle, const CUDA_HOST_NODE_PARAMS* params) {
  return set<HostCall>(handle, host_from(params));
}
CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS* params) {
  return set_exec<HostCall>(exec, node, host_from(params));
}

CUresult cuGraphAddEmptyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count) {
  return add(out, graph, dependencies, count, [](Device&, Ordinal) { return Nothing{}; });
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                                  size_t count, CUgraph child) {
  return add(out, graph, dependencies, count, child_from(child));
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph* out) {
  return with_node_of<ChildGraph>(handle, [&](GraphNode& node) {
    require(out != nullptr);
    *out = handle_of(std::get<ChildGraph>(node.operation).graph.get());
  });
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                                   size_t count, CUevent event) {
  return add(out, graph, dependencies, count, event_from<RecordEvent>(event));
}

CUresult cuGraphAddEventWaitNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, CUevent event) {
  return add(out, graph, dependencies, count, event_from<WaitEvent>(event));
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* out) {
  return event_of<RecordEvent>(node, out);
}
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* out) {
  return event_of<WaitEvent>(node, out);
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  return set<RecordEvent>(node, event_from<RecordEvent>(event));
}
CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  return set<WaitEvent>(node, event_from<WaitEvent>(event));
}
CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return set_exec<RecordEvent>(exec, node, event_from<RecordEvent>(event));
}
CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return set_exec<WaitEvent>(exec, node, event_from<WaitEvent>(event));
}

CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode handle, unsigned enabled) {
  return api(Need::kDevice, [&](Session& session) {
    ExecNode& node = need_exec_node(session.device, exec, handle);
    require(std::holds_alternative<KernelLaunch>(node.operation) ||
            std::holds_alternative<Copy>(node.operation) || std::holds_alternative<Fill>(node.operation));
    node.enabled = enabled != 0;
  });
}

CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode handle, unsigned* enabled) {
  return api(Need::kDevice, [&](Session& session) {
    require(enabled != nullptr);
    *enabled = need_exec_node(session.device, exec, handle).enabled ? 1 : 0;
  });
}
