// The device's beginning and its contexts' beginnings and ends. It must not execute work.
#include "simgpu/driver/device.hpp"

#include <atomic>
#include <new>

#include "simgpu/driver/execute.hpp"
#include "simgpu/driver/graph_memory.hpp"
#include "simgpu/driver/managed.hpp"
#include "simgpu/driver/module.hpp"
#include "simgpu/driver/pool.hpp"
#include "simgpu/driver/settings.hpp"

namespace refrain::simgpu::driver {
namespace {
std::atomic<Device*> the_device{nullptr};  // never destroyed: calls may come while the process ends
}

Device::Device()
    : memory(
          MemorySettings{settings().memory_bytes, settings().granularity_bytes, settings().checks.shadow()}),
      queue(settings().schedule, &execute, &ready) {}

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
    the_device.store(new Device, std::memory_order_release);
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

ContextRef make_context(Device& device, unsigned flags, bool primary) {
  auto context = std::make_shared<Context>();
  context->flags = flags;
  context->primary = primary;
  context->id = device.next_id++;
  device.contexts.add(context);
  context->legacy_stream = make_stream(device, *context, CU_STREAM_DEFAULT, 0);
  context->legacy_stream->legacy = true;
  return context;
}

void destroy_context(Lock& lock, Device& device, const ContextRef& context) {
  device.queue.drop(*context);
  device.queue.wait_all(lock, *context);  // a host function that another thread runs
  for (const StreamRef& stream : context->streams) device.streams.remove(stream.get());
  context->streams.clear();
  context->thread_streams.clear();
  context->legacy_stream.reset();
  std::vector<const void*> stale;
  for (const auto& [handle, event] : device.events.all()) {
    if (event->context == context.get()) stale.push_back(handle);
  }
  for (const void* handle : stale) device.events.remove(handle);
  unload_modules_of(device, *context);
  while (!context->allocations.empty()) {
    require(free_allocation(device, *context, context->allocations.begin()->first));
  }
  free_managed_of(device, *context);
  device.live_graph_memory.clear();
  device.graph_bytes = 0;
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
