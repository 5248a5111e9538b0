// Looking launches up, and following those that are new. It must not grow without bound.
#include "access/footprint.hpp"

#include <algorithm>
#include <cstring>

#include "access/walk.hpp"

namespace refrain::access {
namespace {

constexpr std::size_t kMostKnown = 1024;  // launches remembered of one kernel
constexpr std::uint64_t kMostOfKernel = 4 * kMostWork;
// Beyond kMostOfKernel, of one kernel: where arguments never come again, about 20 us a launch.
constexpr std::uint64_t kWorkPerLaunch = 20'000;
// Launches that differ in contents of memory alone and are followed each for itself; then together.
constexpr std::uint32_t kMostExact = 8;
constexpr std::uint32_t kMostThreads = 1024;  // of a block: CUDA C++ Programming Guide, compute capabilities

std::uint64_t address_at(const LaunchArguments& launch, std::uint32_t offset) {
  std::uint64_t address = 0;
  std::memcpy(&address, launch.params.data() + offset, sizeof address);
  return address;
}

// Whether the launch may write what it was believed to find, through whichever of its pointers.
bool overwrites_known(const Footprint& footprint, const LaunchArguments& launch) {
  for (const Footprint::Pointer& pointer : footprint.pointers) {
    if (!pointer.writes_anywhere && pointer.writes.empty()) continue;
    const std::uint64_t address = address_at(launch, pointer.offset_bytes);
    for (const KnownMemory& known : launch.known) {
      if (pointer.writes_anywhere) {
        if (address >= known.allocation_begin && address <= known.allocation_end) return true;
        continue;
      }
      const auto begin = static_cast<std::int64_t>(known.contents->begin() - address);
      const auto end = static_cast<std::int64_t>(known.contents->end() - address);
      for (const Range& range : pointer.writes) {
        if (range.begin < end && begin < range.end) return true;
      }
    }
  }
  return false;
}

}  // namespace

Footprints::Footprints(std::optional<Slice> slice, std::vector<std::uint32_t> pointers)
    : slice_(std::move(slice)) {
  unknown_.complete = false;
  unknown_.reason = slice_ ? "its arguments change too often" : "its control flow cannot be followed";
  for (const std::uint32_t offset : pointers) {
    Footprint::Pointer pointer;
    pointer.offset_bytes = offset;
    pointer.reads_anywhere = pointer.writes_anywhere = true;
    unknown_.pointers.push_back(std::move(pointer));
  }
}

// The shape, then the parameter bytes that matter; of addresses only whether they are null.
void Footprints::make_key(const LaunchArguments& launch) {
  key_.clear();
  const auto put = [&](const void* from, std::size_t bytes) {
    key_.append(static_cast<const char*>(from), bytes);
  };
  put(launch.grid.data(), sizeof launch.grid);
  put(launch.block.data(), sizeof launch.block);
  put(&launch.dynamic_shared_bytes, sizeof launch.dynamic_shared_bytes);
  const std::size_t params = key_.size();
  put(launch.params.data(), slice_->param_bytes);
  for (std::uint32_t i = 0; i < slice_->param_bytes; ++i) {
    if (!slice_->param_byte_matters[i]) key_[params + i] = 0;
  }
  for (const std::uint32_t offset : slice_->pointers) {
    std::uint64_t address = 0;
    if (params + offset + sizeof address > key_.size()) continue;
    std::memcpy(&address, launch.params.data() + offset, sizeof address);
    address = address != 0 ? 1 : 0;
    std::memcpy(key_.data() + params + offset, &address, sizeof address);
  }
}

// Of each run of known memory where it lies, then between which numbers its contents are.
void Footprints::find_runs(const LaunchArguments& launch) {
  runs_.clear();
  for (const KnownMemory& known : launch.known) {
    const auto at = std::find(slice_->pointers.begin(), slice_->pointers.end(), known.pointer_offset_bytes);
    if (at == slice_->pointers.end()) continue;
    KnownRun run;
    run.pointer = static_cast<std::uint32_t>(at - slice_->pointers.begin());
    const std::uint64_t address = address_at(launch, known.pointer_offset_bytes);
    run.begin = static_cast<std::int64_t>(known.contents->begin() - address);
    run.end = static_cast<std::int64_t>(known.contents->end() - address);
    for (const LoadKind kind : slice_->loads) run.intervals.push_back(known.contents->interval(kind));
    put(run.pointer);
    put(run.begin);
    put(run.end);
    runs_.push_back(std::move(run));
  }
}

void Footprints::put_intervals() {
  for (const KnownRun& run : runs_) {
    for (const std::optional<Interval>& interval : run.intervals) put(interval.value_or(Interval{1, 0}));
  }
}

// Lets the runs' contents be all that they have been in launches that were alike otherwise.
void Footprints::widen(std::vector<KnownRun>& all) {
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    for (std::size_t k = 0; k < slice_->loads.size(); ++k) {
      std::optional<Interval>& total = all[r].intervals[k];
      const std::optional<Interval>& here = runs_[r].intervals[k];
      if (total && here) {
        total = Interval{std::min(total->low, here->low), std::max(total->high, here->high)};
      } else if (here) {
        total = here;
      }
    }
  }
  runs_ = all;
}

const Footprint& Footprints::of(const LaunchArguments& launch) {
  const Footprint& footprint = followed(launch);
  if (!footprint.uses_contents || !overwrites_known(footprint, launch)) return footprint;
  LaunchArguments without = launch;
  without.known = {};
  return followed(without);
}

const Footprint& Footprints::followed(const LaunchArguments& launch) {
  const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  const bool odd = threads == 0 || threads > kMostThreads || launch.grid[0] == 0 || launch.grid[1] == 0 ||
                   launch.grid[2] == 0;
  if (!slice_ || odd || launch.params.size() < slice_->param_bytes) return unknown_;
  ++launches_;
  if (known_.size() >= kMostKnown || seen_.size() >= kMostKnown) {
    known_.clear();
    seen_.clear();
    last_ = nullptr;
  }
  make_key(launch);
  runs_.clear();
  if (!launch.known.empty() && reads_contents()) {
    find_runs(launch);
    const std::string place = key_;
    put_intervals();
    if (const Footprint* found = look_up()) return *found;
    Seen& seen = seen_.try_emplace(place, Seen{0, runs_}).first->second;
    if (++seen.launches > kMostExact) {
      widen(seen.runs);
      key_ = place;
      put_intervals();
    }
  }
  if (const Footprint* found = look_up()) return *found;
  if (work_ >= kMostOfKernel + launches_ * kWorkPerLaunch) return unknown_;
  Walk walk(*slice_, launch, runs_, kMostWork);
  auto footprint = std::make_unique<Footprint>(walk.run());
  work_ += walk.work();
  ++computed_;
  return remember(*known_.emplace(key_, std::move(footprint)).first->second);
}

const Footprint* Footprints::look_up() {
  if (last_ != nullptr && key_ == last_key_) return last_;
  const auto found = known_.find(key_);
  return found == known_.end() ? nullptr : &remember(*found->second);
}

const Footprint& Footprints::remember(const Footprint& footprint) {
  last_key_ = key_;
  last_ = &footprint;
  return footprint;
}

}  // namespace refrain::access
