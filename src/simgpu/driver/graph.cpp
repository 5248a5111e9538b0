// The structure of graphs: nodes, edges, clones. It must not hold API functions or queue work.
#include "simgpu/driver/graph.hpp"

#include <algorithm>

#include "simgpu/driver/graph_memory.hpp"

namespace refrain::simgpu::driver {

GraphNode* add_node(Device& device, Graph& graph, Operation operation, std::vector<GraphNode*> dependencies) {
  auto node = std::make_unique<GraphNode>();
  node->graph = &graph;
  node->operation = std::move(operation);
  node->dependencies = std::move(dependencies);
  device.nodes.insert(node.get());
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back().get();
}

GraphNode* need_node(const Device& device, CUgraphNode handle) {
  require(device.nodes.contains(handle));
  return reinterpret_cast<GraphNode*>(handle);
}

std::vector<GraphNode*> need_nodes(const Device& device, const CUgraphNode* handles, std::size_t count,
                                   const Graph& graph) {
  require(handles != nullptr || count == 0);
  std::vector<GraphNode*> out;
  for (std::size_t index = 0; index < count; ++index) {
    GraphNode* node = need_node(device, handles[index]);
    require(node->graph == &graph && std::find(out.begin(), out.end(), node) == out.end());
    out.push_back(node);
  }
  return out;
}

void remove_node(Device& device, GraphNode* node) {
  Graph& graph = *node->graph;
  for (const auto& other : graph.nodes) std::erase(other->dependencies, node);
  if (const auto* child = std::get_if<ChildGraph>(&node->operation)) destroy_graph(device, *child->graph);
  device.nodes.erase(node);
  std::erase_if(graph.nodes, [&](const auto& owned) { return owned.get() == node; });
}

void destroy_graph(Device& device, Graph& graph) {
  const auto kept = device.graphs.find(&graph);  // until its nodes are gone
  while (!graph.nodes.empty()) remove_node(device, graph.nodes.back().get());
  device.graphs.remove(&graph);
}

std::shared_ptr<Graph> clone_graph(Device& device, const Graph& graph) {
  if (has_memory_nodes(graph)) refuse("a copy of a graph with memory nodes");
  auto clone = std::make_shared<Graph>(graph.user_objects);
  device.graphs.add(clone);
  std::unordered_map<const GraphNode*, GraphNode*> made;
  for (const auto& node : graph.nodes) {
    Operation operation = node->operation;
    if (auto* child = std::get_if<ChildGraph>(&operation)) {
      child->graph = clone_graph(device, *child->graph);
      child->graph->embedded = true;
    }
    GraphNode* copy = add_node(device, *clone, std::move(operation), {});
    copy->enabled = node->enabled;
    copy->original = node.get();
    made[node.get()] = copy;
  }
  for (const auto& node : graph.nodes) {
    for (const GraphNode* before : node->dependencies) made[node.get()]->dependencies.push_back(made[before]);
  }
  return clone;
}

std::shared_ptr<Graph> graph_of(Device& device, const GraphExec& exec) {
  auto graph = std::make_shared<Graph>(exec.user_objects);
  device.graphs.add(graph);
  std::vector<GraphNode*> made;
  for (const ExecNode& node : exec.nodes) {
    std::vector<GraphNode*> before;
    for (const std::size_t index : node.dependencies) before.push_back(made[index]);
    made.push_back(add_node(device, *graph, node.enabled ? node.operation : Nothing{}, std::move(before)));
  }
  return graph;
}

namespace {

// Appends a graph's nodes to an executable one. A child graph's nodes take its place; an empty node stands
// for its end.
class Flattener {
 public:
  explicit Flattener(GraphExec& exec) : exec_(exec) {}

  void append(const Graph& graph, const std::vector<std::size_t>& before) {
    std::vector<const GraphNode*> waiting;
    for (const auto& node : graph.nodes) waiting.push_back(node.get());
    while (!waiting.empty()) {
      const auto next = std::find_if(waiting.begin(), waiting.end(), [&](const GraphNode* node) {
        return std::all_of(node->dependencies.begin(), node->dependencies.end(),
                           [&](const GraphNode* other) { return exec_.index.contains(other); });
      });
      require(next != waiting.end());  // a cycle
      append_node(**next, before);
      waiting.erase(next);
    }
  }

 private:
  void append_node(const GraphNode& node, const std::vector<std::size_t>& before) {
    std::vector<std::size_t> dependencies;
    for (const GraphNode* other : node.dependencies) dependencies.push_back(exec_.index.at(other));
    if (dependencies.empty()) dependencies = before;
    const auto* child = std::get_if<ChildGraph>(&node.operation);
    if (child != nullptr) {
      const std::size_t first = exec_.nodes.size();
      append(*child->graph, dependencies);
      for (std::size_t inside = first; inside < exec_.nodes.size(); ++inside) dependencies.push_back(inside);
    }
    exec_.index[&node] = exec_.nodes.size();
    exec_.nodes.push_back(
        {&node, child != nullptr ? Operation{} : node.operation, dependencies, node.enabled});
  }

  GraphExec& exec_;
};

}  // namespace

std::shared_ptr<GraphExec> instantiate(const Graph& graph) {
  auto exec = std::make_shared<GraphExec>(graph.user_objects);
  Flattener(*exec).append(graph, {});
  return exec;
}

}  // namespace refrain::simgpu::driver
