// The least and the greatest of many integers. It must not look at bytes that an aligned load cannot have.
#include "access/contents.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace refrain::access {
namespace {

template <class T>
std::optional<Interval> interval_of(std::uint64_t address, std::span<const std::byte> bytes) {
  const std::size_t first = (sizeof(T) - address % sizeof(T)) % sizeof(T);
  if (bytes.size() < first + sizeof(T)) return std::nullopt;
  T least{}, most{};
  std::memcpy(&least, bytes.data() + first, sizeof least);
  most = least;
  for (std::size_t at = first; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value{};
    std::memcpy(&value, bytes.data() + at, sizeof value);
    least = std::min(least, value);
    most = std::max(most, value);
  }
  return Interval{static_cast<std::int64_t>(least), static_cast<std::int64_t>(most)};
}

}  // namespace

void Contents::assign(std::uint64_t address, std::span<const std::byte> bytes) {
  address_ = address;
  bytes_.assign(bytes.begin(), bytes.end());
  cached_.fill({});
}

std::optional<Interval> Contents::interval(LoadKind kind) const {
  const auto place = static_cast<std::size_t>(std::countr_zero(kind.bytes)) * 2 + (kind.is_signed ? 1 : 0);
  Cached& cached = cached_.at(place);
  if (cached.computed) return cached.interval;
  cached.computed = true;
  switch (kind.bytes) {
    case 1:
      cached.interval = kind.is_signed ? interval_of<std::int8_t>(address_, bytes_)
                                       : interval_of<std::uint8_t>(address_, bytes_);
      break;
    case 2:
      cached.interval = kind.is_signed ? interval_of<std::int16_t>(address_, bytes_)
                                       : interval_of<std::uint16_t>(address_, bytes_);
      break;
    case 4:
      cached.interval = kind.is_signed ? interval_of<std::int32_t>(address_, bytes_)
                                       : interval_of<std::uint32_t>(address_, bytes_);
      break;
    default: cached.interval = interval_of<std::int64_t>(address_, bytes_);
  }
  return cached.interval;
}

}  // namespace refrain::access
