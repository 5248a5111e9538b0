// The calls that take any kind of node, and the attributes of kernel nodes. It must not do anything of its
// own: each kind has its calls in graph_nodes.cpp and graph_memory.cpp.
#include <fmt/format.h>

#include "simgpu/driver/graph_memory.hpp"
#include "simgpu/driver/graph_nodes.hpp"
#include "simgpu/driver/launch.hpp"

namespace refrain::simgpu::driver {
namespace {

CUDA_KERNEL_NODE_PARAMS_v2 older(const CUDA_KERNEL_NODE_PARAMS_v3& from) {
  CUDA_KERNEL_NODE_PARAMS_v2 out{};
  out.func = from.func;
  out.gridDimX = from.gridDimX;
  out.gridDimY = from.gridDimY;
  out.gridDimZ = from.gridDimZ;
  out.blockDimX = from.blockDimX;
  out.blockDimY = from.blockDimY;
  out.blockDimZ = from.blockDimZ;
  out.sharedMemBytes = from.sharedMemBytes;
  out.kernelParams = from.kernelParams;
  out.extra = from.extra;
  out.kern = from.kern;
  out.ctx = from.ctx;
  return out;
}

CUDA_MEMSET_NODE_PARAMS older(const CUDA_MEMSET_NODE_PARAMS_v2& from) {
  return {from.dst, from.pitch, from.value, from.elementSize, from.width, from.height};
}

CUDA_HOST_NODE_PARAMS older(const CUDA_HOST_NODE_PARAMS_v2& from) {
  CUDA_HOST_NODE_PARAMS out{};
  out.fn = from.fn;
  out.userData = from.userData;
  return out;
}

[[noreturn]] void refuse_type(CUgraphNodeType type) {
  refuse(type == CU_GRAPH_NODE_TYPE_CONDITIONAL
             ? "a conditional graph node"
             : fmt::format("a graph node of type {}", static_cast<int>(type)));
}

CUresult add_allocation(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, std::size_t count,
                        CUDA_MEM_ALLOC_NODE_PARAMS_v2& params) {
  return add_graph_node(out, graph, before, count,
                        [&](Device& device, Graph& into) { return allocation_of(device, into, params); });
}

CUresult add_any(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, std::size_t count,
                 CUgraphNodeParams& params) {
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const auto kernel = older(params.kernel);
      return cuGraphAddKernelNode_v2(out, graph, before, count, &kernel);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return cuGraphAddMemcpyNode(out, graph, before, count, &params.memcpy.copyParams,
                                  params.memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const auto memset = older(params.memset);
      return cuGraphAddMemsetNode(out, graph, before, count, &memset, params.memset.ctx);
    }
    case CU_GRAPH_NODE_TYPE_HOST: {
      const auto host = older(params.host);
      return cuGraphAddHostNode(out, graph, before, count, &host);
    }
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      const CUresult result = cuGraphAddChildGraphNode(out, graph, before, count, params.graph.graph);
      return result != CUDA_SUCCESS ? result : cuGraphChildGraphNodeGetGraph(*out, &params.graph.graph);
    }
    case CU_GRAPH_NODE_TYPE_EMPTY: return cuGraphAddEmptyNode(out, graph, before, count);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return cuGraphAddEventWaitNode(out, graph, before, count, params.eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return cuGraphAddEventRecordNode(out, graph, before, count, params.eventRecord.event);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return add_allocation(out, graph, before, count, params.alloc);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return cuGraphAddMemFreeNode(out, graph, before, count, params.free.dptr);
    default: return api(Need::kDevice, [&](Session&) { refuse_type(params.type); });
  }
}

CUresult set_any(CUgraphNode node, const CUgraphNodeParams& params) {
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const auto kernel = older(params.kernel);
      return cuGraphKernelNodeSetParams_v2(node, &kernel);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY: return cuGraphMemcpyNodeSetParams(node, &params.memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const auto memset = older(params.memset);
      return cuGraphMemsetNodeSetParams(node, &memset);
    }
    case CU_GRAPH_NODE_TYPE_HOST: {
      const auto host = older(params.host);
      return cuGraphHostNodeSetParams(node, &host);
    }
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return cuGraphEventWaitNodeSetEvent(node, params.eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return cuGraphEventRecordNodeSetEvent(node, params.eventRecord.event);
    default: return api(Need::kDevice, [&](Session&) { refuse_type(params.type); });
  }
}

CUresult set_any_exec(CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams& params) {
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const auto kernel = older(params.kernel);
      return cuGraphExecKernelNodeSetParams_v2(exec, node, &kernel);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return cuGraphExecMemcpyNodeSetParams(exec, node, &params.memcpy.copyParams, params.memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const auto memset = older(params.memset);
      return cuGraphExecMemsetNodeSetParams(exec, node, &memset, params.memset.ctx);
    }
    case CU_GRAPH_NODE_TYPE_HOST: {
      const auto host = older(params.host);
      return cuGraphExecHostNodeSetParams(exec, node, &host);
    }
    case CU_GRAPH_NODE_TYPE_GRAPH: return cuGraphExecChildGraphNodeSetParams(exec, node, params.graph.graph);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return cuGraphExecEventWaitNodeSetEvent(exec, node, params.eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return cuGraphExecEventRecordNodeSetEvent(exec, node, params.eventRecord.event);
    default: return api(Need::kDevice, [&](Session&) { refuse_type(params.type); });
  }
}

// A child's operations into those of its executable form; both were made alike.
void replace_child(GraphExec& exec, const Graph& old, const Graph& fresh) {
  require(old.nodes.size() == fresh.nodes.size(), CUDA_ERROR_INVALID_VALUE);
  std::unordered_map<const GraphNode*, const GraphNode*> counterpart;
  for (std::size_t index = 0; index < old.nodes.size(); ++index) {
    counterpart[fresh.nodes[index].get()] = old.nodes[index].get();
  }
  for (std::size_t index = 0; index < old.nodes.size(); ++index) {
    const GraphNode& before = *old.nodes[index];
    const GraphNode& after = *fresh.nodes[index];
    require(before.operation.index() == after.operation.index() &&
            before.dependencies.size() == after.dependencies.size());
    for (std::size_t edge = 0; edge < before.dependencies.size(); ++edge) {
      require(counterpart.at(after.dependencies[edge]) == before.dependencies[edge]);
    }
    if (const auto* child = std::get_if<ChildGraph>(&before.operation)) {
      replace_child(exec, *child->graph, *std::get<ChildGraph>(after.operation).graph);
    } else {
      exec.nodes[exec.index.at(&before)].operation = after.operation;
    }
  }
}

}  // namespace
}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuGraphAddNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* before,
                           const CUgraphEdgeData* edges, size_t count, CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult checked = api(
      Need::kDevice, [&](Session&) { check_plain(edges, count); }, Where());
  return checked != CUDA_SUCCESS ? checked : add_any(out, graph, before, count, *params);
}

