// The file that SIMGPU_STATS names, written when the process ends. It must not count anything itself.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "simgpu/driver/device.hpp"
#include "simgpu/driver/settings.hpp"

namespace refrain::simgpu::driver {
namespace {

const pid_t loaded_by = getpid();

struct Row {
  const char* name;
  std::uint64_t Statistics::*member;
};
// What is counted for each device.
constexpr Row kCounted[] = {{"kernels", &Statistics::kernels},
                            {"copies", &Statistics::copies},
                            {"memsets", &Statistics::memsets},
                            {"graph_launches", &Statistics::graph_launches},
                            {"thread_instructions", &Statistics::thread_instructions},
                            {"faults", &Statistics::faults},
                            {"map_calls", &Statistics::map_calls},
                            {"unmap_calls", &Statistics::unmap_calls},
                            {"create_calls", &Statistics::create_calls}};

// All devices together, and each.
nlohmann::json figures() {
  Device* device = find_device();
  Lock lock;
  if (device != nullptr)
    lock = Lock(device->mutex, std::try_to_lock);  // another thread may be stuck in a kernel
  nlohmann::json out, each = nlohmann::json::array();
  std::uint64_t stall_ns = 0, used = 0;
  for (const Row& row : kCounted) out[row.name] = 0;
  for (Ordinal ordinal = 0; device != nullptr && ordinal < device->cards.size(); ++ordinal) {
    const Card& card = device->cards[ordinal];
    nlohmann::json& here = each.emplace_back();
    for (const Row& row : kCounted) {
      here[row.name] = card.statistics.*row.member;
      out[row.name] = out[row.name].get<std::uint64_t>() + card.statistics.*row.member;
    }
    here["physical_bytes"] = device->memory.physical_used_bytes(ordinal);
    here["peak_physical_bytes"] = device->memory.physical_peak_bytes(ordinal);
    used += device->memory.physical_used_bytes(ordinal);
    stall_ns = std::max(stall_ns, card.stall_ns);
  }
  out["physical_bytes"] = used;
  out["peak_physical_bytes"] = device == nullptr ? 0 : device->memory.physical_peak_bytes();
  out["virtual_time_ns"] = device == nullptr ? 0 : device->queue.latest_ns() + stall_ns;
  out["devices"] = std::move(each);
  return out;
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
