// Descriptors of cublasLt. What is not understood makes the call none to follow; nothing is guessed.
#include "preload/cublaslt_uses.hpp"

#include "preload/cublas_types.hpp"
#include "preload/library_lookup.hpp"

namespace refrain::preload {
namespace {

using How = LibraryUses::How;

// Attributes that not every header of CUDA 12 names.
constexpr auto kBatchMode = static_cast<cublasLtMatrixLayoutAttribute_t>(8);
constexpr auto kOutScalePointer = static_cast<cublasLtMatmulDescAttributes_t>(36);
constexpr auto kEmulation = static_cast<cublasLtMatmulDescAttributes_t>(38);

// Bits of cublasLtEpilogue_t.
constexpr std::uint32_t kRelu = 2, kBias = 4, kReluGradient = 8, kBiasGradient = 16, kGelu = 32,
                        kGeluGradient = 64, kAux = 128, kSumA = 256, kSumB = 512;
constexpr std::uint32_t kKnownEpilogues =
    1 | kRelu | kBias | kReluGradient | kBiasGradient | kGelu | kGeluGradient | kAux | kSumA | kSumB;

// The attribute, or `otherwise` where the library does not know it: then nobody can have set it.
template <class T>
T attribute(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t which, T otherwise) {
  T value{};
  std::size_t written = 0;
  const auto get = REFRAIN_REAL(cublasLtMatmulDescGetAttribute);
  const bool known = get && get(operation, which, &value, sizeof value, &written) == CUBLAS_STATUS_SUCCESS;
  return known ? value : otherwise;
}
template <class T>
T attribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which, T otherwise) {
  T value{};
  std::size_t written = 0;
  const auto get = REFRAIN_REAL(cublasLtMatrixLayoutGetAttribute);
  const bool known = get && get(layout, which, &value, sizeof value, &written) == CUBLAS_STATUS_SUCCESS;
  return known ? value : otherwise;
}

struct Layout {
  std::uint64_t rows, columns;
  std::int64_t batches;
  std::uint32_t element_bytes;  // 0: not followed
  std::optional<access::Extent> extent;
};

Layout read(cublasLtMatrixLayout_t layout) {
  const auto type = attribute<std::uint32_t>(layout, CUBLASLT_MATRIX_LAYOUT_TYPE, ~0u);
  const auto order = attribute<std::int32_t>(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, -1);
  const auto ld = attribute<std::int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_LD, -1);
  const auto stride = attribute<std::int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 0);
  Layout out{.rows = attribute<std::uint64_t>(layout, CUBLASLT_MATRIX_LAYOUT_ROWS, 0),
             .columns = attribute<std::uint64_t>(layout, CUBLASLT_MATRIX_LAYOUT_COLS, 0),
             .batches = attribute<std::int32_t>(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, -1),
             .element_bytes = bytes_of(static_cast<cudaDataType>(type)),
             .extent = {}};
  const bool plain = (order == CUBLASLT_ORDER_COL || order == CUBLASLT_ORDER_ROW) &&
                     attribute<std::int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, 0) == 0 &&
                     attribute<std::uint32_t>(layout, kBatchMode, 0) == 0;
  if (!plain) out.element_bytes = 0;
  if (out.element_bytes == 0) return out;
  const auto rows = static_cast<std::int64_t>(out.rows);
  const auto columns = static_cast<std::int64_t>(out.columns);
  const bool by_rows = order == CUBLASLT_ORDER_ROW;
  out.extent = access::extent_of(
      {by_rows ? columns : rows, by_rows ? rows : columns, ld, out.batches, stride}, out.element_bytes);
  return out;
}

// Scales of 8-bit types and emulations: pointers that are not followed.
bool has_other_pointers(cublasLtMatmulDesc_t operation) {
  constexpr cublasLtMatmulDescAttributes_t kPointers[] = {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                                                          CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                                                          CUBLASLT_MATMUL_DESC_C_SCALE_POINTER,
                                                          CUBLASLT_MATMUL_DESC_D_SCALE_POINTER,
                                                          CUBLASLT_MATMUL_DESC_AMAX_D_POINTER,
                                                          CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER,
                                                          CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER,
                                                          kOutScalePointer,
                                                          kEmulation};
  return std::any_of(std::begin(kPointers), std::end(kPointers), [&](cublasLtMatmulDescAttributes_t which) {
    return attribute<const void*>(operation, which, nullptr) != nullptr;
  });
}

void describe_bias(LibraryUses& uses, cublasLtMatmulDesc_t operation, std::uint32_t epilogue, const Layout& d,
                   LtDescriptors& descriptors) {
  const bool read = (epilogue & kBias) != 0;
  if (!read && (epilogue & (kBiasGradient | kSumA | kSumB)) == 0) return;
  descriptors.bias = attribute<void*>(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, nullptr);
  const auto type = attribute<std::int32_t>(operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, -1);
  // By default the output's type; that of 8-bit products is the scale's instead, the larger of the two.
  const auto scale = attribute<std::int32_t>(operation, CUBLASLT_MATMUL_DESC_SCALE_TYPE, -1);
  const std::uint32_t bytes = type != -1             ? bytes_of(static_cast<cudaDataType>(type))
                              : d.element_bytes == 1 ? bytes_of(static_cast<cudaDataType>(scale))
                                                     : d.element_bytes;
  const std::uint64_t count = (epilogue & kSumB) != 0 ? d.columns : d.rows;
  const auto stride = attribute<std::int64_t>(operation, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, 0);
  if (!descriptors.bias || bytes == 0) return uses.refuse();
  uses.touch(descriptors.bias, read ? How::kRead : How::kWrite,
             access::extent_of_vector(static_cast<std::int64_t>(count), 1, bytes, d.batches, stride));
}

