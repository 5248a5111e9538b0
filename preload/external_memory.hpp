// Device memory that the program got by ways that are not managed: sizes, so that the cap stays right when it
// goes. Counts only; the cap itself is the engine's.
#pragma once

#include <cuda.h>

#include <map>
#include <mutex>
#include <unordered_map>

namespace refrain::preload {

// Thread safety: every function may be called from any thread.
class ExternalMemory {
 public:
  static ExternalMemory& instance() {
    static ExternalMemory* const memory =
        new ExternalMemory;  // never destroyed: hooks are called until the very end
    return *memory;
  }

  // Managed memory and the like: goes with cuMemFree, or with its context.
  void add_allocation(CUdeviceptr address, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    allocations_[address] = bytes;
  }
  // Each returns the bytes that are the driver's again.
  std::size_t remove_allocation(CUdeviceptr address) {
    const std::lock_guard lock(mutex_);
    const auto it = allocations_.find(address);
    if (it == allocations_.end()) return 0;
    const std::size_t bytes = it->second;
    allocations_.erase(it);
    return bytes;
  }
  std::size_t forget_allocations() {
    const std::lock_guard lock(mutex_);
    std::size_t bytes = 0;
    for (const auto& [address, size] : allocations_) bytes += size;
    allocations_.clear();
    return bytes;
  }

  // Physical handles: their memory lives until the handle is released and its last mapping is gone.
  void add_handle(CUmemGenericAllocationHandle handle, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    handles_[handle] = {.bytes = bytes, .references = 1};
  }
  void add_mapping(CUdeviceptr address, CUmemGenericAllocationHandle handle) {
    const std::lock_guard lock(mutex_);
    const auto it = handles_.find(handle);
    if (it == handles_.end()) return;
    ++it->second.references;
    mappings_[address] = handle;
  }
  std::size_t remove_mappings(CUdeviceptr address, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    std::size_t gone = 0;
    for (auto it = mappings_.lower_bound(address); it != mappings_.end() && it->first - address < bytes;) {
      gone += drop(it->second);
      it = mappings_.erase(it);
    }
    return gone;
  }
  std::size_t remove_handle(CUmemGenericAllocationHandle handle) {
    const std::lock_guard lock(mutex_);
    return drop(handle);
  }

 private:
  struct Handle {
    std::size_t bytes = 0;
    int references = 0;
  };
  std::size_t drop(CUmemGenericAllocationHandle handle) {
    const auto it = handles_.find(handle);
    if (it == handles_.end() || --it->second.references > 0) return 0;
    const std::size_t bytes = it->second.bytes;
    handles_.erase(it);
    return bytes;
  }

  std::mutex mutex_;
  std::unordered_map<CUdeviceptr, std::size_t> allocations_;
  std::unordered_map<CUmemGenericAllocationHandle, Handle> handles_;
  std::map<CUdeviceptr, CUmemGenericAllocationHandle> mappings_;
};

}  // namespace refrain::preload
