// What the device can be asked to do: one type for queued work and for graph nodes. It must not know of
// streams or order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "simgpu/driver/api.hpp"
#include "simgpu/exec/module.hpp"

namespace refrain::simgpu::driver {

struct Event;
struct Function;
struct Graph;
struct GraphMemory;

struct KernelLaunch {
  std::shared_ptr<Function> function;
  Ordinal ordinal = 0;                 // of the device that it runs on
  std::shared_ptr<const Module> code;  // as loaded there; keeps the kernel
  const Kernel* kernel = nullptr;
  LaunchShape shape;
  bool cooperative = false;
  std::vector<std::byte> params;  // in kernel layout
};

// Linear memory, seen as slices of rows.
struct Place {
  bool on_device = false;  // not so: host memory, also where the device can reach it
  std::uint64_t address = 0;
  std::uint64_t pitch_bytes = 0;
  std::uint64_t slice_bytes = 0;
};

struct Copy {
  Place destination, source;
  std::uint64_t width_bytes = 0, height = 1, depth = 1;
  std::shared_ptr<const std::vector<std::byte>> snapshot;  // of a pageable source, dense; taken at the call
};

struct Fill {
  DeviceAddress address = 0;
  std::uint64_t pitch_bytes = 0;
  std::uint32_t value = 0;
  std::uint32_t element_bytes = 1;
  std::uint64_t width = 0, height = 1;  // in elements, rows
};

struct HostCall {
  CUhostFn function = nullptr;
  CUstreamCallback callback = nullptr;  // instead of function
  CUstream stream = nullptr;            // told to callback
  void* data = nullptr;
};

struct Nothing {};
struct RecordEvent {
  std::shared_ptr<Event> event;
};
struct WaitEvent {
  std::shared_ptr<Event> event;
};
struct ReleaseMemory {
  DeviceAddress address = 0;
  std::shared_ptr<GraphMemory> memory;  // nullptr: an allocation
};
struct AllocateMemory {
  std::shared_ptr<GraphMemory> memory;
};
struct WriteValue {
  DeviceAddress address = 0;
  std::uint64_t value = 0;
  std::uint32_t bytes = 4;  // or 8
};
struct WaitValue {
  WriteValue compared;
  unsigned how = 0;  // CUstreamWaitValue_flags without FLUSH
};
struct ChildGraph {
  std::shared_ptr<Graph> graph;
};

using Operation = std::variant<Nothing, KernelLaunch, Copy, Fill, HostCall, RecordEvent, WaitEvent,
                               ReleaseMemory, ChildGraph, AllocateMemory, WriteValue, WaitValue>;

}  // namespace refrain::simgpu::driver
