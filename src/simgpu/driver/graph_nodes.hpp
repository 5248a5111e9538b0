// The frames of calls that add, read and change nodes. It must not know any kind of node.
#pragma once

#include "simgpu/driver/graph.hpp"

namespace refrain::simgpu::driver {

// Adds a node with the operation that make(device, graph) gives.
template <class Make>
CUresult add_graph_node(CUgraphNode* out, CUgraph handle, const CUgraphNode* dependencies, std::size_t count,
                        Make make) {
  return api(Need::kDevice, [&](Session& session) {
    require(out != nullptr);
    const auto graph = session.device.graphs.need(handle, CUDA_ERROR_INVALID_VALUE);
    auto before = need_nodes(session.device, dependencies, count, *graph);
    Operation operation = make(session.device, *graph);
    *out = handle_of(add_node(session.device, *graph, std::move(operation), std::move(before)));
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
CUresult with_node_of(CUgraphNode handle, Body body) {
  return api(Need::kDevice, [&](Session& session) { body(need_kind<Kind>(session.device, handle)); });
}

// The node of an executable graph that was made from a graph's node.
inline ExecNode& need_exec_node(const Device& device, CUgraphExec exec_handle, CUgraphNode node) {
  const auto exec = device.execs.need(exec_handle, CUDA_ERROR_INVALID_VALUE);
  const auto found = exec->index.find(reinterpret_cast<const GraphNode*>(node));
  require(found != exec->index.end());
  return exec->nodes[found->second];
}

// Edges that mean nothing more than order; others are refused.
inline void check_plain(const CUgraphEdgeData* edges, std::size_t count) {
  for (std::size_t index = 0; edges != nullptr && index < count; ++index) {
    if (edges[index].from_port != 0 || edges[index].to_port != 0 || edges[index].type != 0)
      refuse("graph edge data");
  }
}

CUgraphNodeType type_of(const Operation& operation);

}  // namespace refrain::simgpu::driver
