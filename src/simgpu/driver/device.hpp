// The simulated devices of the process and everything that handles name. It must not contain API functions.
//
// Locks: `mutex` guards all of it, contexts, streams, events, graphs and modules included; handed around as a
// Lock.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

#include "simgpu/driver/error.hpp"
#include "simgpu/driver/operation.hpp"
#include "simgpu/driver/queue.hpp"
#include "simgpu/memory/address_space.hpp"

namespace refrain::simgpu::driver {

using simgpu::Ordinal;

struct Capture;
struct Graph;
struct GraphExec;
struct GraphMemory;
struct GraphNode;
struct Pool;
struct UserObject;
struct Function;
struct Library;
struct LinkState;

struct Stream {
  Context* context = nullptr;
  unsigned flags = 0;
  int priority = 0;
  std::uint64_t id = 0;
  bool legacy = false;
  std::map<CUstreamAttrID, CUstreamAttrValue> attributes;  // as set
  ItemRef last;
  std::shared_ptr<Capture> capture;
  std::vector<GraphNode*> capture_tail;        // what the next captured operation depends on
  std::vector<CUgraphEdgeData> capture_edges;  // as told to the program: all plain

  bool blocking() const noexcept { return (flags & CU_STREAM_NON_BLOCKING) == 0; }
};
using StreamRef = std::shared_ptr<Stream>;

struct Event {
  Context* context = nullptr;
  unsigned flags = 0;
  ItemRef recorded;
  std::shared_ptr<Capture> capture;
  std::vector<GraphNode*> capture_tail;
};

struct Context {
  Ordinal ordinal = 0;  // of its device
  unsigned flags = 0;
  bool primary = false;
  unsigned references = 0;
  std::uint64_t id = 0;
  CUresult fault = CUDA_SUCCESS;  // sticky
  StreamRef legacy_stream;
  std::map<std::thread::id, StreamRef> thread_streams;
  std::set<StreamRef> streams;     // all of them
  std::set<const Context*> peers;  // whose memory it may use
  std::map<int, std::size_t> limits;
};
using ContextRef = std::shared_ptr<Context>;

struct HostRange {
  std::uint64_t bytes;
  unsigned flags;
  bool owned;          // allocated by us, not registered: kernels reach it at the same address
  ContextRef context;  // that it was made in, and goes with
};

// What cuMemAlloc and its like gave.
struct Allocation {
  std::uint64_t bytes;
  Context* context;
  std::shared_ptr<Pool> pool;  // nullptr: from none
};

// Memory behind one cuMemCreate. It lives while it has handles or mappings.
struct PhysicalMemory {
  std::uint64_t bytes;
  unsigned handles;
  unsigned mappings;
  CUmemAllocationProp properties;
};
struct Mapping {
  std::uint64_t bytes;
  PhysicalHandle handle;
  std::array<unsigned long long, kMaxDevices> access;  // CUmemAccess_flags of each device
};

// Memory that the host may touch at its device address.
struct ManagedRange {
  std::uint64_t bytes;
  const Context* context;  // nullptr: a variable of a loaded module
};

// Handles are addresses of the objects; a handle that is not in its table is invalid.
template <class T>
class HandleTable {
 public:
  void add(const std::shared_ptr<T>& object) { objects_.emplace(object.get(), object); }
  std::shared_ptr<T> find(const void* handle) const {
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  std::shared_ptr<T> need(const void* handle, CUresult otherwise = CUDA_ERROR_INVALID_HANDLE) const {
    auto object = find(handle);
    require(object != nullptr, otherwise);
    return object;
  }
  void remove(const void* handle) { objects_.erase(handle); }
  const auto& all() const noexcept { return objects_; }

 private:
  std::unordered_map<const void*, std::shared_ptr<T>> objects_;
};

struct Statistics {
  std::uint64_t kernels = 0, copies = 0, memsets = 0, graph_launches = 0, thread_instructions = 0, faults = 0;
  std::uint64_t map_calls = 0, unmap_calls = 0, create_calls = 0;
};

// One of the devices that the program sees.
struct Card {
  int number = 0;  // among all that there are, seen or not
  ContextRef primary;
  unsigned primary_flags = 0;
  std::shared_ptr<Pool> default_pool;  // made at its first use
  std::shared_ptr<Pool> current_pool;  // nullptr: the default one
  std::uint64_t graph_bytes = 0, graph_peak_bytes = 0;
  std::uint64_t stall_ns = 0;  // of VMM calls, charged to the next item that is queued
  Statistics statistics;
};

// All of them: they share their addresses, one lock and one queue.
struct Device {
  explicit Device(const std::vector<int>& visible);
  // Throws CUDA_ERROR_INVALID_DEVICE.
  Card& card(CUdevice ordinal);
  Card& card_of(const Context& context) noexcept { return cards[context.ordinal]; }

  std::mutex mutex;
  AddressSpace memory;
  Queue queue;
  std::vector<Card> cards;          // by ordinal
  DeviceAddress barrier_words = 0;  // of the cooperative launch that runs; 0: there was none yet
  std::uint64_t next_id = 1;

  HandleTable<Context> contexts;
  HandleTable<Stream> streams;
  HandleTable<Event> events;
  HandleTable<Library> libraries;  // modules too
  HandleTable<Function> functions;
  HandleTable<Graph> graphs;
  HandleTable<GraphExec> execs;
  std::set<const void*> nodes;  // graph nodes that exist
  std::vector<std::weak_ptr<Capture>> captures;

  std::map<std::uintptr_t, HostRange> host_ranges;
  std::map<DeviceAddress, ManagedRange> managed;
  std::map<DeviceAddress, std::weak_ptr<GraphMemory>> graph_memory;         // of all nodes that allocate
  std::map<DeviceAddress, std::shared_ptr<GraphMemory>> live_graph_memory;  // in use, in the order of calls
  HandleTable<UserObject> user_objects;
  std::map<PhysicalHandle, PhysicalMemory> physical;
  std::map<DeviceAddress, Mapping> mappings;
  std::map<DeviceAddress, std::uint64_t> reservations;
  HandleTable<LinkState> link_states;
  HandleTable<Pool> pools;
  std::map<DeviceAddress, Allocation> allocations;
};

// nullptr before cuInit.
Device* find_device() noexcept;
CUresult start_device() noexcept;

ContextRef make_context(Device& device, Ordinal ordinal, unsigned flags, bool primary);
// Everything in it goes; queued work is dropped.
void destroy_context(Lock& lock, Device& device, const ContextRef& context);
StreamRef make_stream(Device& device, Context& context, unsigned flags, int priority);
// A context may use the memory of another one's device, or no longer.
void open_peer(Device& device, Context& context, const Context& peer);
void close_peer(Device& device, Context& context, const Context& peer);
// The number of a device as the API writes it. Throws CUDA_ERROR_INVALID_DEVICE.
Ordinal ordinal_of(const Device& device, CUdevice number);
Ordinal ordinal_of(const Device& device, const CUmemLocation& location);

// Also of memory that lies among the device's addresses: this one is the host's own.
// The pinned range that holds all of [pointer, pointer + bytes), or nullptr.
const std::pair<const std::uintptr_t, HostRange>* find_host_range(const Device& device, const void* pointer,
                                                                  std::uint64_t bytes);

}  // namespace refrain::simgpu::driver
