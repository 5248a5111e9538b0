// The SIMGPU_* environment variables, read once. It must not act on them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simgpu/driver/failure.hpp"
#include "simgpu/exec/module.hpp"

namespace refrain::simgpu::driver {

struct Profile;

struct Schedule {
  enum Kind { kEager, kLazy, kRandom } kind = kEager;
  std::uint64_t seed = 0;
};

struct Checks {
  bool bounds = false;         // accesses outside every allocation, where a page is mapped nevertheless
  bool uninitialised = false;  // reads of bytes that nothing has written
  bool barriers = false;       // lanes of a warp that wait at different barriers
  bool shadow() const noexcept { return bounds || uninitialised; }
};

// The C++ type of each type in settings.def.
namespace setting_types {
using Devices = Ordinal;
using Size = std::uint64_t;
using Granularity = std::uint64_t;
using Device = const Profile*;
using Capability = std::uint32_t;
using Schedule = driver::Schedule;
using Checks = driver::Checks;
using OnMistake = bool;
using Workers = unsigned;
using Atomics = bool;
using Text = std::string;
using Failures = std::vector<Failure>;
}  // namespace setting_types

struct Settings {
#define SIMGPU_SETTING(type, member, variable, text, help) setting_types::type member{};
#include "simgpu/driver/settings.def"
#undef SIMGPU_SETTING
  std::string error;  // one line about the first bad setting; empty: all good
};

const Settings& settings();

// The path that a setting names a file by: its first %p is the process.
std::string expand_path(std::string path);

// Of the devices 0 to count - 1 those that a CUDA_VISIBLE_DEVICES of that text shows, in its order; it ends
// at the first that does not exist or comes again.
std::vector<int> visible_devices(std::string_view text, Ordinal count);
// Of this process; all where the variable is not set.
std::vector<int> visible_devices();

// What of them the execution of kernels on a device needs; mistakes are reported on standard error.
ExecutionSettings execution_settings(Ordinal device);

}  // namespace refrain::simgpu::driver
