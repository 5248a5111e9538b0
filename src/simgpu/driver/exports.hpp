// What is exported under which name and version. It must not call anything.
#pragma once

#include <span>
#include <string_view>

namespace refrain::simgpu::driver {

using EntryPoint = void (*)();

struct Export {
  std::string_view name;   // without suffix, as cuGetProcAddress is asked
  int version;             // the first CUDA version with this ABI
  EntryPoint entry;        // the exported symbol
  int per_thread_version;  // 0: no per-thread variant
  EntryPoint per_thread;
};

std::span<const Export> exports();

}  // namespace refrain::simgpu::driver
