// Looking launches up, and following those that are new. It must not grow without bound.
#include "access/footprint.hpp"

#include <algorithm>
#include <cstring>

#include "access/walk.hpp"

namespace refrain::access {
namespace {

constexpr std::size_t kMostKnown = 1024;  // launches remembered of one kernel
// Beyond the first kMostWork, of one kernel: where arguments never come again, about 20 us a launch.
constexpr std::uint64_t kWorkPerLaunch = 20'000;
constexpr std::uint32_t kMostThreads = 1024;  // of a block: CUDA C++ Programming Guide, compute capabilities

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

const Footprint& Footprints::of(const LaunchArguments& launch) {
  const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  const bool odd = threads == 0 || threads > kMostThreads || launch.grid[0] == 0 || launch.grid[1] == 0 ||
                   launch.grid[2] == 0;
  if (!slice_ || odd || launch.params.size() < slice_->param_bytes) return unknown_;
  ++launches_;
  make_key(launch);
  if (last_ != nullptr && key_ == last_key_) return *last_;
  if (const auto found = known_.find(key_); found != known_.end()) return remember(*found->second);
  if (work_ >= kMostWork + launches_ * kWorkPerLaunch) return unknown_;
  if (known_.size() >= kMostKnown) {
    known_.clear();
    last_ = nullptr;
  }
  Walk walk(*slice_, launch, kMostWork);
  auto footprint = std::make_unique<Footprint>(walk.run());
  work_ += walk.work();
  ++computed_;
  return remember(*known_.emplace(key_, std::move(footprint)).first->second);
}

const Footprint& Footprints::remember(const Footprint& footprint) {
  last_key_ = key_;
  last_ = &footprint;
  return footprint;
}

}  // namespace refrain::access
