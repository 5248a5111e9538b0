// What things cost on the device that simgpu plays, in virtual time. It must not depend on the host's clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "simgpu/exec/module.hpp"

namespace refrain::simgpu::driver {

struct Profile {
  std::string_view name;
#define SIMGPU_PROFILE_NAME(index, name, like)
#define SIMGPU_PROFILE(type, member, unit, a100, h200, small) type member;
#include "simgpu/driver/profiles.def"
#undef SIMGPU_PROFILE
#undef SIMGPU_PROFILE_NAME
};

const Profile* find_profile(std::string_view name) noexcept;
std::string profile_names();  // "a100, h200, small"

// The one that the settings name.
const Profile& profile() noexcept;

// A kernel takes its launch and the longer of its instructions and its memory traffic. Instructions take what
// the busiest unit takes, or the schedulers, on as many multiprocessors as there are blocks for.
std::uint64_t kernel_ns(const ExecutionCounts& counts, bool in_graph) noexcept;
// Moving so many bytes at so many bytes a nanosecond, launch included.
std::uint64_t transfer_ns(std::uint64_t bytes, double bytes_per_ns, bool in_graph) noexcept;

}  // namespace refrain::simgpu::driver
