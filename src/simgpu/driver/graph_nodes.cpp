// cuGraphAdd*Node and the nodes' parameters, in graphs and in executable graphs. It must not change
// structure.
#include "simgpu/driver/copy.hpp"
#include "simgpu/driver/graph.hpp"
#include "simgpu/driver/launch.hpp"

namespace refrain::simgpu::driver {
namespace {

// Adds a node with the operation that make(session) gives.
template <class Make>
CUresult add(CUgraphNode* out, CUgraph handle, const CUgraphNode* dependencies, std::size_t count,
             Make make) {
  return api(Need::kDevice, [&](Session& session) {
    require(out != nullptr);
    const auto graph = session.device.graphs.need(handle, CUDA_ERROR_INVALID_VALUE);
    auto before = need_nodes(session.device, dependencies, count, *graph);
    *out = handle_of(add_node(session.device, *graph, make(session.device), std::move(before)));
  });
}

// A node that holds that kind of operation.
template <class Kind>
GraphNode& need_kind(const Device& device, CUgraphNode handle) {
  GraphNode* node = need_node(device, handle);
  require(std::holds_alternative<Kind>(node->operation));
  return *node;
}

template <class Kind, class Body>
CUresult look(CUgraphNode handle, Body body) {
  return api(Need::kDevice, [&](Session& session) { body(need_kind<Kind>(session.device, handle)); });
}

template <class Kind, class Make>
CUresult set(CUgraphNode handle, Make make) {
  return api(Need::kDevice, [&](Session& session) {
    GraphNode& node = need_kind<Kind>(session.device, handle);
    node.operation = make(session.device);
  });
}

ExecNode& exec_node(Session& session, CUgraphExec exec_handle, CUgraphNode node) {
  const auto exec = session.device.execs.need(exec_handle, CUDA_ERROR_INVALID_VALUE);
  const auto found = exec->index.find(reinterpret_cast<const GraphNode*>(node));
  require(found != exec->index.end());
  return exec->nodes[found->second];
}

template <class Kind, class Make>
CUresult set_exec(CUgraphExec exec_handle, CUgraphNode handle, Make make) {
  return api(Need::kDevice, [&](Session& session) {
    ExecNode& node = exec_node(session, exec_handle, handle);
    require(std::holds_alternative<Kind>(node.operation));
    node.operation = make(session.device);
  });
}

auto kernel_of(const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  return [params](Device& device) {
    require(params != nullptr);
    return launch_of(device, *params);
  };
}

auto kernel_of(const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return [params](Device& device) {
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
    return launch_of(device, wide);
  };
}

auto copy_from(const CUDA_MEMCPY3D* params) {
  return [params](Device& device) {
    require(params != nullptr);
    return copy_of(device, *params);
  };
}

auto fill_from(const CUDA_MEMSET_NODE_PARAMS* params) {
  return [params](Device&) {
    require(params != nullptr);
    return fill_of(*params);
  };
}

auto host_from(const CUDA_HOST_NODE_PARAMS* params) {
  return [params](Device&) {
    require(params != nullptr && params->fn != nullptr);
    return HostCall{params->fn, nullptr, nullptr, params->userData};
  };
}

template <class Kind>
CUresult event_of(CUgraphNode handle, CUevent* out) {
  return look<Kind>(handle, [&](GraphNode& node) {
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
  return look<KernelLaunch>(handle, [&](GraphNode& node) {
    require(params != nullptr);
    *params = params_of(node);
  });
}
CUresult cuGraphKernelNodeGetParams(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return look<KernelLaunch>(handle, [&](GraphNode& node) {
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
  return look<Copy>(handle, [&](GraphNode& node) {
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
  return look<Fill>(handle, [&](GraphNode& node) {
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
  return look<HostCall>(handle, [&](GraphNode& node) {
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
  return add(out, graph, dependencies, count, [](Device&) { return Nothing{}; });
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                                  size_t count, CUgraph child) {
  return add(out, graph, dependencies, count, [&](Device& device) {
    auto clone = clone_graph(device, *device.graphs.need(child, CUDA_ERROR_INVALID_VALUE));
    clone->embedded = true;
    return ChildGraph{std::move(clone)};
  });
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph* out) {
  return look<ChildGraph>(handle, [&](GraphNode& node) {
    require(out != nullptr);
    *out = handle_of(std::get<ChildGraph>(node.operation).graph.get());
  });
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                                   size_t count, CUevent event) {
  return add(out, graph, dependencies, count,
             [&](Device& device) { return RecordEvent{device.events.need(event)}; });
}

CUresult cuGraphAddEventWaitNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, CUevent event) {
  return add(out, graph, dependencies, count,
             [&](Device& device) { return WaitEvent{device.events.need(event)}; });
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* out) {
  return event_of<RecordEvent>(node, out);
}
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* out) {
  return event_of<WaitEvent>(node, out);
}

CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode handle, unsigned enabled) {
  return api(Need::kDevice, [&](Session& session) {
    ExecNode& node = exec_node(session, exec, handle);
    require(std::holds_alternative<KernelLaunch>(node.operation) ||
            std::holds_alternative<Copy>(node.operation) || std::holds_alternative<Fill>(node.operation));
    node.enabled = enabled != 0;
  });
}

CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode handle, unsigned* enabled) {
  return api(Need::kDevice, [&](Session& session) {
    require(enabled != nullptr);
    *enabled = exec_node(session, exec, handle).enabled ? 1 : 0;
  });
}
