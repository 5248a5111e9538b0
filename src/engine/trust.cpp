// Counting evidence. Must not forgive: a kernel that is in quarantine stays there.
#include "engine/trust.hpp"

namespace refrain::engine {

void Trust::describe(std::uint32_t cost_class, KernelIndex kernel) {
  if (cost_class >= classes_.size()) classes_.resize(cost_class + 1);
  classes_[cost_class].kernel = kernel;
  if (kernel != kNoKernel && kernel >= quarantined_.size()) quarantined_.resize(kernel + 1);
}

bool Trust::trusted(std::uint32_t cost_class) const noexcept {
  if (kernel_of(cost_class) == kNoKernel) return true;
  return classes_[cost_class].matches >= kMatches && !quarantined(cost_class);
}

bool Trust::trusted_on_the_way(std::uint32_t cost_class) const noexcept {
  if (trusted(cost_class)) return true;
  return classes_[cost_class].indirect_matches >= kMatches && !quarantined(cost_class);
}

bool Trust::quarantined(std::uint32_t cost_class) const noexcept {
  const KernelIndex kernel = kernel_of(cost_class);
  return kernel != kNoKernel && quarantined_[kernel];
}

void Trust::matched(std::uint32_t cost_class, bool directly) {
  if (kernel_of(cost_class) == kNoKernel) return;
  ++(directly ? classes_[cost_class].matches : classes_[cost_class].indirect_matches);
}

void Trust::quarantine(KernelIndex kernel) {
  if (kernel == kNoKernel || quarantined_[kernel]) return;
  quarantined_[kernel] = true;
  ++quarantined_kernels_;
}

bool Trust::sampled(std::uint32_t cost_class) {
  if (kernel_of(cost_class) == kNoKernel) return false;
  return classes_[cost_class].evictions++ % kSampleEvery == 0;
}

}  // namespace refrain::engine
