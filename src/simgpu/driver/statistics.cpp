// The file that SIMGPU_STATS names, written when the process ends. It must not count anything itself.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "simgpu/driver/device.hpp"
#include "simgpu/driver/settings.hpp"

namespace refrain::simgpu::driver {
namespace {

const pid_t loaded_by = getpid();

nlohmann::json figures() {
  Device* device = find_device();
  const Statistics none;
  Lock lock;
  if (device != nullptr)
    lock = Lock(device->mutex, std::try_to_lock);  // another thread may be stuck in a kernel
  const Statistics& seen = device == nullptr ? none : device->statistics;
  return {{"peak_physical_bytes", device == nullptr ? 0 : device->memory.physical_peak_bytes()},
          {"physical_bytes", device == nullptr ? 0 : device->memory.physical_used_bytes()},
          {"kernels", seen.kernels},
          {"copies", seen.copies},
          {"memsets", seen.memsets},
          {"graph_launches", seen.graph_launches},
          {"thread_instructions", seen.thread_instructions},
          {"virtual_time_ns", device == nullptr ? 0 : device->queue.latest_ns() + device->stall_ns},
          {"faults", seen.faults},
          {"map_calls", seen.map_calls},
          {"unmap_calls", seen.unmap_calls},
          {"create_calls", seen.create_calls}};
}

// When the library is unloaded or the process exits; not in a child of fork, unless its path has its own %p.
[[gnu::destructor]] void write_statistics() {
  try {
    const std::string& setting = settings().stats_path;
    if (setting.empty()) return;
    if (getpid() != loaded_by && setting.find("%p") == std::string::npos) return;
    const std::string path = expand_path(setting);
    const std::string text = figures().dump(2) + "\n";
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) {
      say(fmt::format("SIMGPU_STATS: cannot write {}", path));
      return;
    }
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (std::fclose(file) != 0 || !written) say(fmt::format("SIMGPU_STATS: cannot write {}", path));
  } catch (const std::exception& error) {
    say(error.what());
  }
}

}  // namespace
}  // namespace refrain::simgpu::driver
