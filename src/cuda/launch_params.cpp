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
  uses_.clear();
  pointers_.clear();
  follow(launch, kernel);
  for (const access::PointerAccess& access : kernel.access.pointers) {
    CUdeviceptr address = 0;
    std::memcpy(&address, params_.data() + access.offset_bytes, sizeof address);
    const Touched touched = touched_by(access);
    if (address == 0 || (!touched.read && !touched.written)) continue;
    const Range* range = addresses_.find(address);
    if (!range) {
      // Just outside of a buffer (its end, or the unused rest of its pages): an offset may lead anywhere.
      if (device_->near_ours(address)) return Pointers::kWild;
      // Other memory that the driver knows (host, managed, a module's variable) is not ours to follow; an
      // address that it does not know may be used with an offset into any buffer.
      CUmemorytype type{};
      if (driver_.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS) {
        return Pointers::kWild;
      }
      found = Pointers::kOutside;
      continue;
    }
    const std::size_t before = uses_.size();
    const std::uint32_t index = use(range->buffer, touched.read, touched.written, false);
    // Two ways to one buffer, one of them atomic: what the one sees depends on when the other comes.
    if (uses_.size() == before && (access.atomic || kernel.access.atomic())) found = Pointers::kOutside;
    pointers_.push_back({access.offset_bytes, index, address - range->base});
  }
  // An address of ours that no access was found for: the analysis promises that it is not used, but that is
  // no reason to let bytes go wrong if it is.
  for (const std::uint32_t offset : kernel.other_words) {
    CUdeviceptr address = 0;
    std::memcpy(&address, params_.data() + offset, sizeof address);
    const Range* range = address == 0 ? nullptr : addresses_.find(address);
    if (!range) continue;
    use(range->buffer, true, true, false);
    found = Pointers::kOutside;
  }
  for (engine::BufferUse& use : uses_) use.whole = use.written && !use.read && overwrites(use.buffer);
  return found;
}

// What each architecture's code touches with these arguments; nothing is known of other memory than global.
void Runtime::follow(const Launch& launch, Kernel& kernel) {
  footprints_.clear();
  const access::LaunchArguments arguments{.grid = {launch.grid[0], launch.grid[1], launch.grid[2]},
                                          .block = {launch.block[0], launch.block[1], launch.block[2]},
                                          .dynamic_shared_bytes = launch.shared_bytes,
                                          .params = params_};
  for (access::Footprints& footprints : kernel.footprints) footprints_.push_back(&footprints.of(arguments));
}

// What the analysis of the kernel allows, and this launch does.
Runtime::Touched Runtime::touched_by(const access::PointerAccess& access) const {
  Touched out{.read = footprints_.empty(), .written = footprints_.empty()};
  for (const access::Footprint* footprint : footprints_) {
    for (const access::Footprint::Pointer& pointer : footprint->pointers) {
      if (pointer.offset_bytes != access.offset_bytes) continue;
      out.read = out.read || pointer.reads_anywhere || !pointer.reads.empty();
      out.written = out.written || pointer.writes_anywhere || !pointer.writes.empty();
    }
  }
  out.read = out.read && (access.read || access.atomic);
  out.written = out.written && (access.written || access.atomic);
  return out;
}

// Whether the launch certainly writes every byte that the program has in the buffer, whichever code runs.
bool Runtime::overwrites(engine::BufferId buffer) {
  if (footprints_.empty()) return false;
  return std::all_of(footprints_.begin(), footprints_.end(), [&](const access::Footprint* footprint) {
    must_write_.clear();
    const Range* range = nullptr;
    for (const access::Footprint::Pointer& pointer : footprint->pointers) {
      CUdeviceptr address = 0;
      std::memcpy(&address, params_.data() + pointer.offset_bytes, sizeof address);
      const Range* into = address == 0 ? nullptr : addresses_.find(address);
      if (into == nullptr || into->buffer != buffer) continue;
      range = into;
      const auto displacement = static_cast<std::int64_t>(address - into->base);
      for (const access::Range& written : pointer.must_write) {
        must_write_.push_back({written.begin + displacement, written.end + displacement});
      }
    }
    access::merge(must_write_);
    return range != nullptr && hold(must_write_, 0, static_cast<std::int64_t>(range->bytes));
  });
}

}  // namespace refrain::cuda
