// cuGraph*: making graphs and looking at their structure. It must not know what nodes do (graph_nodes.cpp).
#include <algorithm>

#include "simgpu/driver/graph_nodes.hpp"

namespace refrain::simgpu::driver {

CUgraphNodeType type_of(const Operation& operation) {
  if (std::holds_alternative<KernelLaunch>(operation)) return CU_GRAPH_NODE_TYPE_KERNEL;
  if (std::holds_alternative<Copy>(operation)) return CU_GRAPH_NODE_TYPE_MEMCPY;
  if (std::holds_alternative<Fill>(operation)) return CU_GRAPH_NODE_TYPE_MEMSET;
  if (std::holds_alternative<HostCall>(operation)) return CU_GRAPH_NODE_TYPE_HOST;
  if (std::holds_alternative<ChildGraph>(operation)) return CU_GRAPH_NODE_TYPE_GRAPH;
  if (std::holds_alternative<WaitEvent>(operation)) return CU_GRAPH_NODE_TYPE_WAIT_EVENT;
  if (std::holds_alternative<RecordEvent>(operation)) return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
  if (std::holds_alternative<AllocateMemory>(operation)) return CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  if (std::holds_alternative<ReleaseMemory>(operation)) return CU_GRAPH_NODE_TYPE_MEM_FREE;
  return CU_GRAPH_NODE_TYPE_EMPTY;
}

namespace {

template <class Body>
CUresult with_graph(CUgraph handle, Body body) {
  return api(Need::kDevice, [&](Session& session) {
    body(session.device, *session.device.graphs.need(handle, CUDA_ERROR_INVALID_VALUE));
  });
}

template <class Body>
CUresult with_node(CUgraphNode handle, Body body) {
  return api(Need::kDevice,
             [&](Session& session) { body(session.device, *need_node(session.device, handle)); });
}

// The convention of all list queries: without `out` the count is told; with it, at most *count are filled,
// the rest are set to nullptr and *count becomes how many there are of those.
void list(const std::vector<CUgraphNode>& found, CUgraphNode* out, std::size_t* count) {
  require(count != nullptr);
  if (out == nullptr) {
    *count = found.size();
    return;
  }
  for (std::size_t index = 0; index < *count; ++index)
    out[index] = index < found.size() ? found[index] : nullptr;
  *count = std::min(*count, found.size());
}

void clear(CUgraphEdgeData* edges, const std::size_t* count) {
  if (edges != nullptr && count != nullptr) std::fill(edges, edges + *count, CUgraphEdgeData{});
}

std::vector<CUgraphNode> dependents_of(const GraphNode& node) {
  std::vector<CUgraphNode> out;
  for (const auto& other : node.graph->nodes) {
    const auto& before = other->dependencies;
    if (std::find(before.begin(), before.end(), &node) != before.end()) out.push_back(handle_of(other.get()));
  }
  return out;
}

// Calls body(from, to) for each pair, all checked before the first.
template <class Body>
CUresult with_edges(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, std::size_t count,
                    Body body) {
  return with_graph(handle, [&](Device& device, Graph& graph) {
    require(count == 0 || (from != nullptr && to != nullptr));
    for (std::size_t index = 0; index < count; ++index) {
      const GraphNode* before = need_node(device, from[index]);
      const GraphNode* after = need_node(device, to[index]);
      require(before->graph == &graph && after->graph == &graph && before != after);
    }
    for (std::size_t index = 0; index < count; ++index) {
      body(need_node(device, from[index]), need_node(device, to[index]));
    }
  });
}

}  // namespace
}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuGraphCreate(CUgraph* out, unsigned flags) {
  return api(Need::kDevice, [&](Session& session) {
    require(out != nullptr && flags == 0);
    auto graph = std::make_shared<Graph>();
    session.device.graphs.add(graph);
    *out = handle_of(graph.get());
  });
}

CUresult cuGraphDestroy(CUgraph handle) {
  return with_graph(handle, [](Device& device, Graph& graph) {
    require(!graph.embedded);
    destroy_graph(device, graph);
  });
}

