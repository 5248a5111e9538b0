// Filling log buffers. It must not fail: a log that has no room is cut.
#include "simgpu/driver/jit_log.hpp"

#include <algorithm>
#include <cstdint>

namespace refrain::simgpu::driver {

JitLog::JitLog(unsigned count, const CUjit_option* options, void** values) {
  char* info = nullptr;
  void** info_bytes = nullptr;
  for (unsigned index = 0; options != nullptr && values != nullptr && index < count; ++index) {
    switch (options[index]) {
      case CU_JIT_ERROR_LOG_BUFFER: error_ = static_cast<char*>(values[index]); break;
      case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: error_bytes_ = &values[index]; break;
      case CU_JIT_INFO_LOG_BUFFER: info = static_cast<char*>(values[index]); break;
      case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES: info_bytes = &values[index]; break;
      default: break;  // how to compile: there is one way
    }
  }
  if (info_bytes == nullptr || *info_bytes == nullptr) return;
  if (info != nullptr) *info = '\0';
  *info_bytes = nullptr;
}

void JitLog::write(std::string_view text) const noexcept {
  if (error_bytes_ == nullptr) return;
  const std::size_t room = reinterpret_cast<std::uintptr_t>(*error_bytes_);
  if (error_ == nullptr || room == 0) return;
  const std::size_t bytes = std::min(text.size(), room - 1);
  std::copy_n(text.data(), bytes, error_);
  error_[bytes] = '\0';
  *error_bytes_ = reinterpret_cast<void*>(bytes);
}

}  // namespace refrain::simgpu::driver