CUresult cuGraphAddNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count,
                        CUgraphNodeParams* params) {
  return cuGraphAddNode_v2(out, graph, before, nullptr, count, params);
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params) {
  return params == nullptr ? CUDA_ERROR_INVALID_VALUE : set_any(node, *params);
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* params) {
  return params == nullptr ? CUDA_ERROR_INVALID_VALUE : set_any_exec(exec, node, *params);
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec_handle, CUgraphNode node, CUgraph child) {
  return api(Need::kDevice, [&](Session& session) {
    const auto exec = session.device.execs.need(exec_handle, CUDA_ERROR_INVALID_VALUE);
    need_exec_node(session.device, exec_handle, node);
    const GraphNode& old = need_kind<ChildGraph>(session.device, node);
    replace_child(*exec, *std::get<ChildGraph>(old.operation).graph,
                  *session.device.graphs.need(child, CUDA_ERROR_INVALID_VALUE));
  });
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute,
                                       const CUkernelNodeAttrValue* value) {
  return with_node_of<KernelLaunch>(handle, [&](GraphNode& node) {
    require(value != nullptr);
    set_launch_attribute(std::get<KernelLaunch>(node.operation), attribute, *value);
  });
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute,
                                       CUkernelNodeAttrValue* value) {
  return with_node_of<KernelLaunch>(handle, [&](GraphNode& node) {
    require(value != nullptr);
    *value = {};
    if (attribute == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
      value->cooperative = std::get<KernelLaunch>(node.operation).cooperative ? 1 : 0;
    }
  });
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  return api(Need::kDevice, [&](Session& session) {
    const GraphNode& source = need_kind<KernelLaunch>(session.device, from);
    GraphNode& destination = need_kind<KernelLaunch>(session.device, to);
    set_cooperative(std::get<KernelLaunch>(destination.operation),
                    std::get<KernelLaunch>(source.operation).cooperative);
  });
}
