// Driver calls behind the engine's port. Must not wait for more than the engine's contract asks.
#include "cuda/device.hpp"

#include <algorithm>

namespace refrain::cuda {

using engine::BufferId;
using engine::Bytes;
using engine::PagesId;
using engine::Payload;

CudaDevice::CudaDevice(const Driver& driver, Streams& streams, const Place& place)
    : driver_(driver),
      streams_(streams),
      replayer_(driver),
      device_(place.device),
      context_(place.context),
      granularity_bytes_(place.granularity_bytes),
      host_pool_(driver),
      digester_(driver),
      transfers_(driver) {}

void CudaDevice::place(BufferId buffer, const Placement& placement) {
  if (buffer.index >= buffers_.size()) buffers_.resize(buffer.index + 1);
  buffers_[buffer.index] = {.base = placement.base,
                            .bytes = placement.bytes,
                            .own_base = placement.own_base,
                            .own_bytes = placement.own_bytes,
                            .skip_bytes = placement.skip_bytes,
                            .content_bytes = placement.content_bytes,
                            .touches = {}};
}

bool CudaDevice::reserve(BufferId buffer, Bytes bytes) {
  if (buffer.index >= buffers_.size()) buffers_.resize(buffer.index + 1);
  CUdeviceptr base = 0;
  // One unit more than is ever mapped: a pointer just outside a buffer must not look like one into its
  // neighbour.
  const CUresult result = driver_.cuMemAddressReserve(&base, bytes + granularity_bytes_, 0, 0, 0);
  note(result, "address space");
  if (result != CUDA_SUCCESS) return false;
  buffers_[buffer.index] = {
      .base = base, .bytes = bytes, .own_base = base, .own_bytes = bytes, .touches = {}};
  return true;
}

std::optional<PagesId> CudaDevice::create_pages(Bytes bytes) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device_;
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = driver_.cuMemCreate(&handle, bytes, &properties, 0);
  // Said, but no error of the device's: the engine answers for memory.
  if (result == CUDA_ERROR_OUT_OF_MEMORY) tell("device memory", result);
  if (result != CUDA_ERROR_OUT_OF_MEMORY) note(result, "device memory");
  if (result != CUDA_SUCCESS) return std::nullopt;
  std::uint32_t index = 0;
  if (free_pages_.empty()) {
    index = static_cast<std::uint32_t>(pages_.size());
    pages_.push_back(handle);
    pages_bytes_.push_back(bytes);
  } else {
    index = free_pages_.back();
    free_pages_.pop_back();
    pages_[index] = handle;
    pages_bytes_[index] = bytes;
  }
  return PagesId{index};
}

void CudaDevice::destroy_pages(PagesId pages) {
  note(driver_.cuMemRelease(pages_[pages.index]), "the release of memory");
  free_pages_.push_back(pages.index);
}

