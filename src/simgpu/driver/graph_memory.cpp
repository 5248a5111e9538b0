// Memory nodes: their addresses, their pages, and the calls that make them. It must not order launches.
#include "simgpu/driver/graph_memory.hpp"

#include <algorithm>

#include "simgpu/driver/graph_nodes.hpp"
#include "simgpu/driver/pool.hpp"

namespace refrain::simgpu::driver {

GraphMemory::~GraphMemory() {
  if (handle != 0) memory.unmap(address, mapped_bytes);
  if (handle != 0) memory.release(handle);
  if (address != 0) memory.release_range(address, mapped_bytes);
}

std::shared_ptr<GraphMemory> make_graph_memory(Device& device, const Graph& graph, Ordinal owner,
                                               std::uint64_t bytes) {
  require(bytes > 0);
  require(bytes <= device.memory.physical_total_bytes(), CUDA_ERROR_OUT_OF_MEMORY);
  const std::uint64_t unit = device.memory.granularity_bytes();
  auto out = std::make_shared<GraphMemory>(device.memory);
  out->owner = owner;
  out->access[owner] = Access::kReadWrite;
  out->bytes = bytes;
  out->mapped_bytes = (bytes + unit - 1) / unit * unit;
  out->graph = &graph;
  DeviceAddress address = 0;
  require(device.memory.reserve(out->mapped_bytes, 0, 0, address) == MemoryError::kNone,
          CUDA_ERROR_OUT_OF_MEMORY);
  out->address = address;
  std::erase_if(device.graph_memory, [](const auto& entry) { return entry.second.expired(); });
  device.graph_memory[address] = out;
  return out;
}

std::shared_ptr<GraphMemory> graph_memory_of(const Device& device, const Graph& graph,
                                             DeviceAddress address) {
  const auto found = device.graph_memory.find(address);
  const auto memory = found == device.graph_memory.end() ? nullptr : found->second.lock();
  require(memory != nullptr && memory->graph == &graph);
  return memory;
}

bool has_memory_nodes(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const auto& node) {
    return std::holds_alternative<AllocateMemory>(node->operation) ||
           std::holds_alternative<ReleaseMemory>(node->operation);
  });
}

bool attach_graph_memory(GraphMemory& it) {
  if (it.handle != 0) return false;
  if (it.memory.create(it.owner, it.mapped_bytes, it.handle) != MemoryError::kNone) return false;
  if (it.memory.map(it.address, it.mapped_bytes, 0, it.handle) != MemoryError::kNone) return false;
  for (Ordinal by = 0; by < kMaxDevices; ++by) {
    if (it.access[by] == Access::kNone) continue;
    if (it.memory.set_access(by, it.address, it.mapped_bytes, it.access[by]) != MemoryError::kNone)
      return false;
  }
  return true;
}

bool detach_graph_memory(GraphMemory& it) {
  if (it.handle == 0) return false;
  it.memory.unmap(it.address, it.mapped_bytes);
  it.memory.release(it.handle);
  it.handle = 0;
  return true;
}

namespace {

using Bytes = std::array<std::uint64_t, kMaxDevices>;

// The most that a launch has at a time on each device, its nodes taken in their order.
Bytes peak_bytes(const GraphExec& exec) {
  Bytes now{}, peak{};
  for (const ExecNode& node : exec.nodes) {
    if (const auto* made = std::get_if<AllocateMemory>(&node.operation)) {
      const Ordinal owner = made->memory->owner;
      now[owner] += made->memory->mapped_bytes;
      peak[owner] = std::max(peak[owner], now[owner]);
    } else if (const auto* gone = std::get_if<ReleaseMemory>(&node.operation)) {
      const Ordinal owner = gone->memory->owner;
      now[owner] -= std::min(now[owner], gone->memory->mapped_bytes);
    }
  }
  return peak;
}

bool has_room(const Device& device, const Bytes& wanted) {
  for (Ordinal ordinal = 0; ordinal < kMaxDevices; ++ordinal) {
    const std::uint64_t used = device.memory.physical_used_bytes(ordinal);
    if (wanted[ordinal] > device.memory.physical_total_bytes() - used) return false;
  }
  return true;
}

}  // namespace

