// cuMemcpy*: linear memory between host and device. It must not touch the bytes (execute.cpp), but for the
// snapshot of a pageable source, which an asynchronous copy takes at the call.
#include "simgpu/driver/copy.hpp"

#include <cstring>

#include "simgpu/driver/graph_memory.hpp"
#include "simgpu/driver/submit.hpp"

namespace refrain::simgpu::driver {
namespace {

enum class Wait { kSynchronous, kAsynchronous };

std::uint64_t span_bytes(const Copy& copy, const Place& place) {
  return (copy.depth - 1) * place.slice_bytes + (copy.height - 1) * place.pitch_bytes + copy.width_bytes;
}

void check_reachable(const Device& device, const Copy& copy, const Place& place, Access access) {
  require(place.address != 0);
  if (!place.on_device && !device.memory.owns(place.address)) return;
  require(reachable(device, place.address, span_bytes(copy, place), access));
}

bool pageable(const Device& device, const Copy& copy, const Place& place) {
  return !place.on_device && find_host_range(device, reinterpret_cast<const void*>(place.address),
                                             span_bytes(copy, place)) == nullptr;
}

void take_snapshot(Copy& copy) {
  auto bytes = std::make_shared<std::vector<std::byte>>(copy.width_bytes * copy.height * copy.depth);
  std::byte* out = bytes->data();
  for (std::uint64_t slice = 0; slice < copy.depth; ++slice) {
    for (std::uint64_t row = 0; row < copy.height; ++row, out += copy.width_bytes) {
      const std::uint64_t from =
          copy.source.address + slice * copy.source.slice_bytes + row * copy.source.pitch_bytes;
      std::memcpy(out, reinterpret_cast<const void*>(from), copy.width_bytes);
    }
  }
  copy.source.pitch_bytes = copy.width_bytes;
  copy.source.slice_bytes = copy.width_bytes * copy.height;
  copy.snapshot = std::move(bytes);
}

ItemRef submit_copy(Session& session, CUstream handle, Copy copy, Wait wait) {
  const StreamRef stream = session.stream(handle);
  if (wait == Wait::kSynchronous) {
    session.forbid_while_capturing();
    session.forbid_wait_on(*stream);
  }
  if (copy.width_bytes == 0 || copy.height == 0 || copy.depth == 0) return nullptr;
  if (stream->capture != nullptr) return submit(session, stream, std::move(copy));
  check_reachable(session.device, copy, copy.destination, Access::kReadWrite);
  check_reachable(session.device, copy, copy.source, Access::kRead);
  const bool inside = copy.destination.on_device && copy.source.on_device;
  bool must_wait = wait == Wait::kSynchronous && !inside;  // a device to device copy never waits
  if (wait == Wait::kAsynchronous && !inside) {
    must_wait = pageable(session.device, copy, copy.destination);
    if (!must_wait && pageable(session.device, copy, copy.source)) take_snapshot(copy);
  }
  ItemRef item = submit(session, stream, std::move(copy));
  if (must_wait) session.wait(item);
  return item;
}

// Which pointers the function's name promises to be the device's. Pinned host memory has device addresses
// too.
enum class Promise { kNothing, kToDevice, kFromDevice, kBothDevice };

void check_promise(const Device& device, const Copy& copy, Promise promise) {
  const auto fits = [&](const Place& place) { return place.on_device || !pageable(device, copy, place); };
  if (promise == Promise::kToDevice || promise == Promise::kBothDevice) require(fits(copy.destination));
  if (promise == Promise::kFromDevice || promise == Promise::kBothDevice) require(fits(copy.source));
}

CUresult copy_linear(std::uint64_t to, std::uint64_t from, std::size_t bytes, CUstream handle, Wait wait,
                     Promise promise, const Where& where = Where::current()) {
  return api(
      Need::kContext,
      [&](Session& session) {
        if (bytes == 0) return;
        const Copy copy = linear_copy(session.device, to, from, bytes);
        check_promise(session.device, copy, promise);
        submit_copy(session, handle, copy, wait);
      },
      where);
}

CUresult copy_described(const CUDA_MEMCPY3D& description, CUstream handle, Wait wait,
                        const Where& where = Where::current()) {
  return api(
      Need::kContext,
      [&](Session& session) { submit_copy(session, handle, copy_of(session.device, description), wait); },
      where);
}

CUDA_MEMCPY3D as_3d(const CUDA_MEMCPY2D& flat) {
  CUDA_MEMCPY3D out{};
  out.srcXInBytes = flat.srcXInBytes;
  out.srcY = flat.srcY;
  out.srcMemoryType = flat.srcMemoryType;
  out.srcHost = flat.srcHost;
  out.srcDevice = flat.srcDevice;
  out.srcArray = flat.srcArray;
  out.srcPitch = flat.srcPitch;
  out.srcHeight = flat.Height;
  out.dstXInBytes = flat.dstXInBytes;
  out.dstY = flat.dstY;
  out.dstMemoryType = flat.dstMemoryType;
  out.dstHost = flat.dstHost;
  out.dstDevice = flat.dstDevice;
  out.dstArray = flat.dstArray;
  out.dstPitch = flat.dstPitch;
  out.dstHeight = flat.Height;
  out.WidthInBytes = flat.WidthInBytes;
  out.Height = flat.Height;
  out.Depth = 1;
  return out;
}

CUresult copy_flat(const CUDA_MEMCPY2D* flat, CUstream handle, Wait wait,
                   const Where& where = Where::current()) {
  if (flat == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return copy_described(as_3d(*flat), handle, wait, where);
}

Place described_place(const Device& device, CUmemorytype type, std::uint64_t host, std::uint64_t on_device,
                      std::size_t pitch, std::size_t height, const CUDA_MEMCPY3D& copy) {
  if (type == CU_MEMORYTYPE_ARRAY) refuse("a copy of a CUDA array");
  require(type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED);
  Place place = place_of(device, type == CU_MEMORYTYPE_HOST ? host : on_device);
  require(type != CU_MEMORYTYPE_DEVICE || place.on_device);
  place.pitch_bytes = pitch == 0 ? copy.WidthInBytes : pitch;
  require(place.pitch_bytes >= copy.WidthInBytes || copy.Height <= 1);
  place.slice_bytes = place.pitch_bytes * (height == 0 ? copy.Height : height);
  return place;
}

// A copy between two contexts that is not of a stream comes after all work of both, and before what follows.
void prepare_peer(Session& session, CUcontext to, CUcontext from, Wait wait) {
  const auto contexts = {session.device.contexts.need(to, CUDA_ERROR_INVALID_CONTEXT),
                         session.device.contexts.need(from, CUDA_ERROR_INVALID_CONTEXT)};
  if (wait == Wait::kAsynchronous) return;
  session.forbid_while_capturing();
  for (const ContextRef& context : contexts) session.device.queue.wait_all(session.lock, *context);
}

void submit_peer(Session& session, CUstream stream, const Copy& copy, Wait wait) {
  const ItemRef item = submit_copy(session, stream, copy, wait);
  if (wait == Wait::kSynchronous) session.wait(item);
}

CUresult copy_peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                   std::size_t bytes, CUstream stream, Wait wait, const Where& where = Where::current()) {
  return api(
      Need::kContext,
      [&](Session& session) {
        prepare_peer(session, to_context, from_context, wait);
        if (bytes == 0) return;
        const Copy copy = linear_copy(session.device, to, from, bytes);
        check_promise(session.device, copy, Promise::kBothDevice);
        submit_peer(session, stream, copy, wait);
      },
      where);
}

CUresult copy_peer(const CUDA_MEMCPY3D_PEER* peer, CUstream stream, Wait wait,
                   const Where& where = Where::current()) {
  if (peer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_MEMCPY3D copy{};
  copy.srcXInBytes = peer->srcXInBytes;
  copy.srcY = peer->srcY;
  copy.srcZ = peer->srcZ;
  copy.srcMemoryType = peer->srcMemoryType;
  copy.srcHost = peer->srcHost;
  copy.srcDevice = peer->srcDevice;
  copy.srcPitch = peer->srcPitch;
  copy.srcHeight = peer->srcHeight;
  copy.dstXInBytes = peer->dstXInBytes;
  copy.dstY = peer->dstY;
  copy.dstZ = peer->dstZ;
  copy.dstMemoryType = peer->dstMemoryType;
  copy.dstHost = peer->dstHost;
  copy.dstDevice = peer->dstDevice;
  copy.dstPitch = peer->dstPitch;
  copy.dstHeight = peer->dstHeight;
  copy.WidthInBytes = peer->WidthInBytes;
  copy.Height = peer->Height;
  copy.Depth = peer->Depth;
  return api(
      Need::kContext,
      [&](Session& session) {
        prepare_peer(session, peer->dstContext, peer->srcContext, wait);
        submit_peer(session, stream, copy_of(session.device, copy), wait);
      },
      where);
}

}  // namespace

Place place_of(const Device& device, std::uint64_t address) {
  const bool pinned = find_host_range(device, reinterpret_cast<const void*>(address), 1) != nullptr;
  return {device.memory.owns(address) && !pinned, address, 0, 0};
}

Copy linear_copy(const Device& device, std::uint64_t to, std::uint64_t from, std::size_t bytes) {
  Copy copy;
  copy.destination = place_of(device, to);
  copy.source = place_of(device, from);
  copy.width_bytes = bytes;
  copy.destination.pitch_bytes = copy.source.pitch_bytes = bytes;
  copy.destination.slice_bytes = copy.source.slice_bytes = bytes;
  return copy;
}

Copy copy_of(const Device& device, const CUDA_MEMCPY3D& wanted) {
  Copy copy;
  copy.width_bytes = wanted.WidthInBytes;
  copy.height = wanted.Height;
  copy.depth = wanted.Depth;
  copy.source = described_place(device, wanted.srcMemoryType, reinterpret_cast<std::uint64_t>(wanted.srcHost),
                                wanted.srcDevice, wanted.srcPitch, wanted.srcHeight, wanted);
  copy.destination =
      described_place(device, wanted.dstMemoryType, reinterpret_cast<std::uint64_t>(wanted.dstHost),
                      wanted.dstDevice, wanted.dstPitch, wanted.dstHeight, wanted);
  copy.source.address +=
      wanted.srcZ * copy.source.slice_bytes + wanted.srcY * copy.source.pitch_bytes + wanted.srcXInBytes;
  copy.destination.address += wanted.dstZ * copy.destination.slice_bytes +
                              wanted.dstY * copy.destination.pitch_bytes + wanted.dstXInBytes;
  return copy;
}

CUDA_MEMCPY3D description_of(const Copy& copy) {
  CUDA_MEMCPY3D out{};
  const auto type = [](const Place& place) {
    return place.on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  };
  const auto rows = [](const Place& place) {
    return place.pitch_bytes == 0 ? 0 : place.slice_bytes / place.pitch_bytes;
  };
  out.srcMemoryType = type(copy.source);
  out.dstMemoryType = type(copy.destination);
  if (copy.source.on_device) {
    out.srcDevice = copy.source.address;
  } else {
    out.srcHost = reinterpret_cast<const void*>(copy.source.address);
  }
  if (copy.destination.on_device) {
    out.dstDevice = copy.destination.address;
  } else {
    out.dstHost = reinterpret_cast<void*>(copy.destination.address);
  }
  out.srcPitch = copy.source.pitch_bytes;
  out.dstPitch = copy.destination.pitch_bytes;
  out.srcHeight = rows(copy.source);
  out.dstHeight = rows(copy.destination);
  out.WidthInBytes = copy.width_bytes;
  out.Height = copy.height;
  out.Depth = copy.depth;
  return out;
}

}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy_linear(to, from, bytes, nullptr, Wait::kSynchronous, Promise::kNothing);
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return copy_linear(to, reinterpret_cast<CUdeviceptr>(from), bytes, nullptr, Wait::kSynchronous,
                     Promise::kToDevice);
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  return copy_linear(reinterpret_cast<CUdeviceptr>(to), from, bytes, nullptr, Wait::kSynchronous,
                     Promise::kFromDevice);
}
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy_linear(to, from, bytes, nullptr, Wait::kSynchronous, Promise::kBothDevice);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_linear(to, from, bytes, stream, Wait::kAsynchronous, Promise::kNothing);
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return copy_linear(to, reinterpret_cast<CUdeviceptr>(from), bytes, stream, Wait::kAsynchronous,
                     Promise::kToDevice);
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_linear(reinterpret_cast<CUdeviceptr>(to), from, bytes, stream, Wait::kAsynchronous,
                     Promise::kFromDevice);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_linear(to, from, bytes, stream, Wait::kAsynchronous, Promise::kBothDevice);
}
CUresult cuMemcpy2D(const CUDA_MEMCPY2D* copy) {
  return copy_flat(copy, nullptr, Wait::kSynchronous);
}
CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D* copy) {
  return copy_flat(copy, nullptr, Wait::kSynchronous);
}
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return copy_flat(copy, stream, Wait::kAsynchronous);
}
CUresult cuMemcpy3D(const CUDA_MEMCPY3D* copy) {
  return copy == nullptr ? CUDA_ERROR_INVALID_VALUE : copy_described(*copy, nullptr, Wait::kSynchronous);
}
CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return copy == nullptr ? CUDA_ERROR_INVALID_VALUE : copy_described(*copy, stream, Wait::kAsynchronous);
}
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                      size_t bytes) {
  return copy_peer(to, to_context, from, from_context, bytes, nullptr, Wait::kSynchronous);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                           size_t bytes, CUstream stream) {
  return copy_peer(to, to_context, from, from_context, bytes, stream, Wait::kAsynchronous);
}
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy) {
  return copy_peer(copy, nullptr, Wait::kSynchronous);
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  return copy_peer(copy, stream, Wait::kAsynchronous);
}
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes, size_t count,
                               CUmemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                               CUstream stream) {
  const bool given =
      to != nullptr && from != nullptr && bytes != nullptr && attributes != nullptr && indices != nullptr;
  if (!given || count == 0 || attribute_count == 0 || attribute_count > count || stream == nullptr ||
      stream == CU_STREAM_LEGACY || indices[0] != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // In order and sources read at the call: more than any attribute asks for.
  for (size_t index = 0; index < count; ++index) {
    const CUresult result = cuMemcpyAsync(to[index], from[index], bytes[index], stream);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}
