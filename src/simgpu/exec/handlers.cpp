// Chooses the lane loops for this host, once. Nothing else.
#include "simgpu/exec/handlers.hpp"

#include <cstdlib>

namespace refrain::simgpu {

const HandlerTable& handlers() {
  // For tests of the other variant: results must not differ.
  static const bool wants_baseline = std::getenv("SIMGPU_BASELINE") != nullptr;
  static const bool has_avx2 =
      !wants_baseline && __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  return has_avx2 ? avx2::table() : baseline::table();
}

}  // namespace refrain::simgpu
