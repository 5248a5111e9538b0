// Products of many matrices whose addresses lie in arrays on the device. Where the program has just copied
// those arrays from the host, such a call is one op with known operands; else its launches are barriers. It
// must not believe an array that anything else may have written.
#pragma once

#include <algorithm>
#include <vector>

#include "preload/library_entries.hpp"

namespace refrain::preload {

struct BatchedOperand {
  const void* addresses;  // on the device
  std::uint32_t element_bytes;
  std::int64_t rows, columns, ld;
  LibraryUses::How how;
};

// The matrices of one operand, and the array itself. false: it is not known which they are.
inline bool add_batch(cuda::Runtime& runtime, const BatchedOperand& operand, std::int64_t batches,
                      std::vector<cuda::LibraryUse>& uses) {
  const auto extent = access::extent_of({.rows = operand.rows, .columns = operand.columns, .ld = operand.ld},
                                        operand.element_bytes);
  std::vector<CUdeviceptr> addresses(static_cast<std::size_t>(batches));
  const auto array = reinterpret_cast<CUdeviceptr>(operand.addresses);
  if (operand.element_bytes == 0 || !extent ||
      !runtime.known_memory(array, std::as_writable_bytes(std::span(addresses))))
    return false;
  uses.push_back({.record_offset_bytes = 0,
                  .address = array,
                  .begin = 0,
                  .end = batches * static_cast<std::int64_t>(sizeof(CUdeviceptr)),
                  .read = true,
                  .written = false,
                  .whole = false});
  if (extent->empty()) return true;
  // Matrices that touch each other are one tensor.
  std::sort(addresses.begin(), addresses.end());
  for (const CUdeviceptr address : addresses) {
    const cuda::LibraryUse use{.record_offset_bytes = 0,
                               .address = address,
                               .begin = extent->begin,
                               .end = extent->end,
                               .read = operand.how != LibraryUses::How::kWrite,
                               .written = operand.how != LibraryUses::How::kRead,
                               .whole = operand.how == LibraryUses::How::kWrite && extent->solid};
    cuda::LibraryUse& last = uses.back();
    const auto after = static_cast<std::int64_t>(address - last.address);
    if (last.address != array && extent->solid && after + use.begin <= last.end) {
      last.end = std::max(last.end, after + use.end);
    } else {
      uses.push_back(use);
    }
  }
  return true;
}

struct BatchedProduct {
  cublas::Product sizes;
  const void *alpha, *beta;
  std::uint32_t scalar_bytes;
  const void *a, *b, *c;
  std::uint32_t a_bytes, b_bytes, c_bytes;  // of an element
  std::int64_t lda, ldb, ldc;
};

// A call of many small launches: where there are very many matrices, finding their buffers would cost more.
constexpr std::int64_t kMostBatches = 128;

inline bool describe_batched(cuda::Runtime& runtime, const BatchedProduct& product, bool scalars_on_device,
                             std::vector<cuda::LibraryUse>& uses) {
  const cublas::Product& p = product.sizes;
  if (p.m <= 0 || p.n <= 0 || p.k < 0 || p.batches <= 0 || p.batches > kMostBatches) return false;
  struct {
    const void *alpha, *beta;
  } scalars{product.alpha, product.beta};
  std::array<HostScalar, kMostHostScalars> on_host{};
  LibraryUses gathered(&scalars, on_host, scalars_on_device);
  gathered.scalar(scalars.alpha, product.scalar_bytes);
  const bool beta_is_zero = gathered.scalar(scalars.beta, product.scalar_bytes);
  if (gathered.refused()) return false;
  uses.assign(gathered.all().begin(), gathered.all().end());
  const bool plain_a = p.op_a == CUBLAS_OP_N, plain_b = p.op_b == CUBLAS_OP_N;
  using How = LibraryUses::How;
  return add_batch(
             runtime,
             {product.a, product.a_bytes, plain_a ? p.m : p.k, plain_a ? p.k : p.m, product.lda, How::kRead},
             p.batches, uses) &&
         add_batch(
             runtime,
             {product.b, product.b_bytes, plain_b ? p.k : p.n, plain_b ? p.n : p.k, product.ldb, How::kRead},
             p.batches, uses) &&
         add_batch(runtime,
                   {product.c, product.c_bytes, p.m, p.n, product.ldc, cublas::written(beta_is_zero)},
                   p.batches, uses);
}

template <class Call>
cublasStatus_t batched_op(LibraryHook hook, cublasHandle_t handle, const BatchedProduct& product,
                          Call&& call) {
  cuda::Runtime* r = runtime_for_library();
  if (!r) return call();
  CublasSituation situation{};
  std::vector<cuda::LibraryUse> uses;
  const bool known =
      read_situation(handle, situation) &&
      describe_batched(*r, product, situation.state.pointer_mode == CUBLAS_POINTER_MODE_DEVICE, uses);
  if (!known) {
    const cuda::InsideLibrary inside(cuda::Inside::kSetUp);
    return call();
  }
  const cuda::LibraryOp op{
      .name = name_of(hook),
      .replay = nullptr,
      .reason = "it finds its matrices by addresses in memory, which a replay would have to change",
      .record = {}};
  return as_op<CublasStatus>(*r, situation.stream, uses, op, call);
}

template <class T, class Int>
struct GemmBatched {
  template <LibraryHook H>
  static cublasStatus_t call(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m,
                             Int n, Int k, const T* alpha, const T* const a[], Int lda, const T* const b[],
                             Int ldb, const T* beta, T* const c[], Int ldc, Int batches) {
    const auto real = real_library(H, &call<H>);
    if (!real) return CUBLAS_STATUS_NOT_INITIALIZED;
    return batched_op(
        H, handle,
        {{op_a, op_b, m, n, k, batches},
         alpha,
         beta,
         sizeof(T),
         a,
         b,
         c,
         sizeof(T),
         sizeof(T),
         sizeof(T),
         lda,
         ldb,
         ldc},
        [&] { return real(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batches); });
  }
};

template <class Int>
struct GemmBatchedEx {
  template <LibraryHook H>
  static cublasStatus_t call(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m,
                             Int n, Int k, const void* alpha, const void* const a[], cudaDataType a_type,
                             Int lda, const void* const b[], cudaDataType b_type, Int ldb, const void* beta,
                             void* const c[], cudaDataType c_type, Int ldc, Int batches,
                             cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
    const auto real = real_library(H, &call<H>);
    if (!real) return CUBLAS_STATUS_NOT_INITIALIZED;
    return batched_op(H, handle,
                      {{op_a, op_b, m, n, k, batches},
                       alpha,
                       beta,
                       scalar_bytes(compute, a_type),
                       a,
                       b,
                       c,
                       bytes_of(a_type),
                       bytes_of(b_type),
                       bytes_of(c_type),
                       lda,
                       ldb,
                       ldc},
                      [&] {
                        return real(handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta,
                                    c, c_type, ldc, batches, compute, algorithm);
                      });
  }
};

}  // namespace refrain::preload
