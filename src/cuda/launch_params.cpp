// The parameters of a launch: which buffers they point into, and what happens to those. The reading third of
// class Runtime; must not issue anything.
#include <algorithm>
#include <cstring>

#include "cuda/runtime.hpp"

namespace refrain::cuda {
namespace {

// The packed form: pairs of a tag and a pointer, up to CU_LAUNCH_PARAM_END.
bool unpack(void** extra, std::vector<std::byte>& params) {
  const void* buffer = nullptr;
  std::size_t bytes = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = extra[1];
    } else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      bytes = *static_cast<const std::size_t*>(extra[1]);
    } else {
      return false;
    }
  }
  if (!buffer) return false;
  std::memcpy(params.data(), buffer, std::min(bytes, params.size()));
  return true;
}

// Whether sorted, merged ranges hold all of [begin, end).
bool hold(const std::vector<access::Range>& ranges, std::int64_t begin, std::int64_t end) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const access::Range& range) { return range.begin <= begin && end <= range.end; });
}

}  // namespace

bool Runtime::gather(const Launch& launch, const Kernel& kernel) {
  // Room for one pointer more, which an access near the end of the block may be taken for.
  params_.assign(kernel.param_bytes + sizeof(CUdeviceptr), std::byte{0});
  if (launch.params) {
    for (std::size_t i = 0; i < kernel.params.size(); ++i) {
      if (!launch.params[i]) return false;
      std::memcpy(params_.data() + kernel.params[i].offset_bytes, launch.params[i], kernel.params[i].bytes);
    }
    return true;
  }
  if (launch.extra) return unpack(launch.extra, params_);
  return kernel.params.empty();
}

// Each pointer of the parameters: which buffer, and what happens to it.
Runtime::Pointers Runtime::bind(const Launch& launch, Kernel& kernel) {
  Pointers found = Pointers::kKnown;
  begin_uses();
  pointers_.clear();
  follow(launch, kernel);
  for (const access::PointerAccess& access : kernel.access.pointers) {
    CUdeviceptr address = 0;
    std::memcpy(&address, params_.data() + access.offset_bytes, sizeof address);
    if (address == 0) continue;
    const Pointers one = bind_pointer(kernel, access, address);
    if (one == Pointers::kWild || one == Pointers::kNoMemory) return one;
    if (one == Pointers::kOutside) found = one;
  }
  // An address of ours that no access was found for: the analysis promises that it is not used, but that is
  // no reason to let bytes go wrong if it is.
  for (const std::uint32_t offset : kernel.other_words) {
    CUdeviceptr address = 0;
    std::memcpy(&address, params_.data() + offset, sizeof address);
    const Range* range = address == 0 ? nullptr : addresses_.find(address);
    if (!range) continue;
    if (!find_all_parts(*range)) return Pointers::kNoMemory;
    for (const Part& part : parts_) use(part, true, true, false);
    found = Pointers::kOutside;
  }
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    uses_[i].whole = uses_[i].written && !uses_[i].read && overwrites(use_parts_[i]);
  }
  return found;
}

Runtime::Pointers Runtime::bind_pointer(const Kernel& kernel, const access::PointerAccess& access,
                                        CUdeviceptr address) {
  const Touched touched = touched_by(access);
  if (!touched.read && !touched.written) return Pointers::kKnown;
  const Range* range = addresses_.find(address);
  if (!range) {
    // Just outside of a buffer (its end, or the unused rest of its pages): an offset may lead anywhere.
    if (device_->near_ours(address)) return Pointers::kWild;
    // Other memory that the driver knows (host, managed, a module's variable) is not ours to follow; an
    // address that it does not know may be used with an offset into any buffer.
    CUmemorytype type{};
    const CUresult known = driver_.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    return known == CUDA_SUCCESS ? Pointers::kOutside : Pointers::kWild;
  }
  CUdeviceptr begin = range->base;
  CUdeviceptr end = range->base + range->bytes;
  if (!touched.anywhere()) {
    begin = std::clamp(address + static_cast<CUdeviceptr>(touched.begin), begin, end);
    end = std::clamp(address + static_cast<CUdeviceptr>(touched.end), begin, end);
    divide(*range, begin, end);
    range = addresses_.find(address);
  }
  if (!find_parts(*range, begin, end)) return Pointers::kNoMemory;
  Pointers found = Pointers::kKnown;
  std::optional<PointerSlot> slot;
  for (const Part& part : parts_) {
    const Touched here = range->arena ? touched_in(part, address, access) : touched;
    if (!here.read && !here.written) continue;
    // One pointer, several buffers: they could not be put elsewhere together.
    if (slot) found = Pointers::kOutside;
    const std::size_t before = uses_.size();
    const std::uint32_t index = use(part, here.read, here.written, false);
    // Two ways to one buffer, one of them atomic: what the one sees depends on when the other comes.
    if (uses_.size() == before && (access.atomic || kernel.access.atomic())) found = Pointers::kOutside;
    slot = PointerSlot{access.offset_bytes, index, address - device_->address(part.buffer)};
  }
  if (slot) pointers_.push_back(*slot);
  return found;
}

