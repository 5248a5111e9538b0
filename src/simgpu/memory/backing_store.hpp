// The host side of device memory: one memfd for the physical bytes, two parallel address regions (the
// device's, accessible only where pages are shown, and the backing one where pages appear), the state of
// every page and, if wanted, a shadow: one byte of state for each byte, which moves with the physical bytes.
// No policy, no accounting.
#pragma once

#include <cstddef>
#include <cstdint>

namespace refrain::simgpu {

class BackingStore {
 public:
  // Fits three times beside a sanitizer's shadow memory and is more than any device has.
  static constexpr std::uint64_t kRegionBytes = 256ull << 30;

  BackingStore(std::uint64_t page_bytes, bool shadowed);  // throws std::system_error
  ~BackingStore();
  BackingStore(const BackingStore&) = delete;
  BackingStore& operator=(const BackingStore&) = delete;

  std::uint64_t begin() const noexcept { return device_; }
  std::uint64_t end() const noexcept { return device_ + kRegionBytes; }

  // False: the host refused. Addresses and sizes are whole pages inside the region.
  bool attach(std::uint64_t address, std::uint64_t bytes, std::uint64_t file_offset) noexcept;
  void detach(std::uint64_t address, std::uint64_t bytes) noexcept;
  // Opens attached pages to the host at the device's own addresses, or closes them again. False: the host
  // refused.
  bool show(std::uint64_t address, std::uint64_t bytes) noexcept;
  void hide(std::uint64_t address, std::uint64_t bytes) noexcept;
  bool extend_file(std::uint64_t bytes) noexcept;
  // Contents and shadow become zeros, pages go back.
  void discard(std::uint64_t file_offset, std::uint64_t bytes) noexcept;

  void set_state(std::uint64_t address, std::uint64_t bytes, std::uint8_t state) noexcept {
    change_state(address, bytes, 0xff, state);
  }
  // Only those bits of the states; one thread at a time.
  void change_state(std::uint64_t address, std::uint64_t bytes, std::uint8_t mask,
                    std::uint8_t state) noexcept;
  // All pages of [address, address + bytes) have one of the wanted bits.
  bool allows(std::uint64_t address, std::uint64_t bytes, std::uint8_t wanted) const noexcept;
  std::byte* host(std::uint64_t address) const noexcept { return backing_ + (address - device_); }
  // The state of the byte at address; nullptr if there is no shadow. To be used where pages are attached.
  std::uint8_t* shadow(std::uint64_t address) const noexcept {
    return shadow_ == nullptr ? nullptr : shadow_ + (address - device_);
  }

 private:
  void* at_device(std::uint64_t address) const noexcept {
    return static_cast<std::byte*>(device_region_) + (address - device_);
  }

  int file_ = -1;
  int shadow_file_ = -1;
  std::uint64_t file_bytes_ = 0;
  unsigned page_shift_;
  void* device_region_ = nullptr;
  std::uint64_t device_ = 0;  // where it begins
  std::byte* backing_ = nullptr;
  std::uint8_t* shadow_ = nullptr;
  std::uint8_t* states_ = nullptr;
  std::uint64_t state_count_ = 0;
};

}  // namespace refrain::simgpu