std::vector<std::shared_ptr<GraphMemory>> claim_graph_memory(Session& session, const GraphExec& exec) {
  Device& device = session.device;
  std::vector<std::shared_ptr<GraphMemory>> in_the_way;
  for (const ExecNode& node : exec.nodes) {
    const auto* made = std::get_if<AllocateMemory>(&node.operation);
    if (made == nullptr || !device.live_graph_memory.contains(made->memory->address)) continue;
    require((exec.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0);
    in_the_way.push_back(made->memory);
  }
  if (const Bytes bytes = peak_bytes(exec); in_the_way.empty() && !has_room(device, bytes)) {
    session.wait_all();  // what is queued may free some
    require(has_room(device, bytes), CUDA_ERROR_OUT_OF_MEMORY);
  }
  for (const auto& memory : in_the_way) forget_graph_memory(device, memory->address);
  for (const ExecNode& node : exec.nodes) {
    if (const auto* made = std::get_if<AllocateMemory>(&node.operation)) {
      device.live_graph_memory[made->memory->address] = made->memory;
      Card& card = device.cards[made->memory->owner];
      card.graph_bytes += made->memory->mapped_bytes;
      card.graph_peak_bytes = std::max(card.graph_peak_bytes, card.graph_bytes);
    } else if (const auto* gone = std::get_if<ReleaseMemory>(&node.operation)) {
      forget_graph_memory(device, gone->address);
    }
  }
  return in_the_way;
}

std::shared_ptr<GraphMemory> forget_graph_memory(Device& device, DeviceAddress address) {
  const auto found = device.live_graph_memory.find(address);
  if (found == device.live_graph_memory.end()) return nullptr;
  auto memory = std::move(found->second);
  device.cards[memory->owner].graph_bytes -= memory->mapped_bytes;
  device.live_graph_memory.erase(found);
  return memory;
}

const GraphMemory* find_graph_memory(const Device& device, DeviceAddress address) {
  auto after = device.live_graph_memory.upper_bound(address);
  if (after == device.live_graph_memory.begin()) return nullptr;
  const GraphMemory& memory = *std::prev(after)->second;
  return address - memory.address < memory.bytes ? &memory : nullptr;
}

bool reachable(const Device& device, DeviceAddress address, std::uint64_t bytes, Access access) {
  const GraphMemory* memory = find_graph_memory(device, address);
  if (memory != nullptr) return bytes <= memory->bytes - (address - memory->address);
  return device.memory.translate(address, bytes, access) != nullptr;
}

Operation allocation_of(Device& device, const Graph& graph, const CUmemPoolProps& properties,
                        std::span<const CUmemAccessDesc> access, std::size_t bytes, CUdeviceptr& address) {
  require(properties.allocType == CU_MEM_ALLOCATION_TYPE_PINNED);
  require(properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE);
  if (properties.handleTypes != CU_MEM_HANDLE_TYPE_NONE) refuse("a graph allocation with a shareable handle");
  auto memory = make_graph_memory(device, graph, ordinal_of(device, properties.location), bytes);
  for (const CUmemAccessDesc& wanted : access) {
    memory->access[ordinal_of(device, wanted.location)] = access_of(wanted.flags);
  }
  address = memory->address;
  return AllocateMemory{std::move(memory)};
}

}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuGraphAddMemAllocNode(CUgraphNode* out, CUgraph handle, const CUgraphNode* dependencies,
                                size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add_graph_node(out, handle, dependencies, count,
                        [&](Device& device, Graph& graph) { return allocation_of(device, graph, *params); });
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* out, CUgraph handle, const CUgraphNode* dependencies,
                               size_t count, CUdeviceptr address) {
  return add_graph_node(out, handle, dependencies, count, [&](Device& device, Graph& graph) {
    return ReleaseMemory{address, graph_memory_of(device, graph, address)};
  });
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode handle, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  return with_node_of<AllocateMemory>(handle, [&](GraphNode& node) {
    require(params != nullptr);
    *params = {};
    params->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params->poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    const GraphMemory& memory = *std::get<AllocateMemory>(node.operation).memory;
    params->poolProps.location.id = memory.owner;
    params->bytesize = memory.bytes;
    params->dptr = memory.address;
  });
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode handle, CUdeviceptr* address) {
  return with_node_of<ReleaseMemory>(handle, [&](GraphNode& node) {
    require(address != nullptr);
    *address = std::get<ReleaseMemory>(node.operation).address;
  });
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute, void* value) {
  return api(Need::kDevice, [&](Session& session) {
    const Card& card = session.device.card(ordinal);
    require(value != nullptr && attribute >= CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT &&
            attribute <= CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH);
    const bool high =
        attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
    *static_cast<cuuint64_t*>(value) = high ? card.graph_peak_bytes : card.graph_bytes;
  });
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute, void* value) {
  return api(Need::kDevice, [&](Session& session) {
    Card& card = session.device.card(ordinal);
    const bool high =
        attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
    require(high && value != nullptr && *static_cast<const cuuint64_t*>(value) == 0);
    card.graph_peak_bytes = card.graph_bytes;
  });
}

// Nothing is kept that is not used.
CUresult cuDeviceGraphMemTrim(CUdevice ordinal) {
  return api(Need::kDevice, [&](Session& session) { session.device.card(ordinal); });
}
