// The bytes of device memory that one launch touched, exactly: what predictions of accesses are tested
// against. It must not know who asks, or why.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "simgpu/memory/address_space.hpp"

namespace refrain::simgpu {

// What an instruction does to the bytes it accesses. An update is an atomic operation; those on floats give
// other bits in another order.
enum class Use : std::uint8_t { kRead, kWrite, kUpdate, kFloatUpdate };

struct ByteRange {
  DeviceAddress begin, end;  // [begin, end)
  bool operator==(const ByteRange&) const = default;
};

// A set of bytes, a bit for each: adding takes the same time wherever they lie. For one thread at a time.
class ByteSet {
 public:
  ByteSet() = default;
  ByteSet(const ByteSet&) = delete;  // recent_ points into pages_
  ByteSet& operator=(const ByteSet&) = delete;

  void add(DeviceAddress begin, std::uint64_t bytes);
  void add(const ByteSet& other);
  void remove(const ByteSet& other);
  bool empty() const noexcept { return pages_.empty(); }  // nothing was ever added
  // Sorted; between two of them there is a gap.
  std::vector<ByteRange> ranges() const;

 private:
  static constexpr std::uint64_t kPageBytes = 4096;
  static constexpr std::uint64_t kWordBits = 64;
  using Page = std::array<std::uint64_t, kPageBytes / kWordBits>;
  struct Recent {
    std::uint64_t number = ~std::uint64_t{0};
    Page* page = nullptr;
  };

  Page& page(std::uint64_t number);

  std::unordered_map<std::uint64_t, Page> pages_;  // by address / kPageBytes
  std::array<Recent, 16> recent_;  // by page number, for the few arrays a kernel walks through
};

// Of one launch. Shared and local memory and parameters are left out, as is what printf and assertions read.
// Bytes that the launch itself had written before it read them are among the reads.
struct AccessRecord {
  ByteSet reads, writes;  // with those of updates, which are in both
  ByteSet updates;        // by atomics on integers
  ByteSet float_updates;  // by atomics on floats
  ByteSet heap;           // what malloc gave and free took
  bool printed = false;

  void add(Use use, DeviceAddress begin, std::uint64_t bytes);
  void add(const AccessRecord& other);
};

}  // namespace refrain::simgpu
