// The log buffers that a program hands to the loader and the linker. It must not know what is logged.
#pragma once

#include <string_view>

#include "simgpu/driver/api.hpp"

namespace refrain::simgpu::driver {

class JitLog {
 public:
  JitLog(unsigned count, const CUjit_option* options,
         void** values);  // both are the program's; values stay in use
  // Into the error log, cut to its size; tells how much was written. The information log stays empty.
  void write(std::string_view text) const noexcept;

 private:
  char* error_ = nullptr;
  void** error_bytes_ = nullptr;  // a number in a pointer's place: room before, bytes written after
};

}  // namespace refrain::simgpu::driver
