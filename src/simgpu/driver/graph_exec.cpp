// Executable graphs: instantiation, update, launch. It must not run nodes.
#include "simgpu/driver/graph.hpp"
#include "simgpu/driver/graph_memory.hpp"
#include "simgpu/driver/profile.hpp"
#include "simgpu/driver/submit.hpp"

namespace refrain::simgpu::driver {

namespace {

// A launch in a capture is a child graph node.
void capture_graph(Device& device, const GraphExec& exec, Stream& stream) {
  auto child = graph_of(device, exec);
  if (has_memory_nodes(*child)) {
    destroy_graph(device, *child);
    refuse("a launch of a graph with memory nodes in a stream capture");
  }
  child->embedded = true;
  capture_operation(stream, ChildGraph{std::move(child)});
}

}  // namespace

void launch_graph(Session& session, GraphExec& exec, const StreamRef& stream) {
  Device& device = session.device;
  if (stream->capture != nullptr) return capture_graph(device, exec, *stream);
  for (auto& memory : claim_graph_memory(session, exec)) {
    submit(session, stream, ReleaseMemory{memory->address, memory}, exec.last);
  }
  const ItemRef entry = ordered_item(session, *stream, Nothing{});
  entry->wait_for(exec.last);
  entry->stall_ns += profile().launch_ns;
  device.queue.enlist(entry);
  const ItemRef exit = std::make_shared<Item>();
  exit->context = stream->context;
  exit->wait_for(entry);
  std::vector<ItemRef> items;
  for (const ExecNode& node : exec.nodes) {
    const ItemRef item = std::make_shared<Item>();
    item->context = stream->context;
    item->in_graph = true;
    if (node.enabled) item->operation = node.operation;
    item->wait_for(entry);
    for (const std::size_t before : node.dependencies) item->wait_for(items[before]);
    if (const auto* wait = std::get_if<WaitEvent>(&node.operation)) item->wait_for(wait->event->recorded);
    if (const auto* record = std::get_if<RecordEvent>(&node.operation)) record->event->recorded = item;
    device.queue.enlist(item);
    exit->wait_for(item);
    items.push_back(item);
  }
  device.queue.enlist(exit);
  ++device.card_of(*stream->context).statistics.graph_launches;
  exec.last = exit;
  stream->last = exit;
  device.queue.kick(session.lock, exit);
}

namespace {

constexpr cuuint64_t kGraphFlags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                   CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                   CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

CUresult make_exec(CUgraphExec* out, CUgraph handle, cuuint64_t flags) {
  return api(Need::kDevice, [&](Session& session) {
    require(out != nullptr);
    const auto graph = session.device.graphs.need(handle, CUDA_ERROR_INVALID_VALUE);
    if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) refuse("launching graphs from the device");
    require((flags & ~kGraphFlags) == 0);
    auto exec = instantiate(*graph);
    exec->flags = flags;
    session.device.execs.add(exec);
    *out = reinterpret_cast<CUgraphExec>(exec.get());
  });
}

// What a memory node is about; 0 for others.
DeviceAddress memory_of(const Operation& operation) {
  if (const auto* made = std::get_if<AllocateMemory>(&operation)) return made->memory->address;
  if (const auto* gone = std::get_if<ReleaseMemory>(&operation)) return gone->address;
  return 0;
}

CUgraphExecUpdateResult update(GraphExec& exec, const GraphExec& fresh) {
  if (fresh.nodes.size() != exec.nodes.size()) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  for (std::size_t index = 0; index < fresh.nodes.size(); ++index) {
    if (fresh.nodes[index].dependencies != exec.nodes[index].dependencies) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    }
    if (fresh.nodes[index].operation.index() != exec.nodes[index].operation.index()) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    }
    if (memory_of(fresh.nodes[index].operation) != memory_of(exec.nodes[index].operation)) {
      return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    }
  }
  for (std::size_t index = 0; index < fresh.nodes.size(); ++index) {
    exec.nodes[index].operation = fresh.nodes[index].operation;
  }
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

template <class Body>
CUresult with_exec(CUgraphExec handle, Body body) {
  return api(Need::kDevice, [&](Session& session) {
    return body(session, session.device.execs.need(handle, CUDA_ERROR_INVALID_VALUE));
  });
}

}  // namespace
}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph graph, unsigned long long flags) {
  return make_exec(out, graph, flags);
}

CUresult cuGraphInstantiate_v2(CUgraphExec* out, CUgraph graph, CUgraphNode* error_node, char* log,
                               size_t bytes) {
  if (error_node != nullptr) *error_node = nullptr;
  if (log != nullptr && bytes > 0) *log = '\0';
  return make_exec(out, graph, 0);
}

CUresult cuGraphInstantiate(CUgraphExec* out, CUgraph graph, CUgraphNode* error_node, char* log,
                            size_t bytes) {
  return cuGraphInstantiate_v2(out, graph, error_node, log, bytes);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* out, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = make_exec(out, graph, params->flags);
  params->hErrNode_out = nullptr;
  params->result_out = result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  return result;
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t* flags) {
  return with_exec(handle, [&](Session&, const std::shared_ptr<GraphExec>& exec) {
    require(flags != nullptr);
    *flags = exec->flags;
  });
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream stream) {
  return api(Need::kContext, [&](Session& session) {
    session.device.execs.need(handle, CUDA_ERROR_INVALID_VALUE);
    session.stream(stream);
  });
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream) {
  return api(Need::kContext, [&](Session& session) {
    const auto exec = session.device.execs.need(handle, CUDA_ERROR_INVALID_VALUE);
    launch_graph(session, *exec, session.stream(stream));
  });
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return with_exec(handle, [](Session& session, const std::shared_ptr<GraphExec>& exec) {
    session.device.execs.remove(exec.get());
  });
}

CUresult cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph_handle, CUgraphExecUpdateResultInfo* info) {
  return with_exec(handle, [&](Session& session, const std::shared_ptr<GraphExec>& exec) {
    const auto graph = session.device.graphs.need(graph_handle, CUDA_ERROR_INVALID_VALUE);
    const CUgraphExecUpdateResult result = update(*exec, *instantiate(*graph));
    if (info != nullptr) *info = {result, nullptr, nullptr};
    return result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  });
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* error_node,
                           CUgraphExecUpdateResult* result) {
  CUgraphExecUpdateResultInfo info{};
  const CUresult code = cuGraphExecUpdate_v2(exec, graph, &info);
  if (error_node != nullptr) *error_node = info.errorNode;
  if (result != nullptr) *result = info.result;
  return code;
}
