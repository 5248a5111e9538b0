// Bytes of memory that are known when a launch is made, as the integers that a kernel may load from them.
// Only a store of bytes: whoever keeps one says how long it holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace refrain::access {

// A load whose value counts: of so many bytes (1, 2, 4 or 8).
struct LoadKind {
  std::uint8_t bytes;
  bool is_signed;
  friend bool operator==(const LoadKind&, const LoadKind&) = default;
};

// From low to high, both included.
struct Interval {
  std::int64_t low, high;
  friend bool operator==(const Interval&, const Interval&) = default;
};

class Contents {
 public:
  // address: of the first byte on the device, because loads are aligned there.
  void assign(std::uint64_t address, std::span<const std::byte> bytes);
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  std::uint64_t begin() const noexcept { return address_; }
  std::uint64_t end() const noexcept { return address_ + bytes_.size(); }

  // Between which numbers all lie that such a load can find here; nullopt: it finds none. Unsigned ones of
  // eight bytes count as signed. Computed once for each kind.
  std::optional<Interval> interval(LoadKind kind) const;

 private:
  struct Cached {
    bool computed = false;
    std::optional<Interval> interval;
  };
  std::uint64_t address_ = 0;
  std::vector<std::byte> bytes_;
  mutable std::array<Cached, 8> cached_{};
};

}  // namespace refrain::access