// Memory behind the pointers that the host has just written, where it can decide what the launch touches.
void Runtime::find_contents(const Kernel& kernel) {
  known_.clear();
  const bool counts = !contents_.empty() && std::any_of(kernel.footprints.begin(), kernel.footprints.end(),
                                                        [](const auto& f) { return f.reads_contents(); });
  if (!counts) return;
  for (const access::PointerAccess& access : kernel.access.pointers) {
    CUdeviceptr address = 0;
    std::memcpy(&address, params_.data() + access.offset_bytes, sizeof address);
    const access::Contents* const contents = contents_.around(address);
    const Range* const range = contents == nullptr ? nullptr : addresses_.find(address);
    if (range == nullptr) continue;
    known_.push_back({access.offset_bytes, contents, range->base, range->base + range->bytes});
  }
}

// What each architecture's code touches with these arguments; nothing is known of other memory than global.
void Runtime::follow(const Launch& launch, Kernel& kernel) {
  footprints_.clear();
  find_contents(kernel);
  const access::LaunchArguments arguments{.grid = {launch.grid[0], launch.grid[1], launch.grid[2]},
                                          .block = {launch.block[0], launch.block[1], launch.block[2]},
                                          .dynamic_shared_bytes = launch.shared_bytes,
                                          .params = params_,
                                          .known = known_};
  for (access::Footprints& footprints : kernel.footprints) footprints_.push_back(&footprints.of(arguments));
}

// What the analysis of the kernel allows, and this launch does.
Runtime::Touched Runtime::touched_by(const access::PointerAccess& access) const {
  Touched out{.read = false,
              .written = false,
              .begin = 0,
              .end = 0,
              .reads_anywhere = false,
              .writes_anywhere = false};
  const bool may_read = access.read || access.atomic, may_write = access.written || access.atomic;
  bool first = true;
  const auto reach = [&](const std::vector<access::Range>& ranges) {
    if (ranges.empty()) return;
    out.begin = first ? ranges.front().begin : std::min(out.begin, ranges.front().begin);
    out.end = first ? ranges.back().end : std::max(out.end, ranges.back().end);
    first = false;
  };
  for (const access::Footprint* footprint : footprints_) {
    for (const access::Footprint::Pointer& pointer : footprint->pointers) {
      if (pointer.offset_bytes != access.offset_bytes) continue;
      out.reads_anywhere = out.reads_anywhere || (may_read && pointer.reads_anywhere);
      out.writes_anywhere = out.writes_anywhere || (may_write && pointer.writes_anywhere);
      out.read = out.read || (may_read && !pointer.reads.empty());
      out.written = out.written || (may_write && !pointer.writes.empty());
      reach(pointer.reads);
      reach(pointer.writes);
    }
  }
  out.read = out.read || out.reads_anywhere;
  out.written = out.written || out.writes_anywhere;
  return out;
}

// What the launch does to one part of an allocation through one pointer.
Runtime::Touched Runtime::touched_in(const Part& part, CUdeviceptr address,
                                     const access::PointerAccess& access) const {
  Touched out = touched_by(access);
  const auto begin = static_cast<std::int64_t>(part.begin - address);
  const auto end = static_cast<std::int64_t>(part.end - address);
  const auto meets = [&](const std::vector<access::Range>& ranges) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const access::Range& range) { return range.begin < end && begin < range.end; });
  };
  bool read = out.reads_anywhere, written = out.writes_anywhere;
  for (const access::Footprint* footprint : footprints_) {
    for (const access::Footprint::Pointer& pointer : footprint->pointers) {
      if (pointer.offset_bytes != access.offset_bytes) continue;
      read = read || meets(pointer.reads);
      written = written || meets(pointer.writes);
    }
  }
  out.read = out.read && read;
  out.written = out.written && written;
  return out;
}

// Whether the launch certainly writes every byte that the program has there, whichever code runs.
bool Runtime::overwrites(const Part& part) {
  if (footprints_.empty()) return false;
  return std::all_of(footprints_.begin(), footprints_.end(), [&](const access::Footprint* footprint) {
    must_write_.clear();
    for (const access::Footprint::Pointer& pointer : footprint->pointers) {
      CUdeviceptr address = 0;
      std::memcpy(&address, params_.data() + pointer.offset_bytes, sizeof address);
      const auto displacement = static_cast<std::int64_t>(address - part.begin);
      for (const access::Range& written : pointer.must_write) {
        must_write_.push_back({written.begin + displacement, written.end + displacement});
      }
    }
    access::merge(must_write_);
    return hold(must_write_, 0, static_cast<std::int64_t>(part.end - part.begin));
  });
}

}  // namespace refrain::cuda
