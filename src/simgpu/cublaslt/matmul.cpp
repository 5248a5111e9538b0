// cublasLtMatmul and its heuristic, cublasLtMatrixTransform: descriptors to arguments. It must not compute.
#include <cstring>

#include "simgpu/blas/convert.hpp"
#include "simgpu/blas/frame.hpp"
#include "simgpu/cublaslt/descriptors.hpp"

namespace refrain::simgpu::cublaslt {
namespace {

using namespace blas::frame;
using blas::Arguments;
using blas::Epilogue;
using blas::KernelId;
using blas::Operand;
using blas::Scalar;

template <class Object, class Opaque>
const Object& inside(const Opaque* opaque) {
  require(opaque != nullptr);
  return *reinterpret_cast<const Object*>(opaque);
}

std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

Operand operand_of(const Arguments& arguments, const void* pointer, const Layout& layout) {
  if (layout.order != CUBLASLT_ORDER_COL && layout.order != CUBLASLT_ORDER_ROW) {
    refuse(std::string(arguments.call) + " with memory order " + std::to_string(layout.order));
  }
  const bool row_major = layout.order == CUBLASLT_ORDER_ROW;
  if (!blas::is_type(static_cast<std::int32_t>(layout.type))) {
    refuse(std::string(arguments.call) + " with element type " + std::to_string(layout.type));
  }
  if (layout.plane_offset != 0) refuse(std::string(arguments.call) + " with a plane offset");
  check_sizes(arguments.call, {static_cast<std::int64_t>(layout.rows),
                               static_cast<std::int64_t>(layout.columns), layout.batch_count});
  check_ld(layout.ld, static_cast<std::int64_t>(row_major ? layout.columns : layout.rows));
  require(layout.batch_count >= 1);
  return {.address = address_of(pointer),
          .ld = layout.ld,
          .stride = layout.batch_stride,
          .type = static_cast<std::int32_t>(layout.type),
          .row_major = row_major,
          .pointers = layout.batch_mode == CUBLASLT_BATCH_MODE_POINTER_ARRAY};
}

Scalar scalar_of(const void* pointer, std::int32_t type, bool on_device) {
  require(pointer != nullptr);
  Scalar out{.type = type};
  if (on_device) {
    out.address = address_of(pointer);
  } else {
    std::memcpy(out.value, pointer, blas::element_bytes(type));
  }
  return out;
}

void set_scalars(Arguments& arguments, const Operation& operation, const void* alpha, const void* beta) {
  static constexpr double kZero = 0;
  switch (operation.pointer_mode) {
    case CUBLASLT_POINTER_MODE_HOST:
    case CUBLASLT_POINTER_MODE_DEVICE: {
      const bool on_device = operation.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
      arguments.alpha = scalar_of(alpha, operation.scale, on_device);
      arguments.beta = scalar_of(beta, operation.scale, on_device);
      return;
    }
    case CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO:
    case CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST:
      arguments.alpha = scalar_of(alpha, operation.scale, true);
      arguments.alpha.per_row = true;
      if (operation.alpha_stride != 0) refuse("cublasLtMatmul with one alpha vector for each batch");
      arguments.beta = operation.pointer_mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO
                           ? scalar_of(&kZero, CUDA_R_64F, false)
                           : scalar_of(beta, operation.scale, false);
      return;
    default: refuse("cublasLtMatmul with pointer mode " + std::to_string(operation.pointer_mode));
  }
}

std::uint32_t flags_of(std::uint32_t epilogue) {
  switch (epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT: return 0;
    case CUBLASLT_EPILOGUE_RELU: return Epilogue::kRelu;
    case CUBLASLT_EPILOGUE_RELU_AUX: return Epilogue::kRelu | Epilogue::kAux;
    case CUBLASLT_EPILOGUE_BIAS: return Epilogue::kBias;
    case CUBLASLT_EPILOGUE_RELU_BIAS: return Epilogue::kBias | Epilogue::kRelu;
    case CUBLASLT_EPILOGUE_RELU_AUX_BIAS: return Epilogue::kBias | Epilogue::kRelu | Epilogue::kAux;
    case CUBLASLT_EPILOGUE_GELU: return Epilogue::kGelu;
    case CUBLASLT_EPILOGUE_GELU_AUX: return Epilogue::kGelu | Epilogue::kAux;
    case CUBLASLT_EPILOGUE_GELU_BIAS: return Epilogue::kBias | Epilogue::kGelu;
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS: return Epilogue::kBias | Epilogue::kGelu | Epilogue::kAux;
    case CUBLASLT_EPILOGUE_DRELU: return Epilogue::kReluGradient;
    case CUBLASLT_EPILOGUE_DRELU_BGRAD: return Epilogue::kReluGradient | Epilogue::kSumRows;
    case CUBLASLT_EPILOGUE_DGELU: return Epilogue::kGeluGradient;
    case CUBLASLT_EPILOGUE_DGELU_BGRAD: return Epilogue::kGeluGradient | Epilogue::kSumRows;
    case CUBLASLT_EPILOGUE_BGRADA: return Epilogue::kSumA;
    case CUBLASLT_EPILOGUE_BGRADB: return Epilogue::kSumB;
    default: refuse("cublasLtMatmul with epilogue " + std::to_string(epilogue));
  }
}

// pointers: false when only asked whether it would work.
void set_epilogue(Arguments& arguments, const Operation& operation, bool pointers) {
  Epilogue& out = arguments.epilogue;
  out.flags = flags_of(operation.epilogue);
  if (out.flags == 0) return;
  if (is_complex(arguments.work)) refuse("cublasLtMatmul with an epilogue of complex numbers");
  const auto wants = [&](std::uint32_t flags) { return (out.flags & flags) != 0; };
  const bool integers = arguments.a.type == CUDA_R_8I && arguments.d.type == CUDA_R_8I;
  out.bias = address_of(operation.bias);
  out.bias_type = operation.bias_type != -1 ? operation.bias_type
                  : integers                ? operation.scale
                                            : arguments.d.type;
  out.bias_stride = operation.bias_stride;
  if (wants(Epilogue::kBias | Epilogue::kSumRows | Epilogue::kSumA | Epilogue::kSumB)) {
    require(out.bias != 0 || !pointers);
    if (!blas::is_type(out.bias_type))
      refuse("cublasLtMatmul with bias type " + std::to_string(out.bias_type));
  }
  if (!wants(Epilogue::kAux | Epilogue::kReluGradient | Epilogue::kGeluGradient)) return;
  const bool bits = wants(Epilogue::kRelu | Epilogue::kReluGradient);
  out.aux = {.address = address_of(operation.aux),
             .ld = operation.aux_ld,
             .stride = operation.aux_stride,
             .type = operation.aux_type != -1 ? operation.aux_type : arguments.d.type};
  require(out.aux.address != 0 || !pointers);
  require(out.aux.ld >= arguments.m && out.aux.ld % (bits ? 128 : 8) == 0);
  require(out.aux.stride % (bits ? 128 : 8) == 0);
  if (!bits && !blas::is_type(out.aux.type))
    refuse("cublasLtMatmul with aux type " + std::to_string(out.aux.type));
}

void check_plain(const Operation& operation) {
  require(operation.op_c == CUBLAS_OP_N);
  if (operation.fill_mode != CUBLAS_FILL_MODE_FULL) refuse("cublasLtMatmul with a fill mode");
  const struct {
    const void* pointer;
    const char* name;
  } absent[] = {{operation.a_scale, "A_SCALE_POINTER"},
                {operation.b_scale, "B_SCALE_POINTER"},
                {operation.c_scale, "C_SCALE_POINTER"},
                {operation.d_scale, "D_SCALE_POINTER"},
                {operation.d_amax, "AMAX_D_POINTER"},
                {operation.aux_scale, "EPILOGUE_AUX_SCALE_POINTER"},
                {operation.aux_amax, "EPILOGUE_AUX_AMAX_POINTER"},
                {operation.d_out_scale, "D_OUT_SCALE_POINTER"}};
  for (const auto& attribute : absent) {
    if (attribute.pointer != nullptr) refuse(std::string("cublasLtMatmul with ") + attribute.name);
  }
}

struct Pointers {
  const void *alpha, *beta, *a, *b, *c;
  void* d;
};

// The whole call as arguments. pointers: nullptr when only asked whether it would work.
Arguments arguments_of(const Operation& operation, const Layout& a, const Layout& b, const Layout& c,
                       const Layout& d, const Pointers* pointers) {
  Arguments out;
  out.call = "cublasLtMatmul";
  check_plain(operation);
  out.op_a = op_of(static_cast<cublasOperation_t>(operation.op_a));
  out.op_b = op_of(static_cast<cublasOperation_t>(operation.op_b));
  const Pointers none{};
  const Pointers& at = pointers != nullptr ? *pointers : none;
  out.a = operand_of(out, at.a, a);
  out.b = operand_of(out, at.b, b);
  out.c = operand_of(out, at.c, c);
  out.d = operand_of(out, at.d, d);
  const bool a_plain = operation.op_a == CUBLAS_OP_N, b_plain = operation.op_b == CUBLAS_OP_N;
  out.m = static_cast<std::int64_t>(d.rows);
  out.n = static_cast<std::int64_t>(d.columns);
  out.k = static_cast<std::int64_t>(a_plain ? a.columns : a.rows);
  require((a_plain ? a.rows : a.columns) == d.rows && (b_plain ? b.columns : b.rows) == d.columns);
  require((b_plain ? b.rows : b.columns) == static_cast<std::uint64_t>(out.k));
  require(c.rows == d.rows && c.columns == d.columns);
  out.batch = d.batch_count;
  require(a.batch_count == d.batch_count && b.batch_count == d.batch_count && c.batch_count == d.batch_count);
  const auto compute = static_cast<cublasComputeType_t>(operation.compute);
  const blas::ProductTypes* types =
      blas::find_product(compute, operation.scale, out.a.type, out.b.type, out.d.type);
  if (types == nullptr || out.c.type != out.d.type) {
    refuse("cublasLtMatmul with compute type " + std::to_string(operation.compute) + " and scale type " +
           std::to_string(operation.scale) + " for A of type " + std::to_string(out.a.type) + ", B of " +
           std::to_string(out.b.type) + ", C of " + std::to_string(out.c.type) + " and D of " +
           std::to_string(out.d.type));
  }
  out.work = blas::work_of(*types);
  out.rate = blas::rate_of(compute, out.a.type);
  set_epilogue(out, operation, pointers != nullptr);
  if (pointers != nullptr) set_scalars(out, operation, at.alpha, at.beta);
  return out;
}

bool is_algorithm(const cublasLtMatmulAlgo_t* algorithm) {
  return reinterpret_cast<const Algorithm*>(algorithm)->mark == kAlgorithmMark;
}

cublasLtMatmulAlgo_t make_algorithm() {
  Algorithm inside{};
  inside.mark = kAlgorithmMark;
  inside.split_k = 1;
  cublasLtMatmulAlgo_t out{};
  std::memcpy(&out, &inside, sizeof inside);
  return out;
}

cublasLtMatmulHeuristicResult_t make_result() {
  cublasLtMatmulHeuristicResult_t out{};
  out.algo = make_algorithm();
  out.state = CUBLAS_STATUS_SUCCESS;
  out.wavesCount = 1;
  return out;
}

// Does the handle exist?
void check_handle(cublasLtHandle_t handle) {
  require(handle != nullptr, CUBLAS_STATUS_NOT_INITIALIZED);
}

template <class T>
cublasStatus_t answer(T value, void* out, std::size_t bytes, std::size_t* written) {
  if (written != nullptr) *written = sizeof value;
  if (bytes == 0) return written != nullptr ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
  if (out == nullptr || bytes < sizeof value) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(out, &value, sizeof value);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace
}  // namespace refrain::simgpu::cublaslt

using namespace refrain::simgpu::cublaslt;
namespace blas = refrain::simgpu::blas;

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void*, size_t, cudaStream_t stream) {
  return call([&] {
    check_handle(handle);
    require(algorithm == nullptr || is_algorithm(algorithm));
    const Pointers pointers{alpha, beta, a, b, c, d};
    require(a != nullptr && b != nullptr && d != nullptr);
    const auto& d_inside = inside<Layout>(d_layout);
    // Without C, beta must be 0: then nothing of it is read.
    const auto& c_inside = c_layout != nullptr ? inside<Layout>(c_layout) : d_inside;
    const Arguments arguments = arguments_of(inside<Operation>(operation), inside<Layout>(a_layout),
                                             inside<Layout>(b_layout), c_inside, d_inside, &pointers);
    if (arguments.m > 0 && arguments.n > 0)
      check(blas::launch(KernelId::kMatrixProduct, arguments, handle->context, stream));
  });
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* count) {
  if (count != nullptr) *count = 0;
  return call([&] {
    check_handle(handle);
    require(preference != nullptr && wanted > 0 && results != nullptr && count != nullptr);
    arguments_of(inside<Operation>(operation), inside<Layout>(a), inside<Layout>(b), inside<Layout>(c),
                 inside<Layout>(d), nullptr);
    results[0] = make_result();
    *count = 1;
  });
}

cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t handle, cublasComputeType_t compute,
                                        cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b,
                                        cudaDataType_t c, cudaDataType_t d, int wanted, int ids[],
                                        int* count) {
  return call([&] {
    check_handle(handle);
    require(wanted > 0 && ids != nullptr);
    const bool known = c == d && blas::find_product(compute, scale, a, b, d) != nullptr;
    if (known) ids[0] = 0;
    if (count != nullptr) *count = known ? 1 : 0;
  });
}

cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t handle, cublasComputeType_t compute,
                                      cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b,
                                      cudaDataType_t c, cudaDataType_t d, int id,
                                      cublasLtMatmulAlgo_t* algorithm) {
  return call([&] {
    check_handle(handle);
    require(id == 0 && algorithm != nullptr);
    require(c == d && blas::find_product(compute, scale, a, b, d) != nullptr, CUBLAS_STATUS_NOT_SUPPORTED);
    *algorithm = make_algorithm();
  });
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  return call([&] {
    check_handle(handle);
    require(algorithm != nullptr && is_algorithm(algorithm) && result != nullptr);
    arguments_of(inside<Operation>(operation), inside<Layout>(a), inside<Layout>(b), inside<Layout>(c),
                 inside<Layout>(d), nullptr);
    *result = make_result();
    result->algo = *algorithm;
  });
}

cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                 cublasLtMatmulAlgoCapAttributes_t number, void* value,
                                                 size_t bytes, size_t* written) {
  if (algorithm == nullptr || !is_algorithm(algorithm)) return CUBLAS_STATUS_INVALID_VALUE;
  switch (number) {
    case CUBLASLT_ALGO_CAP_SPLITK_SUPPORT:
    case CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK:
    case CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT:
    case CUBLASLT_ALGO_CAP_UPLO_SUPPORT:
    case CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX:
    case CUBLASLT_ALGO_CAP_CUSTOM_MEMORY_ORDER:
    case CUBLASLT_ALGO_CAP_LD_NEGATIVE:
    case CUBLASLT_ALGO_CAP_FLOATING_POINT_EMULATION_SUPPORT:
    case CUBLASLT_ALGO_CAP_TILE_IDS:    // one tile, undefined
    case CUBLASLT_ALGO_CAP_STAGES_IDS:  // likewise
      return answer(std::int32_t{0}, value, bytes, written);
    case CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT:
    case CUBLASLT_ALGO_CAP_POINTER_ARRAY_BATCH_SUPPORT:
    case CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT: return answer(std::int32_t{1}, value, bytes, written);
    case CUBLASLT_ALGO_CAP_POINTER_MODE_MASK:
      return answer(std::uint32_t{CUBLASLT_POINTER_MODE_MASK_HOST | CUBLASLT_POINTER_MODE_MASK_DEVICE |
                                  CUBLASLT_POINTER_MODE_MASK_ALPHA_DEVICE_VECTOR_BETA_ZERO |
                                  CUBLASLT_POINTER_MODE_MASK_ALPHA_DEVICE_VECTOR_BETA_HOST},
                    value, bytes, written);
    case CUBLASLT_ALGO_CAP_EPILOGUE_MASK:
      return answer(
          std::uint32_t{CUBLASLT_EPILOGUE_DEFAULT | CUBLASLT_EPILOGUE_RELU_AUX_BIAS |
                        CUBLASLT_EPILOGUE_GELU_AUX_BIAS | CUBLASLT_EPILOGUE_DRELU_BGRAD |
                        CUBLASLT_EPILOGUE_DGELU_BGRAD | CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB},
          value, bytes, written);
    case CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS:
      return answer(std::uint64_t{CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA}, value, bytes, written);
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES: return answer(std::uint32_t{1}, value, bytes, written);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t handle, cublasLtMatrixTransformDesc_t transform,
                                       const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                                       const void* beta, const void* b, cublasLtMatrixLayout_t b_layout,
                                       void* c, cublasLtMatrixLayout_t c_layout, cudaStream_t stream) {
  return call([&] {
    check_handle(handle);
    const auto& how = inside<Transform>(transform);
    const auto& from = inside<Layout>(a_layout);
    const auto& to = inside<Layout>(c_layout);
    Arguments out;
    out.call = "cublasLtMatrixTransform";
    if (how.scale != CUDA_R_32F && how.scale != CUDA_R_64F && !is_complex(how.scale)) {
      refuse("cublasLtMatrixTransform with scale type " + std::to_string(how.scale));
    }
    if (how.pointer_mode != CUBLASLT_POINTER_MODE_HOST && how.pointer_mode != CUBLASLT_POINTER_MODE_DEVICE) {
      refuse("cublasLtMatrixTransform with pointer mode " + std::to_string(how.pointer_mode));
    }
    const bool on_device = how.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
    out.work = how.scale;
    out.op_a = op_of(static_cast<cublasOperation_t>(how.op_a));
    out.op_b = op_of(static_cast<cublasOperation_t>(how.op_b));
    out.m = static_cast<std::int64_t>(to.rows);
    out.n = static_cast<std::int64_t>(to.columns);
    out.batch = to.batch_count;
    out.a = operand_of(out, a, from);
    out.c = operand_of(out, c, to);
    const auto fits = [&](const Layout& layout, int op) {
      return (op == CUBLAS_OP_N ? layout.rows : layout.columns) == to.rows &&
             (op == CUBLAS_OP_N ? layout.columns : layout.rows) == to.columns &&
             layout.batch_count == to.batch_count;
    };
    require(a != nullptr && c != nullptr && fits(from, how.op_a));
    out.alpha = scalar_of(alpha, how.scale, on_device);
    if (b != nullptr) {
      const auto& second = inside<Layout>(b_layout);
      require(fits(second, how.op_b));
      out.b = operand_of(out, b, second);
      out.beta = scalar_of(beta, how.scale, on_device);
    }
    if (out.m > 0 && out.n > 0) check(blas::launch(KernelId::kMatrixSum, out, handle->context, stream));
  });
}
