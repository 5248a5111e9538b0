// The SIMGPU_* environment variables, read once. It must not act on them.
#pragma once

#include <cstdint>
#include <string>

namespace refrain::simgpu::driver {

enum class Schedule { kEager, kLazy, kRandom };

struct Settings {
  std::uint64_t memory_bytes = std::uint64_t{16} << 30;
  std::uint64_t granularity_bytes = 4096;
  Schedule schedule = Schedule::kEager;
  std::uint64_t seed = 0;
  std::uint32_t sm = 75;
  std::string stats_path;  // empty: none
  std::string error;       // one line about the first bad setting; empty: all good
};

const Settings& settings();

}  // namespace refrain::simgpu::driver