CUresult cuGraphClone(CUgraph* out, CUgraph handle) {
  return with_graph(handle, [&](Device& device, Graph& graph) {
    require(out != nullptr);
    *out = handle_of(clone_graph(device, graph).get());
  });
}

CUresult cuGraphNodeFindInClone(CUgraphNode* out, CUgraphNode original, CUgraph handle) {
  return with_graph(handle, [&](Device&, Graph& graph) {
    require(out != nullptr);
    const auto found = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const auto& node) {
      return node->original == reinterpret_cast<const GraphNode*>(original);
    });
    require(found != graph.nodes.end());
    *out = handle_of(found->get());
  });
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  return with_node(handle, [&](Device&, GraphNode& node) {
    require(type != nullptr);
    *type = type_of(node.operation);
  });
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* out, size_t* count) {
  return with_graph(handle, [&](Device&, Graph& graph) {
    std::vector<CUgraphNode> found;
    for (const auto& node : graph.nodes) found.push_back(handle_of(node.get()));
    list(found, out, count);
  });
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode* out, size_t* count) {
  return with_graph(handle, [&](Device&, Graph& graph) {
    std::vector<CUgraphNode> found;
    for (const auto& node : graph.nodes) {
      if (node->dependencies.empty()) found.push_back(handle_of(node.get()));
    }
    list(found, out, count);
  });
}

CUresult cuGraphGetEdges_v2(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edges,
                            size_t* count) {
  return with_graph(handle, [&](Device&, Graph& graph) {
    require((from == nullptr) == (to == nullptr) && count != nullptr);
    std::vector<CUgraphNode> befores, afters;
    for (const auto& node : graph.nodes) {
      for (GraphNode* before : node->dependencies) {
        befores.push_back(handle_of(before));
        afters.push_back(handle_of(node.get()));
      }
    }
    std::size_t room = *count;
    list(befores, from, count);
    if (to != nullptr) list(afters, to, &room);
    clear(from == nullptr ? nullptr : edges, count);
  });
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  return cuGraphGetEdges_v2(graph, from, to, nullptr, count);
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode handle, CUgraphNode* out, CUgraphEdgeData* edges,
                                       size_t* count) {
  return with_node(handle, [&](Device&, GraphNode& node) {
    std::vector<CUgraphNode> found;
    for (GraphNode* before : node.dependencies) found.push_back(handle_of(before));
    list(found, out, count);
    clear(out == nullptr ? nullptr : edges, count);
  });
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* out, size_t* count) {
  return cuGraphNodeGetDependencies_v2(node, out, nullptr, count);
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode handle, CUgraphNode* out, CUgraphEdgeData* edges,
                                         size_t* count) {
  return with_node(handle, [&](Device&, GraphNode& node) {
    list(dependents_of(node), out, count);
    clear(out == nullptr ? nullptr : edges, count);
  });
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* out, size_t* count) {
  return cuGraphNodeGetDependentNodes_v2(node, out, nullptr, count);
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  return with_edges(graph, from, to, count, [](GraphNode* before, GraphNode* after) {
    const auto& known = after->dependencies;
    require(std::find(known.begin(), known.end(), before) == known.end());
    after->dependencies.push_back(before);
  });
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* edges, size_t count) {
  const CUresult checked = api(
      Need::kDevice, [&](Session&) { check_plain(edges, count); }, Where());
  return checked != CUDA_SUCCESS ? checked : cuGraphAddDependencies(graph, from, to, count);
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   size_t count) {
  return with_edges(graph, from, to, count, [](GraphNode* before, GraphNode* after) {
    require(std::erase(after->dependencies, before) == 1);
  });
}

CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData*, size_t count) {
  return cuGraphRemoveDependencies(graph, from, to, count);
}

CUresult cuGraphDestroyNode(CUgraphNode handle) {
  return with_node(handle, [](Device& device, GraphNode& node) { remove_node(device, &node); });
}
