// Gathering what a call of a library's function reads and writes: the descriptions of single functions tell
// it their operands. Knows no function and decides nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "access/matrix.hpp"
#include "cuda/library_calls.hpp"

namespace refrain::preload {

// alpha, beta and the like where they are on the host: as they were at the call.
struct HostScalar {
  static constexpr std::uint32_t kNone = 0xffffffffu;
  std::uint32_t record_offset_bytes = kNone;  // of the pointer to it in the record
  alignas(16) std::byte value[16] = {};
};
constexpr std::size_t kMostHostScalars = 2;

class LibraryUses {
 public:
  // record: its first byte; the pointers that are told must lie in it. scalars: a part of the record.
  LibraryUses(const void* record, std::array<HostScalar, kMostHostScalars>& scalars, bool scalars_on_device)
      : record_(static_cast<const std::byte*>(record)), scalars_(scalars), on_device_(scalars_on_device) {}

  enum class How { kRead, kWrite, kUpdate, kWorkspace };  // update: read and written

  // A matrix, a vector, or a number of bytes. No extent: the call is not followed.
  template <class T>
  void touch(T* const& pointer, How how, const std::optional<access::Extent>& extent) {
    if (!extent || count_ == uses_.size()) return refuse();
    if (extent->empty()) return;
    uses_[count_++] = {.record_offset_bytes = offset_of(pointer),
                       .address = reinterpret_cast<CUdeviceptr>(pointer),
                       .begin = extent->begin,
                       .end = extent->end,
                       .read = how == How::kRead || how == How::kUpdate,
                       .written = how != How::kRead,
                       .whole = (how == How::kWrite || how == How::kWorkspace) && extent->solid,
                       .undefined = how == How::kWorkspace};
  }
  template <class T>
  void touch_bytes(T* const& pointer, How how, std::int64_t bytes) {
    touch(pointer, how, access::Extent{.begin = 0, .end = bytes, .solid = true});
  }

  // Where scalars and results are is one setting of the handle. Returns whether the scalar is known to be
  // zero; a negative zero is not, and costs no more than a read.
  template <class T>
  bool scalar(T* const& pointer, std::size_t bytes) {
    if (on_device_) {
      touch_bytes(pointer, How::kRead, static_cast<std::int64_t>(bytes));
      return false;
    }
    if (!pointer || bytes == 0 || bytes > sizeof(HostScalar::value) || scalar_count_ == kMostHostScalars) {
      refuse();
      return false;
    }
    HostScalar& scalar = scalars_[scalar_count_++];
    scalar.record_offset_bytes = offset_of(pointer);
    std::memcpy(scalar.value, pointer, bytes);
    return std::all_of(scalar.value, scalar.value + bytes, [](std::byte b) { return b == std::byte{0}; });
  }
  template <class T>
  void result(T* const& pointer, std::size_t bytes) {
    if (on_device_) touch_bytes(pointer, How::kWrite, static_cast<std::int64_t>(bytes));
  }

  // What the call does is not known after all: it is not one op.
  void refuse() { refused_ = true; }
  bool refused() const noexcept { return refused_; }
  std::span<const cuda::LibraryUse> all() const noexcept { return {uses_.data(), count_}; }

 private:
  template <class T>
  std::uint32_t offset_of(T* const& pointer) const {
    return static_cast<std::uint32_t>(reinterpret_cast<const std::byte*>(&pointer) - record_);
  }

  const std::byte* record_;
  std::array<HostScalar, kMostHostScalars>& scalars_;
  bool on_device_;
  bool refused_ = false;
  std::size_t scalar_count_ = 0;
  std::size_t count_ = 0;
  std::array<cuda::LibraryUse, 12> uses_{};  // the most that any function of the table has is 9
};

// Before a call is made again: the pointers to scalars lead into the record.
inline void point_to_scalars(std::byte* record, std::array<HostScalar, kMostHostScalars>& scalars) {
  for (HostScalar& scalar : scalars) {
    if (scalar.record_offset_bytes == HostScalar::kNone) continue;
    const void* const value = scalar.value;
    std::memcpy(record + scalar.record_offset_bytes, &value, sizeof value);
  }
}

}  // namespace refrain::preload
