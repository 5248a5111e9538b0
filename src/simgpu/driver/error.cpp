// Lines on stderr and the names of error codes. It must not hold state of the device.
#include "simgpu/driver/error.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

namespace refrain::simgpu::driver {
namespace {

struct ErrorRow {
  int number;
  const char* name;
  const char* text;
};

constexpr std::array kErrors = {
#define CUDA_ERROR_ROW(number, driver_name, runtime_name, text) ErrorRow{number, driver_name, text},
#include "simgpu/errors.def"
#undef CUDA_ERROR_ROW
};

const ErrorRow* find_row(CUresult error) {
  for (const ErrorRow& row : kErrors) {
    if (row.number == static_cast<int>(error) && *row.name != '\0') return &row;
  }
  return nullptr;
}

}  // namespace

std::string of_this_program(std::string_view text) {
  return fmt::format("{}: {}", program_invocation_short_name, text);
}

void say(std::string_view text) noexcept {
  std::fprintf(stderr, "simgpu: %.*s\n", static_cast<int>(text.size()), text.data());
}

void say_once(std::string_view text) {
  static std::mutex mutex;
  static auto* said = new std::set<std::string>;  // never destroyed: calls may come while the process ends
  {
    std::lock_guard lock(mutex);
    if (!said->emplace(text).second) return;
  }
  say(text);
}

void refuse(std::string_view what) {
  say_once(fmt::format("{} is not supported", what));
  throw CudaError(CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace refrain::simgpu::driver

using refrain::simgpu::driver::find_row;

CUresult cuGetErrorName(CUresult error, const char** name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto* row = find_row(error);
  *name = row == nullptr ? nullptr : row->name;
  return row == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto* row = find_row(error);
  *text = row == nullptr ? nullptr : row->text;
  return row == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
