// Allocations that the program divides among several tensors: which part lies where, and which pages parts
// share. Only addresses: the caller makes and frees the buffers. Not thread safe.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <list>
#include <map>
#include <unordered_map>
#include <vector>

#include "cuda/device.hpp"
#include "cuda/function_ref.hpp"
#include "engine/ids.hpp"

namespace refrain::cuda {

// A tensor as far as it has been seen: bytes [begin, end) of the program's, in a buffer of their own.
struct Part {
  CUdeviceptr begin = 0;
  CUdeviceptr end = 0;
  engine::BufferId buffer;
};

class Arena {
 public:
  Arena(CUdeviceptr base, std::uint64_t bytes, std::uint64_t page_bytes, engine::BufferId range)
      : base_(base), end_(base + bytes), page_bytes_(page_bytes), range_(range) {}

  // The parts that [begin, end) touches, in order. What belongs to no part yet becomes one, or several
  // between those that there are: `make` gives each its buffer, false if it cannot.
  bool cover(CUdeviceptr begin, CUdeviceptr end, FunctionRef<bool(Part&)> make, std::vector<Part>& out);
  // Everything that belongs to no part yet becomes parts.
  bool complete(FunctionRef<bool(Part&)> make);

  // Where a part's pages are: those that it has alone, and the outermost ones that it may share.
  CudaDevice::Placement placement(const Part& part) const;
  // The pages that it may share and that are not there yet.
  std::vector<CUdeviceptr> missing_pages(const Part& part) const;
  void add_shared_page(CUdeviceptr page, engine::BufferId buffer) { shared_[page] = buffer; }

  CUdeviceptr base() const noexcept { return base_; }
  std::uint64_t page_bytes() const noexcept { return page_bytes_; }
  engine::BufferId range() const noexcept { return range_; }  // whose addresses all of this are
  const std::map<CUdeviceptr, Part>& parts() const noexcept { return parts_; }
  const std::map<CUdeviceptr, engine::BufferId>& shared_pages() const noexcept { return shared_; }

 private:
  bool add(CUdeviceptr begin, CUdeviceptr end, FunctionRef<bool(Part&)> make, std::vector<Part>& out);

  CUdeviceptr base_;
  CUdeviceptr end_;
  std::uint64_t page_bytes_;
  engine::BufferId range_;
  std::map<CUdeviceptr, Part> parts_;               // by begin; never overlapping
  std::map<CUdeviceptr, engine::BufferId> shared_;  // pages that always stay
};

// All of them, also those that the program has freed while values in their parts are still needed.
class Arenas {
 public:
  Arena& add(Arena arena) { return live_.emplace_back(std::move(arena)); }
  std::list<Arena>& live() noexcept { return live_; }
  void watch(engine::BufferId buffer, Arena& arena) { owners_[buffer] = &arena; }
  // A part's buffer is needed no longer. false: it is none.
  bool released(engine::BufferId buffer);
  // The program has freed the arena: it goes when its last part has.
  void freed(Arena& arena);
  // One that has gone, with the buffers of its shared pages and its range still to be freed. nullptr: none.
  Arena* finished();
  void forget(Arena& arena);

 private:
  std::list<Arena> live_;
  std::list<Arena> ending_;
  std::unordered_map<engine::BufferId, Arena*> owners_;  // of parts
  std::unordered_map<Arena*, std::size_t> left_;  // parts that are still there, of those that are ending
};

}  // namespace refrain::cuda
