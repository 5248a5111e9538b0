// What lies inside cublasLt's opaque structs, which programs may copy byte by byte. It must not hold pointers
// to anything of ours.
#pragma once

#pragma GCC visibility push(default)
#include <cublasLt.h>
#include <cuda.h>
#pragma GCC visibility pop

#include <cstddef>
#include <cstdint>

// What a cublasLtHandle_t is. A cublasHandle_t may be given instead, as documented: it begins alike.
struct cublasLtContext {
  CUcontext context = nullptr;  // current when it was made
};

namespace refrain::simgpu::cublaslt {

struct Layout {
  std::int64_t ld, batch_stride, plane_offset;
  std::uint64_t rows, columns;
  std::uint32_t type;
  std::int32_t order, batch_count, batch_mode;
};

struct Operation {
  std::int32_t compute, scale, pointer_mode, op_a, op_b, op_c, fill_mode, sm_count_target;
  std::uint32_t epilogue;
  std::int32_t aux_type, bias_type;
  std::int8_t fast_accumulation;
  void* bias;
  std::int64_t bias_stride;
  void* aux;
  std::int64_t aux_ld, aux_stride, alpha_stride;
  void *a_scale, *b_scale, *c_scale, *d_scale, *d_amax, *aux_scale, *aux_amax, *d_out_scale, *emulation;
  std::int32_t a_scale_mode, b_scale_mode, c_scale_mode, d_scale_mode, aux_scale_mode, d_out_scale_mode;
};

struct Transform {
  std::int32_t scale, pointer_mode, op_a, op_b;
};

struct Preference {
  std::uint64_t workspace_bytes, implementations;
  std::uint32_t search_mode, reductions, alignment_a, alignment_b, alignment_c, alignment_d;
  float waves;
};

struct Algorithm {
  std::uint64_t mark;
  std::int32_t id, split_k;
  std::uint32_t tile, reduction, swizzling, custom, stages;
  std::uint16_t inner_shape, cluster_shape;
};
inline constexpr std::uint64_t kAlgorithmMark = 0x316d'6c61'7570'6773;  // one algorithm, number 0

// One attribute of a struct: how it is asked for, where it lies.
struct Attribute {
  std::size_t offset, bytes;
  int number;
  bool settable;
};

}  // namespace refrain::simgpu::cublaslt
