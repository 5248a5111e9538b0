// Graphs, their executable form and stream capture. It must not run operations: a launch turns nodes into
// queued items.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "simgpu/driver/session.hpp"

namespace refrain::simgpu::driver {

struct GraphNode {
  Graph* graph = nullptr;
  Operation operation;
  std::vector<GraphNode*> dependencies;
  bool enabled = true;
  const GraphNode* original = nullptr;  // of a clone
  std::vector<void*> param_pointers;    // what get-params hands out; into operation's bytes
};

// Something of the program's that lives as long as graphs need it.
struct UserObject {
  void* pointer = nullptr;
  CUhostFn destroy = nullptr;
  std::uint64_t references = 0;
};

// What a graph holds of user objects; gives it back at its end.
class UserReferences {
 public:
  UserReferences() = default;
  UserReferences(const UserReferences& other);
  UserReferences& operator=(const UserReferences&) = delete;
  ~UserReferences();
  void add(const std::shared_ptr<UserObject>& object, std::uint64_t count);
  bool remove(const std::shared_ptr<UserObject>& object, std::uint64_t count);

 private:
  std::map<std::shared_ptr<UserObject>, std::uint64_t> counts_;
};
// Calls the destructor of the program when none are left.
void release_user_object(UserObject& object, std::uint64_t count);

struct Graph {
  Graph() = default;
  explicit Graph(const UserReferences& references) : user_objects(references) {}

  UserReferences user_objects;
  std::vector<std::unique_ptr<GraphNode>> nodes;  // in the order of their making
  bool embedded = false;                          // in a child graph node: not to be destroyed by the user
};

// One node of an executable graph, in an order in which dependencies come first.
struct ExecNode {
  const GraphNode* key;  // the node that it was made from: never looked into, it may be gone
  Operation operation;
  std::vector<std::size_t> dependencies;
  bool enabled = true;
};

struct GraphExec {
  explicit GraphExec(const UserReferences& references) : user_objects(references) {}

  std::vector<ExecNode> nodes;
  std::unordered_map<const GraphNode*, std::size_t> index;
  UserReferences user_objects;
  ItemRef last;  // launches of one executable graph come one after another
  cuuint64_t flags = 0;
};

struct Capture {
  std::shared_ptr<Graph> graph;
  Stream* origin = nullptr;
  std::thread::id thread;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::uint64_t id = 0;
  bool invalid = false;
  bool ended = false;
  bool to_given_graph = false;  // that is the program's, and stays
};

GraphNode* add_node(Device& device, Graph& graph, Operation operation, std::vector<GraphNode*> dependencies);
GraphNode* need_node(const Device& device, CUgraphNode handle);
std::vector<GraphNode*> need_nodes(const Device& device, const CUgraphNode* handles, std::size_t count,
                                   const Graph& graph);
// Removes it from its graph; dependencies on it go too.
void remove_node(Device& device, GraphNode* node);
void destroy_graph(Device& device, Graph& graph);
std::shared_ptr<Graph> clone_graph(Device& device, const Graph& graph);

// An executable graph as a graph again, for a node of another.
std::shared_ptr<Graph> graph_of(Device& device, const GraphExec& exec);

// The graph in an order in which dependencies come first; throws CUDA_ERROR_INVALID_VALUE on a cycle.
std::shared_ptr<GraphExec> instantiate(const Graph& graph);
void launch_graph(Session& session, GraphExec& exec, const StreamRef& stream);

// A node for an operation on a capturing stream. Throws if the capture is invalid.
void capture_operation(Stream& stream, Operation operation);
// The stream is about to go: what it captures becomes invalid and, where nobody can end it any more, is
// dropped with its graph.
void forsake_capture(Device& device, Stream& stream);

inline CUgraphNode handle_of(GraphNode* node) {
  return reinterpret_cast<CUgraphNode>(node);
}
inline CUgraph handle_of(Graph* graph) {
  return reinterpret_cast<CUgraph>(graph);
}

}  // namespace refrain::simgpu::driver
