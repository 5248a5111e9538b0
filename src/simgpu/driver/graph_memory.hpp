// Memory that belongs to graphs: its address is fixed when its node is made, its pages come when the node
// runs. It must not know streams.
//
// Whether a program may use it is decided in the order of calls (`live_graph_memory`), whether it has pages
// in the order of execution (`handle`).
#pragma once

#include <span>

#include "simgpu/driver/graph.hpp"

namespace refrain::simgpu::driver {

struct GraphMemory {
  explicit GraphMemory(AddressSpace& space) : memory(space) {}
  ~GraphMemory();  // gives back the pages, if it has any, and the address
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  AddressSpace& memory;
  Ordinal owner = 0;                         // the device
  std::array<Access, kMaxDevices> access{};  // of each device, once it has pages
  DeviceAddress address = 0;
  std::uint64_t bytes = 0, mapped_bytes = 0;
  PhysicalHandle handle = 0;     // 0: no pages now
  const Graph* graph = nullptr;  // whose node it is; may be gone
};

// On that device, which alone may use it at first.
std::shared_ptr<GraphMemory> make_graph_memory(Device& device, const Graph& graph, Ordinal owner,
                                               std::uint64_t bytes);
// For nodes that free: the memory of a node of that graph. Throws CUDA_ERROR_INVALID_VALUE.
std::shared_ptr<GraphMemory> graph_memory_of(const Device& device, const Graph& graph, DeviceAddress address);
bool has_memory_nodes(const Graph& graph);

// When they run. False: there is no memory left, or it had no pages.
bool attach_graph_memory(GraphMemory& memory);
bool detach_graph_memory(GraphMemory& memory);

// Before a launch: what it allocates must not be in use, but for what the launch may free by itself: that is
// returned. Throws CUDA_ERROR_INVALID_VALUE, or CUDA_ERROR_OUT_OF_MEMORY if even all memory that is not used
// would not do.
std::vector<std::shared_ptr<GraphMemory>> claim_graph_memory(Session& session, const GraphExec& exec);

// In the order of calls: it is no longer in use. nullptr: it was not.
std::shared_ptr<GraphMemory> forget_graph_memory(Device& device, DeviceAddress address);

// The one in use, in the order of calls, that holds an address, or nullptr.
const GraphMemory* find_graph_memory(const Device& device, DeviceAddress address);
// What a call may name: mapped with that access, or memory of a graph whose pages come with queued work.
bool reachable(const Device& device, DeviceAddress address, std::uint64_t bytes, Access access);

// The operation of a node that allocates, and the address that it will have.
Operation allocation_of(Device& device, const Graph& graph, const CUmemPoolProps& properties,
                        std::span<const CUmemAccessDesc> access, std::size_t bytes, CUdeviceptr& address);
template <class Params>  // of either version
Operation allocation_of(Device& device, const Graph& graph, Params& params) {
  require(params.accessDescs != nullptr || params.accessDescCount == 0);
  return allocation_of(device, graph, params.poolProps, {params.accessDescs, params.accessDescCount},
                       params.bytesize, params.dptr);
}

}  // namespace refrain::simgpu::driver
