// What has been shown about kernels: whether computing a value again gives the same bytes. Knows nothing of
// values; the engine compares, and tells it what came out.
//
// Evidence counts by cost class (kernel and launch shape); a mismatch condemns the kernel in all its shapes.
// It is direct where an output of the op itself was compared. Where only something was that was made from its
// outputs, a difference may have been lost on the way: that is enough to run it on the way to something else,
// not to let its own outputs go unguarded.
#pragma once

#include <cstdint>
#include <vector>

namespace refrain::engine {

using KernelIndex = std::uint32_t;  // chosen by the port, dense

// Of an op whose repetition is beyond doubt: copies and fills.
inline constexpr KernelIndex kNoKernel = 0xffffffffu;

class Trust {
 public:
  // Matches after which a class is trusted (design.md, section 6), and how many evictions of a trusted class
  // there are to each that is checked all the same.
  static constexpr std::uint32_t kMatches = 3;
  static constexpr std::uint32_t kSampleEvery = 64;

  // Classes that were never described are those of ops without a kernel.
  void describe(std::uint32_t cost_class, KernelIndex kernel);
  KernelIndex kernel_of(std::uint32_t cost_class) const noexcept {
    return cost_class < classes_.size() ? classes_[cost_class].kernel : kNoKernel;
  }
  bool trusted(std::uint32_t cost_class) const noexcept;
  bool trusted_on_the_way(std::uint32_t cost_class) const noexcept;
  bool quarantined(std::uint32_t cost_class) const noexcept;

  void matched(std::uint32_t cost_class, bool directly);
  void quarantine(KernelIndex kernel);
  // Whether this eviction of a trusted class is one of those that are checked.
  bool sampled(std::uint32_t cost_class);

  std::uint32_t quarantined_kernels() const noexcept { return quarantined_kernels_; }

 private:
  struct Class {
    KernelIndex kernel = kNoKernel;
    std::uint32_t matches = 0;
    std::uint32_t indirect_matches = 0;
    std::uint32_t evictions = 0;
  };
  std::vector<Class> classes_;
  std::vector<bool> quarantined_;  // by kernel
  std::uint32_t quarantined_kernels_ = 0;
};

}  // namespace refrain::engine
