// Which bytes a launch reads, writes, and certainly writes: the slice of its kernel is carried out for every
// thread. What is loaded from memory is unknown, but where the caller knows what is there. Blocks that behave
// alike are taken together.
//
// What is promised: every byte that the launch reads or writes through a pointer of its parameters is in that
// pointer's `reads` or `writes`, or `anywhere` is set; every byte of `must_write` is written by every launch
// with these arguments, whatever is in memory that is not known. Relative to the pointers' values, so that
// one answer serves many addresses. A kernel that is not bounded (access.hpp) may do more than that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "access/byte_set.hpp"
#include "access/slice.hpp"

namespace refrain::access {

// Memory behind a pointer of the parameters whose contents are known until the launch itself changes them.
struct KnownMemory {
  std::uint32_t pointer_offset_bytes;  // in the parameter block
  const Contents* contents;
  std::uint64_t allocation_begin, allocation_end;  // that it is a part of
};

// What memory holds behind a pointer, relative to it, as far as it counts: for each kind of load of the
// slice, between which numbers all lie; nullopt: there is none of that size.
struct KnownRun {
  std::uint32_t pointer;  // of the slice, by index
  std::int64_t begin, end;
  std::vector<std::optional<Interval>> intervals;
};

struct LaunchArguments {
  std::array<std::uint32_t, 3> grid;
  std::array<std::uint32_t, 3> block;
  std::uint32_t dynamic_shared_bytes = 0;
  std::span<const std::byte> params;        // the parameter block; at least as long as the kernel's
  std::span<const KnownMemory> known = {};  // at most one for each pointer
};

struct Footprint {
  struct Pointer {
    std::uint32_t offset_bytes = 0;  // in the parameter block
    std::vector<Range> reads, writes, must_write;
    bool reads_anywhere = false;  // in the whole allocation that it points into
    bool writes_anywhere = false;
  };
  std::vector<Pointer> pointers;  // one for each address among the parameters, by offset
  bool complete = true;           // false: it was given up, and everything is `anywhere`
  bool uses_contents = false;     // it holds for the contents that were known
  std::string reason;             // why
};

// Work that one launch may cost, in steps of single threads: about a nanosecond each.
constexpr std::uint64_t kMostWork = 100'000'000;

// Thread safety: none; one of them for each kernel, under the caller's lock.
class Footprints {
 public:
  // pointers: byte offsets of the parameter words that are addresses. slice may be nothing: then all is
  // anywhere.
  Footprints(std::optional<Slice> slice, std::vector<std::uint32_t> pointers);
  // The same answer for all launches: what is stated of a kernel that cannot be followed.
  explicit Footprints(Footprint stated) : unknown_(std::move(stated)) {}

  // Valid until the next call. The same arguments, but for addresses and what does not matter, are looked up.
  const Footprint& of(const LaunchArguments& launch);
  // Whether contents of memory can make a difference.
  bool reads_contents() const noexcept { return slice_ && !slice_->loads.empty(); }
  std::uint64_t computed() const noexcept { return computed_; }

 private:
  const Footprint& followed(const LaunchArguments& launch);
  void make_key(const LaunchArguments& launch);
  void find_runs(const LaunchArguments& launch);
  void put_intervals();
  void widen(std::vector<KnownRun>& all);
  const Footprint* look_up();
  template <class T>
  void put(const T& value) {
    key_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  const Footprint& remember(const Footprint& footprint);

  std::optional<Slice> slice_;
  Footprint unknown_;
  std::unordered_map<std::string, std::unique_ptr<Footprint>> known_;
  // Launches that were alike but for the contents of memory, and all that those have been since there were
  // too many to be followed one by one: contents that differ every time, like indices of tokens, soon lie
  // between the same two numbers.
  struct Seen {
    std::uint32_t launches;
    std::vector<KnownRun> runs;
  };
  std::unordered_map<std::string, Seen> seen_;
  std::vector<KnownRun> runs_;  // of the launch being looked up
  std::string key_;
  std::string last_key_;  // and its answer: most launches are like the one before
  const Footprint* last_ = nullptr;
  std::uint64_t computed_ = 0;
  std::uint64_t work_ = 0;
  std::uint64_t launches_ = 0;
};

}  // namespace refrain::access
