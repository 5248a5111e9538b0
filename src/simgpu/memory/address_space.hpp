// The memory of the simulated devices: virtual ranges, physical handles, mappings, and the check behind every
// access. It knows nothing of kernels, streams or the CUDA API.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace refrain::simgpu {

using DeviceAddress = std::uint64_t;
using PhysicalHandle = std::uint64_t;  // 0 is no handle

enum class MemoryError { kNone, kOutOfMemory, kInvalidValue };

// A device, counted from 0.
using Ordinal = std::uint8_t;
constexpr Ordinal kMaxDevices = 4;  // a page has two bits for each

enum class Access : std::uint8_t { kNone = 0, kRead = 1, kReadWrite = 3 };

// Who accesses memory: one device, or whoever moves bytes for all of them, as copies do.
class Accessor {
 public:
  static constexpr Accessor device(Ordinal ordinal) noexcept {
    return Accessor(static_cast<std::uint8_t>(1u << 2 * ordinal));
  }
  static constexpr Accessor any() noexcept { return Accessor(0x55); }
  // Of a page's state: one of them is enough. Who may write may read.
  constexpr std::uint8_t bits(Access access) const noexcept {
    return static_cast<std::uint8_t>(access == Access::kReadWrite ? lowest_ << 1 : lowest_);
  }

 private:
  constexpr explicit Accessor(std::uint8_t lowest) noexcept : lowest_(lowest) {}
  std::uint8_t lowest_;
};

// Memory that is opened to other devices together: at first a group for each device, of its number, for what
// is not given another one.
using PeerGroup = std::uint32_t;

// What an allocation is. The host may touch what is managed or its own at the same addresses; what is its own
// takes none of the device's memory. Both count as written: the host may write them at any time, unseen.
enum class Kind : std::uint8_t { kDevice, kManaged, kHost };

struct MemorySettings {
  std::uint64_t physical_bytes;     // what each device has
  std::uint64_t granularity_bytes;  // of handles, mappings and reservations; a power of two, at least 4096
  // Keeps a state for every byte: finds accesses past the end of an allocation, to freed memory whose page is
  // still there, and reads of bytes that nothing has written. Doubles the host memory that is used.
  bool shadow = false;
  Ordinal devices = 1;
};

// The state of a byte in the shadow. Fresh pages have 0, so that a large allocation costs nothing.
constexpr std::uint8_t kOutside = 1;  // of every allocation
constexpr std::uint8_t kWritten = 2;

// All devices, which share one range of addresses. Those handed out lie in a host range that the host can
// access only where managed and host memory is (a host program that dereferences another device pointer
// crashes, as with a real GPU); the bytes lie elsewhere, see `translate`. Thread safety: every function may
// be called from any thread; `translate` takes no lock. A range must not be unmapped while another thread
// uses a pointer from `translate`: callers that execute kernels hold `execution_mutex`, which unmap and free
// take.
class AddressSpace {
 public:
  explicit AddressSpace(const MemorySettings& settings);
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  // cuMemAddressReserve / cuMemAddressFree. bytes must be a multiple of the granularity; alignment 0 =
  // granularity.
  MemoryError reserve(std::uint64_t bytes, std::uint64_t alignment, DeviceAddress hint, DeviceAddress& out);
  MemoryError release_range(DeviceAddress address, std::uint64_t bytes);

  // cuMemCreate / cuMemRelease: memory of device `owner`. A released handle's memory lives until its last
  // mapping goes.
  MemoryError create(Ordinal owner, std::uint64_t bytes, PhysicalHandle& out);
  MemoryError release(PhysicalHandle handle);

  // cuMemMap (whole handles: offset must be 0) / cuMemUnmap (exactly what one map mapped, or several whole
  // mappings) / cuMemSetAccess, for one device. A fresh mapping has Access::kNone for all.
  MemoryError map(DeviceAddress address, std::uint64_t bytes, std::uint64_t offset, PhysicalHandle handle);
  MemoryError unmap(DeviceAddress address, std::uint64_t bytes);
  MemoryError set_access(Ordinal by, DeviceAddress address, std::uint64_t bytes, Access access);

  // cuMemAlloc / cuMemFree: sub-granularity sizes allowed; addresses aligned to 512 bytes. Its group's device
  // has the memory and may use it; others may as the group is opened. What the host sees has whole pages of
  // its own, and every device may use it.
  MemoryError allocate(PeerGroup group, std::uint64_t bytes, DeviceAddress& out, Kind kind = Kind::kDevice);
  MemoryError free(DeviceAddress address);
  PeerGroup make_group(Ordinal owner);
  // Of all that is and will be in the group; its own device's access stays.
  void open_group(PeerGroup group, Ordinal to, Access access);
  // malloc and free of device code, for whoever holds `execution_mutex`. The heap lives until the device
  // goes.
  MemoryError heap_allocate(Ordinal owner, std::uint64_t bytes, DeviceAddress& out) const;
  MemoryError heap_free(Ordinal owner, DeviceAddress address) const;
  void set_heap_limit(Ordinal owner, std::uint64_t bytes);  // 8 MiB at first
  // The allocation, or the reserved-and-mapped range, that contains address.
  struct Range {
    DeviceAddress base;
    std::uint64_t bytes;
    bool on_heap = false;  // of device code
  };
  std::optional<Range> range_of(DeviceAddress address) const;
  // Whose memory is mapped there.
  std::optional<Ordinal> owner_of(DeviceAddress address) const;
  // In words, for messages: what is at an address, what was there, or what lies just before it; and, if
  // device `by` may not read it there, whose it is.
  std::string describe(DeviceAddress address, std::optional<Ordinal> by = std::nullopt) const;
  bool owns(DeviceAddress address) const noexcept;  // lies in the devices' address range at all
  DeviceAddress begin() const noexcept;             // of that range

  // The bytes behind [address, address + bytes), or nullptr if any of it is not mapped with that access or,
  // with a shadow, is not addressable.
  std::byte* translate(DeviceAddress address, std::uint64_t bytes, Access access,
                       Accessor by = Accessor::any()) const noexcept;
  // The same for whole pages only: whoever uses it looks at the shadow of the bytes that it does access.
  std::byte* translate_pages(DeviceAddress address, std::uint64_t bytes, Access access,
                             Accessor by) const noexcept;

  // The states of the bytes from address on, where translate_pages gave a pointer; nullptr without a shadow.
  std::uint8_t* shadow(DeviceAddress address) const noexcept;
  // Without a shadow everything counts as written, and marking does nothing.
  bool written(DeviceAddress address, std::uint64_t bytes) const noexcept;
  void mark_written(DeviceAddress address, std::uint64_t bytes) const noexcept;
  // The copy of bytes that were never written has not been written either.
  void copy_states(DeviceAddress to, DeviceAddress from, std::uint64_t bytes) const noexcept;

  std::uint64_t physical_total_bytes() const noexcept;  // of each device
  std::uint64_t physical_used_bytes(Ordinal device) const noexcept;
  std::uint64_t physical_peak_bytes(Ordinal device) const noexcept;
  std::uint64_t physical_peak_bytes() const noexcept;  // of all together
  std::uint64_t granularity_bytes() const noexcept;

  // Held by whoever runs a kernel or copy; taken by unmap and free.
  std::mutex& execution_mutex() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace refrain::simgpu
