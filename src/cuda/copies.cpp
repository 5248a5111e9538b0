// Copies of values to the host and back, and their digests: the part of class CudaDevice that moves bytes off
// the order of the program's streams. Must not let anybody reuse either side before a copy is done.
#include <algorithm>

#include "cuda/device.hpp"

namespace refrain::cuda {

using engine::BufferId;
using engine::Bytes;
using engine::HostId;

std::optional<HostId> CudaDevice::create_host(Bytes bytes) {
  void* const pointer = host_pool_.take(bytes);
  if (!pointer) return std::nullopt;
  HostId host;
  if (free_hosts_.empty()) {
    host.index = static_cast<std::uint32_t>(hosts_.size());
    hosts_.emplace_back();
  } else {
    host.index = free_hosts_.back();
    free_hosts_.pop_back();
  }
  hosts_[host.index] = {.pointer = pointer, .bytes = bytes, .touches = {}};
  return host;
}

void CudaDevice::destroy_host(HostId host) {
  if (std::find(queue_hosts_.begin(), queue_hosts_.end(), host) != queue_hosts_.end()) launch_queue();
  HostState& state = hosts_[host.index];
  for (const Touch& touch : state.touches) note(streams_.wait_on_host(touch.stream, touch.work), "a wait");
  if (state.pointer) host_pool_.give_back(state.pointer, state.bytes);
  state = {};
  free_hosts_.push_back(host.index);
}

// A stream of refrain's own, so that copies run beside the program's kernels.
StreamIndex CudaDevice::copy_stream() {
  if (!copy_stream_) note(driver_.cuStreamCreate(&copy_stream_, CU_STREAM_NON_BLOCKING), "a stream");
  return streams_.index_of(copy_stream_);
}

CUresult CudaDevice::order_after(StreamIndex stream, const std::vector<Touch>& touches) {
  for (const Touch& touch : touches) {
    const CUresult result = streams_.wait_on_stream(stream, touch.stream, touch.work);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CudaDevice::Region CudaDevice::region_of(const BufferState& buffer, Bytes bytes) {
  if (buffer.content_bytes == 0) return {.skip_bytes = 0, .bytes = bytes};
  return {.skip_bytes = buffer.skip_bytes, .bytes = buffer.content_bytes};
}

bool CudaDevice::copy_out(BufferId from, HostId to, Bytes bytes) {
  if (!wait_for_unfollowed()) return false;
  const BufferState& buffer = buffers_[from.index];
  const Region region = region_of(buffer, bytes);
  const StreamIndex stream = copy_stream();
  HostState& host = hosts_[to.index];
  CUresult result = order_after(stream, buffer.touches);
  if (result == CUDA_SUCCESS) result = order_after(stream, host.touches);
  const CUevent begin =
      result == CUDA_SUCCESS ? transfers_.begin(region.bytes, streams_.handle(stream)) : nullptr;
  if (result == CUDA_SUCCESS) {
    result =
        driver_.cuMemcpyDtoHAsync(static_cast<std::byte*>(host.pointer) + region.skip_bytes,
                                  buffer.base + region.skip_bytes, region.bytes, streams_.handle(stream));
  }
  note(result, "a copy to the host");
  if (result != CUDA_SUCCESS) {
    if (begin) transfers_.cancel(begin);
    return false;
  }
  if (begin) transfers_.finish(begin, region.bytes, streams_.handle(stream));
  const std::uint64_t work = streams_.issue(stream, true);
  touch(buffers_[from.index].touches, stream, work, true);
  touch(host.touches, stream, work, true);
  return true;
}

void CudaDevice::copy_in(HostId from, BufferId to, Bytes bytes) {
  const Region region = region_of(buffers_[to.index], bytes);
  queue_.push_back(
      {.op = nullptr,
       .addresses = {address(to) + region.skip_bytes},
       .copy_bytes = region.bytes,
       .host_from = static_cast<const std::byte*>(hosts_[from.index].pointer) + region.skip_bytes});
  queue_buffers_.push_back({to});
  queue_hosts_.push_back(from);
}

void CudaDevice::fill(BufferId buffer, Bytes bytes) {
  const Region region = region_of(buffers_[buffer.index], bytes);
  queue_.push_back({.op = nullptr,
                    .addresses = {address(buffer) + region.skip_bytes},
                    .copy_bytes = region.bytes,
                    .host_from = nullptr});
  queue_buffers_.push_back({buffer});
}

std::optional<engine::Digest> CudaDevice::digest(BufferId id) {
  if (!wait_for_unfollowed()) return std::nullopt;
  const BufferState& buffer = buffers_[id.index];
  const Region region = region_of(buffer, buffer.asked_bytes);
  const StreamIndex stream = copy_stream();
  CUresult result = order_after(stream, buffer.touches);
  if (result == CUDA_SUCCESS) {
    result = digester_.launch(buffer.base + region.skip_bytes, region.bytes, streams_.handle(stream));
  }
  if (result == CUDA_SUCCESS) result = streams_.wait_on_host(stream, streams_.issue(stream, true));
  note(result, "a digest");
  if (result != CUDA_SUCCESS) return std::nullopt;
  return digester_.result();
}

}  // namespace refrain::cuda
