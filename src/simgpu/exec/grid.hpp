// One launch: what its blocks share, and who runs them. Which lanes run when is decided in warp.cpp.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>

#include "simgpu/exec/module.hpp"
#include "simgpu/exec/program.hpp"

namespace refrain::simgpu {

// Ends a launch. Thrown and caught inside this folder only.
struct FaultSignal {
  Fault fault;
};

// What the checks find in one kernel. Thread safe.
class Mistakes {
 public:
  explicit Mistakes(const ExecutionSettings& settings) : settings_(settings) {}

  const ExecutionSettings& settings() const noexcept { return settings_; }
  // Throws FaultSignal, or tells and returns if that is wanted. what is called only if it is needed.
  template <class What>
  void add(FaultKind kind, std::uint32_t line, What what) {
    if (settings_.report == nullptr) throw FaultSignal{{kind, what()}};
    std::size_t places = 0;
    {
      const std::lock_guard lock(mutex_);
      if (!seen_[kind].insert(line).second) return;
      places = seen_[kind].size();
    }
    if (places <= kTold) settings_.report(what());
    if (places == kTold) settings_.report("more such places in this kernel are not told");
  }

 private:
  static constexpr std::size_t kTold = 8;  // of each kind

  ExecutionSettings settings_;
  std::mutex mutex_;
  std::map<FaultKind, std::set<std::uint32_t>> seen_;  // PTX lines
};

struct Launch {
  const Program* program;
  const AddressSpace* memory;
  Mistakes* mistakes;
  const LaunchShape* shape;
  std::span<const std::byte> params;
  std::uint64_t clock_ns;
  AccessRecord* accesses;  // nullptr: not wanted
};

// Runs all blocks and adds to counts and accesses. Throws FaultSignal: of the first block, in their order,
// that has a fault.
//
// Blocks run in their order, as many at once as there are workers; or one after the other if what the program
// does could depend on that order. A block that has run very long may be waiting for others: from then on
// those that fit on a device take turns, each for a fixed number of operations.
void run_grid(const Launch& launch, ExecutionCounts& counts);

}  // namespace refrain::simgpu
