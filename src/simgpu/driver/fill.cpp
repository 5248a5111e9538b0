// cuMemset*: the synchronous names do not wait either, as documented for device memory; they do for memory
// that the host sees. It must not touch the bytes.
#include "simgpu/driver/copy.hpp"
#include "simgpu/driver/graph_memory.hpp"
#include "simgpu/driver/managed.hpp"
#include "simgpu/driver/submit.hpp"

namespace refrain::simgpu::driver {
namespace {

enum class Wait { kIfHostSees, kNever };

bool host_sees(const Device& device, DeviceAddress address) {
  return find_managed(device, address) != nullptr ||
         find_host_range(device, reinterpret_cast<const void*>(address), 1) != nullptr;
}

CUresult submit_fill(const Fill& fill, CUstream handle, Wait wait, const Where& where) {
  return api(
      Need::kContext,
      [&](Session& session) {
        const StreamRef stream = session.stream(handle);
        if (fill.width == 0 || fill.height == 0) return;
        require(fill.address % fill.element_bytes == 0 && fill.pitch_bytes % fill.element_bytes == 0);
        const std::uint64_t row = fill.width * fill.element_bytes;
        require(fill.height == 1 || fill.pitch_bytes >= row);
        const std::uint64_t span = (fill.height - 1) * fill.pitch_bytes + row;
        require(stream->capture != nullptr ||
                reachable(session.device, fill.address, span, Access::kReadWrite));
        const bool must_wait = wait == Wait::kIfHostSees && host_sees(session.device, fill.address);
        if (must_wait) session.forbid_wait_on(*stream);
        const ItemRef item = submit(session, stream, fill);
        if (must_wait) session.wait(item);
      },
      where);
}

CUresult fill_linear(CUdeviceptr address, std::uint32_t value, std::uint32_t element, std::size_t count,
                     CUstream stream, Wait wait, const Where& where = Where::current()) {
  return submit_fill({address, count * element, value, element, count, 1}, stream, wait, where);
}

CUresult fill_rows(CUdeviceptr address, std::size_t pitch, std::uint32_t value, std::uint32_t element,
                   std::size_t width, std::size_t height, CUstream stream, Wait wait,
                   const Where& where = Where::current()) {
  return submit_fill({address, pitch, value, element, width, height}, stream, wait, where);
}

}  // namespace

Fill fill_of(const CUDA_MEMSET_NODE_PARAMS& params) {
  require(params.elementSize == 1 || params.elementSize == 2 || params.elementSize == 4);
  return {params.dst, params.pitch, params.value, params.elementSize, params.width, params.height};
}

CUDA_MEMSET_NODE_PARAMS params_of(const Fill& fill) {
  CUDA_MEMSET_NODE_PARAMS out{};
  out.dst = fill.address;
  out.pitch = fill.pitch_bytes;
  out.value = fill.value;
  out.elementSize = fill.element_bytes;
  out.width = fill.width;
  out.height = fill.height;
  return out;
}

}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

// One row for each element size: the synchronous and asynchronous calls, linear and with a pitch.
#define SIMGPU_FILLS(bits, type)                                                                           \
  CUresult cuMemsetD##bits##_v2(CUdeviceptr to, type value, size_t count) {                                \
    return fill_linear(to, value, bits / 8, count, nullptr, Wait::kIfHostSees);                            \
  }                                                                                                        \
  CUresult cuMemsetD##bits##Async(CUdeviceptr to, type value, size_t count, CUstream stream) {             \
    return fill_linear(to, value, bits / 8, count, stream, Wait::kNever);                                  \
  }                                                                                                        \
  CUresult cuMemsetD2D##bits##_v2(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height) { \
    return fill_rows(to, pitch, value, bits / 8, width, height, nullptr, Wait::kIfHostSees);               \
  }                                                                                                        \
  CUresult cuMemsetD2D##bits##Async(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height, \
                                    CUstream stream) {                                                     \
    return fill_rows(to, pitch, value, bits / 8, width, height, stream, Wait::kNever);                     \
  }

SIMGPU_FILLS(8, unsigned char)
SIMGPU_FILLS(16, unsigned short)
SIMGPU_FILLS(32, unsigned int)
