// Calls that SIMGPU_FAIL makes fail, to see what a program does then. It must not change anything but what
// such a call returns: it does nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "simgpu/driver/api.hpp"

namespace refrain::simgpu::driver {

struct Failure {
  std::string function;   // without the number of its ABI: cuMemcpyDtoD is also cuMemcpyDtoD_v2
  std::uint64_t use = 0;  // from 1
  bool for_good = false;  // and all later ones
  CUresult code = CUDA_SUCCESS;
  bool operator==(const Failure&) const = default;
};

// "cuMemMap:3:2,cuMemCreate:1+:2". nullopt: not of this form, or a function or an error that does not exist.
std::optional<std::vector<Failure>> parse_failures(std::string_view text);

// Counts a use of the function that the call comes from. nullopt: it is to do its work.
std::optional<CUresult> failure_at(const std::source_location& function);

}  // namespace refrain::simgpu::driver
