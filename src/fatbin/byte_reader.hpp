// Bounds-checked reads of little-endian numbers out of untrusted bytes.
// It never reads outside the span it was given; damage becomes fatbin::Error with field and offset.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstring>

#include "fatbin/fatbin.hpp"

namespace refrain::fatbin {

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <std::unsigned_integral T>
  T read(std::uint64_t offset, const char* field) const {
    require(offset, sizeof(T), field);
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  std::span<const std::byte> slice(std::uint64_t offset, std::uint64_t size_bytes, const char* field) const {
    require(offset, size_bytes, field);
    return bytes_.subspan(offset, size_bytes);
  }

  std::uint64_t size_bytes() const noexcept { return bytes_.size(); }

 private:
  void require(std::uint64_t offset, std::uint64_t size_bytes, const char* field) const {
    if (offset > bytes_.size() || size_bytes > bytes_.size() - offset) {
      throw Error(fmt::format("{}: {} bytes at offset {} lie outside the {} bytes there are", field,
                              size_bytes, offset, bytes_.size()));
    }
  }

  std::span<const std::byte> bytes_;
};

}  // namespace refrain::fatbin