CUresult CudaDevice::set_access(const BufferState& buffer) {
  std::vector<CUmemAccessDesc> access(1 + peers_.size());
  access[0].location.id = device_;
  std::size_t index = 1;
  for (const CUdevice peer : peers_) access[index++].location.id = peer;
  for (CUmemAccessDesc& each : access) {
    each.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    each.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  return driver_.cuMemSetAccess(buffer.own_base, buffer.own_bytes, access.data(), access.size());
}

void CudaDevice::open_to(CUdevice peer) {
  if (!peers_.insert(peer).second) return;
  // What is not mapped is refused now, and opened when it is.
  for (const BufferState& buffer : buffers_) {
    if (buffer.own_bytes > 0) set_access(buffer);
  }
}

bool CudaDevice::map(BufferId buffer, PagesId pages) {
  const BufferState& b = buffers_[buffer.index];
  CUresult result = driver_.cuMemMap(b.own_base, b.own_bytes, 0, pages_[pages.index], 0);
  note(result, "a mapping");
  if (result != CUDA_SUCCESS) return false;
  result = set_access(b);
  if (result == CUDA_ERROR_NOT_READY) {  // seen under load: the driver wants the device idle first
    driver_.cuCtxSynchronize();
    result = set_access(b);
  }
  note(result, "access to a mapping");
  if (result == CUDA_SUCCESS) return true;
  driver_.cuMemUnmap(b.own_base, b.own_bytes);
  return false;
}

bool CudaDevice::wait_for_unfollowed() {
  if (!unfollowed_work_ && unfollowed_calls_ == 0) return true;
  const CUresult result = driver_.cuCtxSynchronize();
  note(result, "a wait");
  if (is_capture_error(result)) return false;
  unfollowed_work_ = false;
  return true;
}

bool CudaDevice::wait_for_touches(BufferState& buffer) {
  for (const Touch& touch : buffer.touches) {
    const CUresult result = streams_.wait_on_host(touch.stream, touch.work);
    note(result, "a wait");
    if (is_capture_error(result)) return false;
  }
  buffer.touches.clear();
  return true;
}

bool CudaDevice::unmap(BufferId buffer) {
  if (queued(buffer)) launch_queue();
  BufferState& b = buffers_[buffer.index];
  if (!wait_for_unfollowed() || !wait_for_touches(b)) return false;
  CUresult result = driver_.cuMemUnmap(b.own_base, b.own_bytes);
  if (result == CUDA_ERROR_NOT_READY) {
    driver_.cuCtxSynchronize();
    result = driver_.cuMemUnmap(b.own_base, b.own_bytes);
  }
  note(result, "an unmapping");
  return result == CUDA_SUCCESS;
}

bool CudaDevice::near_ours(CUdeviceptr address) const {
  return std::any_of(buffers_.begin(), buffers_.end(), [&](const BufferState& buffer) {
    return buffer.base != 0 && address - buffer.base < buffer.bytes + granularity_bytes_;
  });
}

RecordedOp& CudaDevice::new_record(Payload& payload) {
  if (free_records_.empty()) {
    payload = records_.size();
    records_.emplace_back();
  } else {
    payload = free_records_.back();
    free_records_.pop_back();
  }
  RecordedOp& record = records_[payload];
  record.in_use = true;
  record.params.clear();  // capacity stays: no allocation once a program has warmed up
  record.pointers.clear();
  return record;
}

void CudaDevice::release_payload(Payload payload) {
  records_[payload].in_use = false;
  free_records_.push_back(payload);
}

void CudaDevice::release_placed(BufferId buffer) {
  BufferState& b = buffers_[buffer.index];
  // Who gets the range next knows nothing of what was issued before. A free of the driver's own waits as
  // well. What cannot be waited for is not handed on at all.
  const bool free = wait_for_unfollowed() && wait_for_touches(b);
  if (free && on_release_placed) on_release_placed(buffer, b.base);
  b = {};
}

void CudaDevice::replay(Payload payload, std::span<const BufferId> bindings) {
  BoundOp bound{.op = &records_[payload], .addresses = {}, .copy_bytes = 0, .host_from = nullptr};
  for (const BufferId buffer : bindings) bound.addresses.push_back(address(buffer));
  queue_.push_back(std::move(bound));
  queue_buffers_.emplace_back(bindings.begin(), bindings.end());
}

// Of a buffer that shares pages with its neighbours, its own bytes only.
void CudaDevice::copy(BufferId from, BufferId to, Bytes bytes) {
  const Region region =
      region_of(buffers_[buffers_[from.index].content_bytes != 0 ? from.index : to.index], bytes);
  queue_.push_back({.op = nullptr,
                    .addresses = {address(from) + region.skip_bytes, address(to) + region.skip_bytes},
                    .copy_bytes = region.bytes,
                    .host_from = nullptr});
  queue_buffers_.push_back({from, to});
}

bool CudaDevice::queued(BufferId buffer) const {
  return std::any_of(queue_buffers_.begin(), queue_buffers_.end(), [&](const std::vector<BufferId>& buffers) {
    return std::find(buffers.begin(), buffers.end(), buffer) != buffers.end();
  });
}

bool CudaDevice::flush() {
  if (!queue_.empty()) launch_queue();
  const bool failed = queue_failed_;
  queue_failed_ = false;
  return !failed;
}

CUresult CudaDevice::launch_queue() {
  CUresult result = CUDA_SUCCESS;
  // Replays may be of ops of any stream, and the op that they are for is ordered after none of those but its
  // own.
  for (const std::vector<BufferId>& buffers : queue_buffers_) {
    for (const BufferId buffer : buffers) {
      if (result == CUDA_SUCCESS) result = order_after(stream_, buffers_[buffer.index].touches);
    }
  }
  for (const engine::HostId host : queue_hosts_) {
    if (result == CUDA_SUCCESS) result = order_after(stream_, hosts_[host.index].touches);
  }
  if (result == CUDA_SUCCESS) result = replayer_.launch(queue_, context_, streams_.handle(stream_));
  const std::uint64_t work = streams_.issue(stream_, true);
  for (const std::vector<BufferId>& buffers : queue_buffers_) {
    for (const BufferId buffer : buffers) touch(buffers_[buffer.index].touches, stream_, work, true);
  }
  for (const engine::HostId host : queue_hosts_) touch(hosts_[host.index].touches, stream_, work, true);
  queue_.clear();
  queue_buffers_.clear();
  queue_hosts_.clear();
  if (result != CUDA_SUCCESS) queue_failed_ = true;
  note(result, "a replay");
  return result;
}

void CudaDevice::touch(std::vector<Touch>& touches, StreamIndex stream, std::uint64_t work, bool own) {
  for (Touch& touch : touches) {
    if (touch.stream == stream && touch.own == own) {
      touch.work = work;
      return;
    }
  }
  touches.push_back({stream, work, own});
}

CUresult CudaDevice::order_before(StreamIndex stream, std::span<const engine::BufferUse> uses) {
  for (const engine::BufferUse& use : uses) {
    auto& touches = buffers_[use.buffer.index].touches;
    for (std::size_t i = 0; i < touches.size(); ++i) {
      if (!touches[i].own || touches[i].stream == stream) continue;
      if (streams_.done(touches[i].stream, touches[i].work)) {
        touches[i--] = touches.back();
        touches.pop_back();
        continue;
      }
      const CUresult result = streams_.wait_on_stream(stream, touches[i].stream, touches[i].work);
      if (result != CUDA_SUCCESS) return result;
    }
  }
  return CUDA_SUCCESS;
}

void CudaDevice::issued(StreamIndex stream, std::span<const engine::BufferUse> uses, bool mark) {
  const std::uint64_t work = streams_.issue(stream, mark);
  for (const engine::BufferUse& use : uses) touch(buffers_[use.buffer.index].touches, stream, work, false);
}

bool CudaDevice::recycled(BufferId buffer) {
  if (!wait_for_unfollowed()) return false;
  for (Touch& touch : buffers_[buffer.index].touches) touch.own = true;
  return true;
}

void CudaDevice::wait_for_own_work() {
  for (BufferState& buffer : buffers_) {
    for (const Touch& touch : buffer.touches) {
      if (touch.own) note(streams_.wait_on_host(touch.stream, touch.work), "a wait");
    }
  }
}

void CudaDevice::forget_contexts(bool alive) {
  if (alive) {
    replayer_.clear();
  } else {
    replayer_.forget();
  }
  for (BufferState& buffer : buffers_) buffer.touches.clear();
  // Pinned host memory goes with the context that it was allocated in.
  for (HostState& host : hosts_) host = {.pointer = nullptr, .bytes = host.bytes, .touches = {}};
  host_pool_.forget();
  digester_.forget(alive);
  transfers_.forget_events();
  copy_stream_ = nullptr;
  unfollowed_work_ = false;
  peers_.clear();
}

}  // namespace refrain::cuda