void describe_aux(LibraryUses& uses, cublasLtMatmulDesc_t operation, std::uint32_t epilogue, const Layout& d,
                  LtDescriptors& descriptors) {
  if ((epilogue & kAux) == 0) return;
  descriptors.aux = attribute<void*>(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, nullptr);
  const auto ld = attribute<std::int64_t>(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, -1);
  const auto stride = attribute<std::int64_t>(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, 0);
  const auto type = attribute<std::int32_t>(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, -1);
  const bool bits = (epilogue & (kRelu | kReluGradient)) != 0;
  const bool read = (epilogue & (kReluGradient | kGeluGradient)) != 0;
  const auto rows = static_cast<std::int64_t>(d.rows);
  const auto columns = static_cast<std::int64_t>(d.columns);
  std::optional<access::Extent> extent;
  if (bits && ld % 8 == 0 && stride % 8 == 0) {
    extent = access::extent_of({(rows + 7) / 8, columns, ld / 8, d.batches, stride / 8}, 1);
    if (extent && rows % 8 != 0) extent->solid = false;  // what becomes of the last bits is not said
  } else if (!bits) {
    const std::uint32_t bytes = type != -1 ? bytes_of(static_cast<cudaDataType>(type)) : d.element_bytes;
    if (bytes != 0) extent = access::extent_of({rows, columns, ld, d.batches, stride}, bytes);
  }
  if (!descriptors.aux) return uses.refuse();
  uses.touch(descriptors.aux, read ? How::kRead : How::kWrite, extent);
}

}  // namespace

std::optional<bool> lt_scalars_on_device(cublasLtMatmulDesc_t operation) {
  const auto mode = attribute<std::uint32_t>(operation, CUBLASLT_MATMUL_DESC_POINTER_MODE, ~0u);
  if (mode == CUBLASLT_POINTER_MODE_HOST) return false;
  if (mode == CUBLASLT_POINTER_MODE_DEVICE) return true;
  return std::nullopt;
}

void describe_lt_matmul(LibraryUses& uses, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
                        cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                        const LtOperands& operands, LtDescriptors& descriptors) {
  if (!operation || !a || !b || !c || !d) return uses.refuse();
  const auto epilogue = attribute<std::uint32_t>(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, ~0u);
  const auto fill =
      attribute<std::uint32_t>(operation, CUBLASLT_MATMUL_DESC_FILL_MODE, CUBLAS_FILL_MODE_FULL);
  const auto scale = attribute<std::uint32_t>(operation, CUBLASLT_MATMUL_DESC_SCALE_TYPE, ~0u);
  const std::uint32_t scalar = bytes_of(static_cast<cudaDataType>(scale));
  const Layout layouts[] = {read(a), read(b), read(c), read(d)};
  const bool plain = std::all_of(std::begin(layouts), std::end(layouts),
                                 [](const Layout& layout) { return layout.element_bytes != 0; });
  if (!plain || scalar == 0 || (epilogue & ~kKnownEpilogues) != 0 || fill != CUBLAS_FILL_MODE_FULL ||
      has_other_pointers(operation)) {
    return uses.refuse();
  }
  const Layout& out = layouts[3];
  uses.scalar(operands.alpha, scalar);
  const bool beta_is_zero = uses.scalar(operands.beta, scalar);
  uses.touch(operands.a, How::kRead, layouts[0].extent);
  uses.touch(operands.b, How::kRead, layouts[1].extent);
  // A C that is not read goes where D goes, if it is the same: the two may not be told apart by a replay.
  const bool in_place = operands.c == operands.d;
  if (!beta_is_zero) {
    uses.touch(operands.c, How::kRead, layouts[2].extent);
  } else if (in_place) {
    uses.touch(operands.c, How::kWrite, out.extent);
  }
  uses.touch(operands.d, How::kWrite, out.extent);
  describe_bias(uses, operation, epilogue, out, descriptors);
  describe_aux(uses, operation, epilogue, out, descriptors);
  // Scratch: what was in it before the call counts for nothing.
  if (operands.workspace && operands.workspace_bytes > 0) {
    uses.touch_bytes(operands.workspace, How::kWorkspace,
                     static_cast<std::int64_t>(operands.workspace_bytes));
  }
}

bool lt_descriptors_can_be_copied() {
  const auto version = REFRAIN_REAL(cublasLtGetVersion);
  return version && version() / 10000 == CUBLAS_VER_MAJOR;
}

bool point_descriptors(LtDescriptors& descriptors) {
  const auto set = REFRAIN_REAL(cublasLtMatmulDescSetAttribute);
  if (!set) return false;
  const auto point = [&](cublasLtMatmulDescAttributes_t which, void* const& pointer) {
    return !pointer || set(&descriptors.operation, which, &pointer, sizeof pointer) == CUBLAS_STATUS_SUCCESS;
  };
  return point(CUBLASLT_MATMUL_DESC_BIAS_POINTER, descriptors.bias) &&
         point(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, descriptors.aux);
}

}  // namespace refrain::preload
