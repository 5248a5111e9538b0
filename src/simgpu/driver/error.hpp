// Errors inside the driver: thrown as CudaError, turned into the return value at the C boundary
// (session.hpp). It must not decide what a user sees beyond one line on stderr.
#pragma once

#include <exception>
#include <string_view>

#include "simgpu/driver/api.hpp"

namespace refrain::simgpu::driver {

struct CudaError : std::exception {
  explicit CudaError(CUresult result) : code(result) {}
  const char* what() const noexcept override { return "a CUDA error code"; }
  CUresult code;
};

inline void require(bool condition, CUresult otherwise = CUDA_ERROR_INVALID_VALUE) {
  if (!condition) throw CudaError(otherwise);
}

// One line "simgpu: ..." on stderr.
// "program: text", for what a kernel did.
std::string of_this_program(std::string_view text);
void say(std::string_view text) noexcept;
// The same, at most once for each text in the life of the process.
void say_once(std::string_view text);

// Something that a user may meet and that is not built: says so by name and throws CUDA_ERROR_NOT_SUPPORTED.
[[noreturn]] void refuse(std::string_view what);

}  // namespace refrain::simgpu::driver
