// cublasSetVector, cublasGetMatrix and the like: copies of rows through the driver. It must not know handles.
#pragma once

#include "simgpu/cublas/frame.hpp"

namespace refrain::simgpu::cublas {

enum class Way { kToDevice, kToHost };

struct Block {
  std::int64_t width_bytes, height, from_pitch, to_pitch;
};

inline CUDA_MEMCPY2D describe(Way way, const void* from, void* to, const Block& block) {
  CUDA_MEMCPY2D out{};
  out.WidthInBytes = static_cast<std::size_t>(block.width_bytes);
  out.Height = static_cast<std::size_t>(block.height);
  out.srcPitch = static_cast<std::size_t>(block.from_pitch);
  out.dstPitch = static_cast<std::size_t>(block.to_pitch);
  if (way == Way::kToDevice) {
    out.srcMemoryType = CU_MEMORYTYPE_HOST;
    out.srcHost = from;
    out.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    out.dstDevice = address_of(to);
  } else {
    out.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    out.srcDevice = address_of(from);
    out.dstMemoryType = CU_MEMORYTYPE_HOST;
    out.dstHost = to;
  }
  return out;
}

inline void check_copy(CUresult result) {
  if (result != CUDA_SUCCESS) throw StatusError(CUBLAS_STATUS_MAPPING_ERROR);
}

// stream: nullptr for a copy that the host waits for.
inline cublasStatus_t transfer(Way way, const void* from, void* to, const Block& block,
                               const cudaStream_t* stream) {
  return call([&] {
    if (block.width_bytes == 0 || block.height == 0) return;
    auto& client = *simgpu_blas_client();
    check(client.start());
    check(client.make_current());
    const CUDA_MEMCPY2D description = describe(way, from, to, block);
    check_copy(stream != nullptr ? client.driver().cuMemcpy2DAsync(&description, *stream)
                                 : client.driver().cuMemcpy2DUnaligned(&description));
  });
}

template <Way kWay, class Int>
cublasStatus_t vector_transfer(Int n, Int element, const void* from, Int from_increment, void* to,
                               Int to_increment, const cudaStream_t* stream) {
  if (n < 0 || element <= 0 || from_increment <= 0 || to_increment <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  const std::int64_t bytes = element;
  if (from_increment == 1 && to_increment == 1) {
    return transfer(kWay, from, to, {bytes * n, n > 0 ? 1 : 0, bytes * n, bytes * n}, stream);
  }
  return transfer(kWay, from, to, {bytes, n, bytes * from_increment, bytes * to_increment}, stream);
}
template <Way kWay, class Int>
cublasStatus_t matrix_transfer(Int rows, Int columns, Int element, const void* from, Int from_ld, void* to,
                               Int to_ld, const cudaStream_t* stream) {
  if (rows < 0 || columns < 0 || element <= 0 || from_ld <= 0 || to_ld <= 0 || from_ld < rows ||
      to_ld < rows) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const std::int64_t bytes = element;
  return transfer(kWay, from, to, {bytes * rows, columns, bytes * from_ld, bytes * to_ld}, stream);
}

#define SIMGPU_TRANSFER(name, way)                                                                          \
  template <Name kSymbol, class Int>                                                                        \
  cublasStatus_t name##_vector(Int n, Int element, const void* from, Int from_inc, void* to, Int to_inc) {  \
    return vector_transfer<way>(n, element, from, from_inc, to, to_inc, nullptr);                           \
  }                                                                                                         \
  template <Name kSymbol, class Int>                                                                        \
  cublasStatus_t name##_vector_async(Int n, Int element, const void* from, Int from_inc, void* to,          \
                                     Int to_inc, cudaStream_t stream) {                                     \
    return vector_transfer<way>(n, element, from, from_inc, to, to_inc, &stream);                           \
  }                                                                                                         \
  template <Name kSymbol, class Int>                                                                        \
  cublasStatus_t name##_matrix(Int rows, Int columns, Int element, const void* from, Int from_ld, void* to, \
                               Int to_ld) {                                                                 \
    return matrix_transfer<way>(rows, columns, element, from, from_ld, to, to_ld, nullptr);                 \
  }                                                                                                         \
  template <Name kSymbol, class Int>                                                                        \
  cublasStatus_t name##_matrix_async(Int rows, Int columns, Int element, const void* from, Int from_ld,     \
                                     void* to, Int to_ld, cudaStream_t stream) {                            \
    return matrix_transfer<way>(rows, columns, element, from, from_ld, to, to_ld, &stream);                 \
  }
SIMGPU_TRANSFER(set, Way::kToDevice)
SIMGPU_TRANSFER(get, Way::kToHost)
#undef SIMGPU_TRANSFER

}  // namespace refrain::simgpu::cublas
