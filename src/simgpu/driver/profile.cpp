// The table of profiles and the model over it. It must not count anything.
#include "simgpu/driver/profile.hpp"

#include <algorithm>
#include <array>

#include "simgpu/driver/settings.hpp"

namespace refrain::simgpu::driver {
namespace {

// Four schedulers, each with a warp's instruction every clock.
constexpr double kIssuePerClock = 128;

constexpr std::array<std::string_view, 3> kNames = {
#define SIMGPU_PROFILE_NAME(index, name, like) name,
#define SIMGPU_PROFILE(type, member, unit, a100, h200, small)
#include "simgpu/driver/profiles.def"
#undef SIMGPU_PROFILE_NAME
#undef SIMGPU_PROFILE
};

// Column by column out of the table's rows.
#define SIMGPU_PROFILE_NAME(index, name, like)
const std::array<Profile, 3> kTable = {Profile{
                                           kNames[0],
#define SIMGPU_PROFILE(type, member, unit, a100, h200, small) a100,
#include "simgpu/driver/profiles.def"
#undef SIMGPU_PROFILE
                                       },
                                       Profile{
                                           kNames[1],
#define SIMGPU_PROFILE(type, member, unit, a100, h200, small) h200,
#include "simgpu/driver/profiles.def"
#undef SIMGPU_PROFILE
                                       },
                                       Profile{
                                           kNames[2],
#define SIMGPU_PROFILE(type, member, unit, a100, h200, small) small,
#include "simgpu/driver/profiles.def"
#undef SIMGPU_PROFILE
                                       }};
#undef SIMGPU_PROFILE_NAME

}  // namespace

const Profile* find_profile(std::string_view name) noexcept {
  const auto* found = std::find_if(kTable.begin(), kTable.end(),
                                   [&](const Profile& profile) { return profile.name == name; });
  return found == kTable.end() ? nullptr : found;
}

std::string profile_names() {
  std::string out;
  for (const Profile& profile : kTable) out.append(out.empty() ? "" : ", ").append(profile.name);
  return out;
}

const Profile& profile() noexcept {
  return *settings().profile;
}

std::uint64_t kernel_ns(const ExecutionCounts& counts, bool in_graph) noexcept {
  const Profile& device = profile();
  const double busy = static_cast<double>(
      std::min<std::uint64_t>(device.multiprocessors, std::max<std::uint64_t>(counts.blocks, 1)));
  const double clocks_per_ns = device.clock_mhz / 1000.0;
  double clocks = static_cast<double>(counts.thread_instructions) / kIssuePerClock;
#define SIMGPU_COST(id, member) \
  clocks = std::max(clocks, static_cast<double>(counts.of(Cost::id)) / device.member);
#include "simgpu/exec/costs.def"
#undef SIMGPU_COST
  const double compute = clocks / busy / clocks_per_ns;
  const double traffic = static_cast<double>(counts.global_read_bytes + counts.global_written_bytes) /
                         device.memory_bytes_per_ns;
  return (in_graph ? device.graph_node_ns : device.launch_ns) +
         static_cast<std::uint64_t>(std::max(compute, traffic));
}

std::uint64_t transfer_ns(std::uint64_t bytes, double bytes_per_ns, bool in_graph) noexcept {
  return (in_graph ? profile().graph_node_ns : profile().launch_ns) +
         static_cast<std::uint64_t>(static_cast<double>(bytes) / bytes_per_ns);
}

}  // namespace refrain::simgpu::driver
