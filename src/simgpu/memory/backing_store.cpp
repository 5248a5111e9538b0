// mmap, memfd and the page-state array. It must not decide which pages exist or who may use them.
#include "simgpu/memory/backing_store.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <system_error>

namespace refrain::simgpu {
namespace {

// Where the device's region goes if nothing else is there, so that addresses repeat from run to run.
constexpr std::uint64_t kDeviceHint = 0x200000000000;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void* reserve_region(void* hint, std::uint64_t bytes, int protection) {
  return mmap(hint, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

void close_off(void* at, std::uint64_t bytes) noexcept {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  // Protecting is enough if the host cannot spare a mapping: the page states already refuse every access.
  if (mmap(at, bytes, PROT_NONE, kFlags, -1, 0) == MAP_FAILED) mprotect(at, bytes, PROT_NONE);
}

}  // namespace

BackingStore::BackingStore(std::uint64_t page_bytes, bool shadowed)
    : page_shift_(static_cast<unsigned>(std::countr_zero(page_bytes))),
      state_count_(kRegionBytes >> page_shift_) {
  file_ = memfd_create("simgpu", MFD_CLOEXEC);
  if (file_ < 0) fail("simgpu: memfd_create");
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a wish, not an object
  device_region_ = reserve_region(reinterpret_cast<void*>(kDeviceHint), kRegionBytes, PROT_NONE);
  void* backing = reserve_region(nullptr, kRegionBytes, PROT_NONE);
  void* states = reserve_region(nullptr, state_count_, PROT_READ | PROT_WRITE);
  if (device_region_ == MAP_FAILED || backing == MAP_FAILED || states == MAP_FAILED)
    fail("simgpu: address space");
  device_ = reinterpret_cast<std::uint64_t>(device_region_);
  backing_ = static_cast<std::byte*>(backing);
  states_ = static_cast<std::uint8_t*>(states);
  if (!shadowed) return;
  shadow_file_ = memfd_create("simgpu-shadow", MFD_CLOEXEC);
  if (shadow_file_ < 0) fail("simgpu: memfd_create");
  void* shadow = reserve_region(nullptr, kRegionBytes, PROT_NONE);
  if (shadow == MAP_FAILED) fail("simgpu: address space");
  shadow_ = static_cast<std::uint8_t*>(shadow);
}

BackingStore::~BackingStore() {
  munmap(device_region_, kRegionBytes);
  munmap(backing_, kRegionBytes);
  munmap(states_, state_count_);
  close(file_);
  if (shadow_ != nullptr) {
    munmap(shadow_, kRegionBytes);
    close(shadow_file_);
  }
}

bool BackingStore::attach(std::uint64_t address, std::uint64_t bytes, std::uint64_t file_offset) noexcept {
  const auto put = [&](void* at, int file) {
    return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                static_cast<off_t>(file_offset)) != MAP_FAILED;
  };
  return put(host(address), file_) && (shadow_ == nullptr || put(shadow(address), shadow_file_));
}

void BackingStore::detach(std::uint64_t address, std::uint64_t bytes) noexcept {
  close_off(host(address), bytes);
  if (shadow_ != nullptr) close_off(shadow(address), bytes);
}

bool BackingStore::show(std::uint64_t address, std::uint64_t bytes) noexcept {
  // An old size of 0 makes a second mapping of shared pages instead of moving them: mremap(2).
  return mremap(host(address), 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at_device(address)) != MAP_FAILED;
}

void BackingStore::hide(std::uint64_t address, std::uint64_t bytes) noexcept {
  close_off(at_device(address), bytes);
}

bool BackingStore::extend_file(std::uint64_t bytes) noexcept {
  if (bytes <= file_bytes_) return true;
  if (ftruncate(file_, static_cast<off_t>(bytes)) != 0) return false;
  if (shadow_ != nullptr && ftruncate(shadow_file_, static_cast<off_t>(bytes)) != 0) return false;
  file_bytes_ = bytes;
  return true;
}

void BackingStore::discard(std::uint64_t file_offset, std::uint64_t bytes) noexcept {
  constexpr int kMode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  fallocate(file_, kMode, static_cast<off_t>(file_offset), static_cast<off_t>(bytes));
  if (shadow_ != nullptr) {
    fallocate(shadow_file_, kMode, static_cast<off_t>(file_offset), static_cast<off_t>(bytes));
  }
}

void BackingStore::change_state(std::uint64_t address, std::uint64_t bytes, std::uint8_t mask,
                                std::uint8_t state) noexcept {
  const std::uint64_t first = (address - device_) >> page_shift_;
  const std::uint64_t count = bytes >> page_shift_;
  for (std::uint64_t i = first; i < first + count; ++i) {
    const std::atomic_ref page(states_[i]);
    const auto kept = static_cast<std::uint8_t>(page.load(std::memory_order_relaxed) & ~mask);
    page.store(static_cast<std::uint8_t>(kept | (state & mask)), std::memory_order_release);
  }
}

bool BackingStore::allows(std::uint64_t address, std::uint64_t bytes, std::uint8_t wanted) const noexcept {
  const std::uint64_t offset = address - device_;
  if (address < device_ || offset >= kRegionBytes || bytes > kRegionBytes - offset) return false;
  const std::uint64_t last = (offset + (bytes == 0 ? 0 : bytes - 1)) >> page_shift_;
  for (std::uint64_t i = offset >> page_shift_; i <= last; ++i) {
    if ((std::atomic_ref(states_[i]).load(std::memory_order_acquire) & wanted) == 0) return false;
  }
  return true;
}

}  // namespace refrain::simgpu
