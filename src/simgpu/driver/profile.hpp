// What things cost on the device that simgpu plays, in virtual time. It must not depend on the host's clock.
#pragma once

#include <cstdint>

#include "simgpu/exec/module.hpp"

namespace refrain::simgpu::driver {

struct Profile {
  std::uint64_t launch_ns;
  std::uint64_t graph_node_ns;
  double thread_instructions_per_ns;
  double memory_bytes_per_ns;
  double host_copy_bytes_per_ns;
  std::uint64_t create_ns, map_ns, set_access_ns, unmap_ns, release_ns;
};

// Like an A100 40 GB. Sources: its data sheet for 108 multiprocessors x 64 lanes x 1.41 GHz = 9746 thread
// instructions a nanosecond, 1555 GB/s of memory and 25 GB/s over PCIe 4 x16; published measurements for
// launches (order of 2-5 us), for nodes inside a graph (about 1 us on the device) and for the virtual memory
// calls. cuMemAlloc and cuMemFree cost nothing: that never flatters whoever replaces them by something else.
inline constexpr Profile kProfile = {
    .launch_ns = 3000,
    .graph_node_ns = 1000,
    .thread_instructions_per_ns = 9746.0,
    .memory_bytes_per_ns = 1555.0,
    .host_copy_bytes_per_ns = 25.0,
    .create_ns = 29000,
    .map_ns = 2000,
    .set_access_ns = 36000,
    .unmap_ns = 26000,
    .release_ns = 23000,
};

// A kernel takes its launch and the longer of its instructions and its memory traffic.
inline std::uint64_t kernel_ns(const ExecutionCounts& counts, bool in_graph) {
  const double compute =
      static_cast<double>(counts.thread_instructions) / kProfile.thread_instructions_per_ns;
  const double traffic = static_cast<double>(counts.global_read_bytes + counts.global_written_bytes) /
                         kProfile.memory_bytes_per_ns;
  return (in_graph ? kProfile.graph_node_ns : kProfile.launch_ns) +
         static_cast<std::uint64_t>(compute > traffic ? compute : traffic);
}

}  // namespace refrain::simgpu::driver
