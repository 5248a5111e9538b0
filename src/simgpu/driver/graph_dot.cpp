// cuGraphDebugDotPrint: a graph as Graphviz text. It must not print more than names and order, whatever the
// flags.
#include <fmt/format.h>

#include <cstdio>

#include "simgpu/driver/graph_nodes.hpp"
#include "simgpu/driver/module.hpp"

namespace refrain::simgpu::driver {
namespace {

std::string label_of(const Operation& operation) {
  if (const auto* launch = std::get_if<KernelLaunch>(&operation)) return launch->kernel->name();
  switch (type_of(operation)) {
    case CU_GRAPH_NODE_TYPE_MEMCPY: return "memcpy";
    case CU_GRAPH_NODE_TYPE_MEMSET: return "memset";
    case CU_GRAPH_NODE_TYPE_HOST: return "host";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return "wait for event";
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return "record event";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return "allocate";
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return "free";
    case CU_GRAPH_NODE_TYPE_GRAPH: return "graph";
    default: return "empty";
  }
}

// Numbers nodes by their place; a child's nodes are in a cluster of their own.
void print(const Graph& graph, const std::string& prefix, std::string& out) {
  std::unordered_map<const GraphNode*, std::string> names;
  for (const auto& node : graph.nodes) {
    const std::string name = fmt::format("{}{}", prefix, names.size());
    names[node.get()] = name;
    out += fmt::format("  {} [label=\"{}\"];\n", name, label_of(node->operation));
    if (const auto* child = std::get_if<ChildGraph>(&node->operation)) {
      out += fmt::format("  subgraph cluster_{} {{\n", name);
      print(*child->graph, name + "_", out);
      out += "  }\n";
    }
  }
  for (const auto& node : graph.nodes) {
    for (const GraphNode* before : node->dependencies) {
      out += fmt::format("  {} -> {};\n", names[before], names[node.get()]);
    }
  }
}

}  // namespace
}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuGraphDebugDotPrint(CUgraph handle, const char* path, unsigned) {
  return api(Need::kDevice, [&](Session& session) {
    require(path != nullptr);
    std::string text = "digraph simgpu {\n";
    print(*session.device.graphs.need(handle, CUDA_ERROR_INVALID_VALUE), "node", text);
    text += "}\n";
    std::FILE* file = std::fopen(path, "w");
    require(file != nullptr, CUDA_ERROR_OPERATING_SYSTEM);
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    require(std::fclose(file) == 0 && written, CUDA_ERROR_OPERATING_SYSTEM);
  });
}
