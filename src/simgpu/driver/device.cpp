// The device's beginning and its contexts' beginnings and ends. It must not execute work.
#include "simgpu/driver/device.hpp"

#include <atomic>
#include <new>

#include "simgpu/driver/execute.hpp"
#include "simgpu/driver/graph.hpp"
#include "simgpu/driver/graph_memory.hpp"
#include "simgpu/driver/managed.hpp"
#include "simgpu/driver/module.hpp"
#include "simgpu/driver/pool.hpp"
#include "simgpu/driver/settings.hpp"

namespace refrain::simgpu::driver {
namespace {
std::atomic<Device*> the_device{nullptr};  // never destroyed: calls may come while the process ends
}

Device::Device(const std::vector<int>& visible)
    : memory(MemorySettings{settings().memory_bytes, settings().granularity_bytes, settings().checks.shadow(),
                            static_cast<Ordinal>(visible.size())}),
      queue(settings().schedule, &execute, &ready),
      cards(visible.size()) {
  for (std::size_t index = 0; index < cards.size(); ++index) cards[index].number = visible[index];
}

Card& Device::card(CUdevice ordinal) {
  return cards[ordinal_of(*this, ordinal)];
}

Ordinal ordinal_of(const Device& device, CUdevice number) {
  require(number >= 0 && static_cast<std::size_t>(number) < device.cards.size(), CUDA_ERROR_INVALID_DEVICE);
  return static_cast<Ordinal>(number);
}

Ordinal ordinal_of(const Device& device, const CUmemLocation& location) {
  require(location.type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_INVALID_DEVICE);
  return ordinal_of(device, location.id);
}

Device* find_device() noexcept {
  return the_device.load(std::memory_order_acquire);
}

CUresult start_device() noexcept {
  static std::mutex starting;
  try {
    std::lock_guard lock(starting);
    if (find_device() != nullptr) return CUDA_SUCCESS;
    if (!settings().error.empty()) {
      say_once(settings().error);
      return CUDA_ERROR_INVALID_VALUE;
    }
    const std::vector<int> visible = visible_devices();
    if (visible.empty()) return CUDA_ERROR_NO_DEVICE;
    the_device.store(new Device(visible), std::memory_order_release);
    return CUDA_SUCCESS;
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    say(error.what());
    return CUDA_ERROR_UNKNOWN;
  }
}

StreamRef make_stream(Device& device, Context& context, unsigned flags, int priority) {
  auto stream = std::make_shared<Stream>();
  stream->context = &context;
  stream->flags = flags;
  stream->priority = priority;
  stream->id = device.next_id++;
  context.streams.insert(stream);
  device.streams.add(stream);
  return stream;
}

ContextRef make_context(Device& device, Ordinal ordinal, unsigned flags, bool primary) {
  auto context = std::make_shared<Context>();
  context->ordinal = ordinal;
  context->flags = flags;
  context->primary = primary;
  context->id = device.next_id++;
  device.contexts.add(context);
  context->legacy_stream = make_stream(device, *context, CU_STREAM_DEFAULT, 0);
  context->legacy_stream->legacy = true;
  return context;
}

namespace {

bool opened(const Device& device, Ordinal to, Ordinal owner) {
  for (const auto& [handle, context] : device.contexts.all()) {
    if (context->ordinal != to) continue;
    for (const Context* peer : context->peers) {
      if (peer->ordinal == owner) return true;
    }
  }
  return false;
}

void free_memory_of(Device& device, const Context& context) {
  for (auto entry = device.allocations.begin(); entry != device.allocations.end();) {
    const auto here = entry++;
    if (here->second.context == &context) require(free_allocation(device, here->first));
  }
  free_managed_of(device, context);
  for (auto entry = device.host_ranges.begin(); entry != device.host_ranges.end();) {
    const auto here = entry++;
    if (here->second.context.get() != &context) continue;
    if (here->second.owned) require(device.memory.free(here->first) == MemoryError::kNone);
    device.host_ranges.erase(here);
  }
  std::erase_if(device.live_graph_memory,
                [&](const auto& entry) { return entry.second->owner == context.ordinal; });
  device.card_of(context).graph_bytes = 0;
}

}  // namespace

void open_peer(Device& device, Context& context, const Context& peer) {
  context.peers.insert(&peer);
  device.memory.open_group(peer.ordinal, context.ordinal, Access::kReadWrite);
}

void close_peer(Device& device, Context& context, const Context& peer) {
  context.peers.erase(&peer);
  if (opened(device, context.ordinal, peer.ordinal)) return;  // between other contexts of the two devices
  device.memory.open_group(peer.ordinal, context.ordinal, Access::kNone);
}

void destroy_context(Lock& lock, Device& device, const ContextRef& context) {
  device.queue.drop(*context);
  device.queue.wait_all(lock, *context);  // a host function that another thread runs
  for (const StreamRef& stream : context->streams) {
    forsake_capture(device, *stream);
    device.streams.remove(stream.get());
  }
  context->streams.clear();
  context->thread_streams.clear();
  context->legacy_stream.reset();
  std::vector<const void*> stale;
  for (const auto& [handle, event] : device.events.all()) {
    if (event->context == context.get()) stale.push_back(handle);
  }
  for (const void* handle : stale) device.events.remove(handle);
  unload_modules_of(device, *context);
  free_memory_of(device, *context);
  while (!context->peers.empty()) close_peer(device, *context, **context->peers.begin());
  for (const auto& [handle, other] : device.contexts.all()) {
    if (other->peers.contains(context.get())) close_peer(device, *other, *context);
  }
  device.contexts.remove(context.get());
}

const std::pair<const std::uintptr_t, HostRange>* find_host_range(const Device& device, const void* pointer,
                                                                  std::uint64_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  auto after = device.host_ranges.upper_bound(address);
  if (after == device.host_ranges.begin()) return nullptr;
  --after;
  const std::uint64_t into = address - after->first;
  if (into >= after->second.bytes || bytes > after->second.bytes - into) return nullptr;
  return &*after;
}

}  // namespace refrain::simgpu::driver
