// Making cublasLt's structs, and their attributes by the table. It must not check whether values make sense
// together.
#include "simgpu/cublaslt/descriptors.hpp"

#include <cstring>
#include <span>

#include "simgpu/blas/frame.hpp"

namespace refrain::simgpu::cublaslt {
namespace {

using namespace blas::frame;

#define LT_IGNORE(name, member)
#define LT_LAYOUT LT_IGNORE
#define LT_OPERATION LT_IGNORE
#define LT_TRANSFORM LT_IGNORE
#define LT_PREFERENCE LT_IGNORE
#define LT_ALGORITHM LT_IGNORE
#define LT_ALGORITHM_ID LT_IGNORE

constexpr Attribute kLayout[] = {
#undef LT_LAYOUT
#define LT_LAYOUT(name, member) \
  {offsetof(Layout, member), sizeof(Layout::member), CUBLASLT_MATRIX_LAYOUT_##name, true},
#include "simgpu/cublaslt/attributes.def"
#undef LT_LAYOUT
#define LT_LAYOUT LT_IGNORE
};
constexpr Attribute kOperation[] = {
#undef LT_OPERATION
#define LT_OPERATION(name, member) \
  {offsetof(Operation, member), sizeof(Operation::member), CUBLASLT_MATMUL_DESC_##name, true},
#include "simgpu/cublaslt/attributes.def"
#undef LT_OPERATION
#define LT_OPERATION LT_IGNORE
};
constexpr Attribute kTransform[] = {
#undef LT_TRANSFORM
#define LT_TRANSFORM(name, member) \
  {offsetof(Transform, member), sizeof(Transform::member), CUBLASLT_MATRIX_TRANSFORM_DESC_##name, true},
#include "simgpu/cublaslt/attributes.def"
#undef LT_TRANSFORM
#define LT_TRANSFORM LT_IGNORE
};
constexpr Attribute kPreference[] = {
#undef LT_PREFERENCE
#define LT_PREFERENCE(name, member) \
  {offsetof(Preference, member), sizeof(Preference::member), CUBLASLT_MATMUL_PREF_##name, true},
#include "simgpu/cublaslt/attributes.def"
#undef LT_PREFERENCE
#define LT_PREFERENCE LT_IGNORE
};
constexpr Attribute kAlgorithm[] = {
#undef LT_ALGORITHM
#undef LT_ALGORITHM_ID
#define LT_ALGORITHM(name, member) \
  {offsetof(Algorithm, member), sizeof(Algorithm::member), CUBLASLT_ALGO_CONFIG_##name, true},
#define LT_ALGORITHM_ID(name, member) \
  {offsetof(Algorithm, member), sizeof(Algorithm::member), CUBLASLT_ALGO_CONFIG_##name, false},
#include "simgpu/cublaslt/attributes.def"
};

const Attribute* find(std::span<const Attribute> table, int number) {
  for (const Attribute& row : table) {
    if (row.number == number) return &row;
  }
  return nullptr;
}

cublasStatus_t set(std::span<const Attribute> table, void* object, int number, const void* value,
                   std::size_t bytes) {
  const Attribute* row = find(table, number);
  if (object == nullptr || value == nullptr || row == nullptr || !row->settable || row->bytes != bytes) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  std::memcpy(static_cast<std::byte*>(object) + row->offset, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

// bytes 0: only the size is wanted.
cublasStatus_t get(std::span<const Attribute> table, const void* object, int number, void* value,
                   std::size_t bytes, std::size_t* written) {
  const Attribute* row = find(table, number);
  if (object == nullptr || row == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (bytes == 0 ? written == nullptr : value == nullptr || bytes != row->bytes)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (bytes != 0) std::memcpy(value, static_cast<const std::byte*>(object) + row->offset, bytes);
  if (written != nullptr) *written = row->bytes;
  return CUBLAS_STATUS_SUCCESS;
}

// Starts a struct in the caller's memory.
template <class Object, class Opaque>
cublasStatus_t start(Opaque* opaque, std::size_t bytes, const Object& object) {
  static_assert(sizeof(Object) <= sizeof(Opaque));
  if (opaque == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (bytes < sizeof(Opaque)) return CUBLAS_STATUS_ALLOC_FAILED;
  std::memset(opaque, 0, sizeof(Opaque));
  std::memcpy(opaque, &object, sizeof object);
  return CUBLAS_STATUS_SUCCESS;
}
template <class Object, class Opaque>
cublasStatus_t create(Opaque** out, const Object& object) {
  return call([&] {
    require(out != nullptr);
    *out = new Opaque;
    start(*out, sizeof(Opaque), object);
  });
}
template <class Opaque>
cublasStatus_t destroy(Opaque* opaque) {
  delete opaque;
  return CUBLAS_STATUS_SUCCESS;
}

Layout make_layout(cudaDataType type, std::uint64_t rows, std::uint64_t columns, std::int64_t ld) {
  Layout out{};
  out.ld = ld;
  out.rows = rows;
  out.columns = columns;
  out.type = type;
  out.batch_count = 1;
  return out;
}
Operation make_operation(cublasComputeType_t compute, cudaDataType scale) {
  Operation out{};
  out.compute = compute;
  out.scale = scale;
  out.fill_mode = CUBLAS_FILL_MODE_FULL;
  out.epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  out.aux_type = out.bias_type = -1;
  return out;
}
Transform make_transform(cudaDataType scale) {
  return {scale, CUBLASLT_POINTER_MODE_HOST, CUBLAS_OP_N, CUBLAS_OP_N};
}
Preference make_preference() {
  Preference out{};
  out.implementations = ~std::uint64_t{0};
  out.reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  out.alignment_a = out.alignment_b = out.alignment_c = out.alignment_d = 256;
  return out;
}

// nullptr for what is no algorithm of ours.
template <class Opaque>
Opaque* checked(Opaque* algorithm) {
  const bool ours =
      algorithm != nullptr && reinterpret_cast<const Algorithm*>(algorithm)->mark == kAlgorithmMark;
  return ours ? algorithm : nullptr;
}

}  // namespace
}  // namespace refrain::simgpu::cublaslt

using namespace refrain::simgpu::cublaslt;

// The six functions of one struct. The parameters are those of its start, the values those of make.
#define LT_STRUCT(Name, Handle, AttributeType, table, make, PARAMETERS, VALUES)                       \
  cublasStatus_t cublasLt##Name##Init_internal PARAMETERS(Handle object, size_t bytes) {              \
    return start(object, bytes, make VALUES);                                                         \
  }                                                                                                   \
  cublasStatus_t cublasLt##Name##Create PARAMETERS(Handle* out) {                                     \
    return create(out, make VALUES);                                                                  \
  }                                                                                                   \
  cublasStatus_t cublasLt##Name##Destroy(Handle object) {                                             \
    return destroy(object);                                                                           \
  }                                                                                                   \
  cublasStatus_t cublasLt##Name##SetAttribute(Handle object, AttributeType number, const void* value, \
                                              size_t bytes) {                                         \
    return set(table, object, number, value, bytes);                                                  \
  }                                                                                                   \
  cublasStatus_t cublasLt##Name##GetAttribute(Handle object, AttributeType number, void* value,       \
                                              size_t bytes, size_t* written) {                        \
    return get(table, object, number, value, bytes, written);                                         \
  }
#define LAYOUT_PARAMETERS(...) (__VA_ARGS__, cudaDataType type, uint64_t rows, uint64_t columns, int64_t ld)
#define OPERATION_PARAMETERS(...) (__VA_ARGS__, cublasComputeType_t compute, cudaDataType_t scale)
#define TRANSFORM_PARAMETERS(...) (__VA_ARGS__, cudaDataType scale)
#define PREFERENCE_PARAMETERS(...) (__VA_ARGS__)
LT_STRUCT(MatrixLayout, cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t, kLayout, make_layout,
          LAYOUT_PARAMETERS, (type, rows, columns, ld))
LT_STRUCT(MatmulDesc, cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, kOperation, make_operation,
          OPERATION_PARAMETERS, (compute, scale))
LT_STRUCT(MatrixTransformDesc, cublasLtMatrixTransformDesc_t, cublasLtMatrixTransformDescAttributes_t,
          kTransform, make_transform, TRANSFORM_PARAMETERS, (scale))
LT_STRUCT(MatmulPreference, cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t, kPreference,
          make_preference, PREFERENCE_PARAMETERS, ())

cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t number,
                                                    const void* value, size_t bytes) {
  return set(kAlgorithm, checked(algorithm), number, value, bytes);
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t number, void* value,
                                                    size_t bytes, size_t* written) {
  return get(kAlgorithm, checked(algorithm), number, value, bytes, written);
}
