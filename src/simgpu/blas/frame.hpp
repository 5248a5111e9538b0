// The frame around every function of the two libraries: statuses, refusals, checks. It must not know any
// particular function.
#pragma once

#include <exception>
#include <initializer_list>
#include <limits>
#include <string>

#include "simgpu/blas/product_types.hpp"

namespace refrain::simgpu::blas::frame {

// Thrown inside, returned at the C boundary.
struct StatusError : std::exception {
  explicit StatusError(cublasStatus_t status) : code(status) {}
  const char* what() const noexcept override { return "a cuBLAS status"; }
  cublasStatus_t code;
};

inline void require(bool condition, cublasStatus_t otherwise = CUBLAS_STATUS_INVALID_VALUE) {
  if (!condition) throw StatusError(otherwise);
}

inline cublasStatus_t status_of(CUresult result) {
  switch (result) {
    case CUDA_SUCCESS: return CUBLAS_STATUS_SUCCESS;
    case CUDA_ERROR_OUT_OF_MEMORY: return CUBLAS_STATUS_ALLOC_FAILED;
    case CUDA_ERROR_NOT_FOUND:
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_NO_DEVICE: return CUBLAS_STATUS_NOT_INITIALIZED;
    default: return CUBLAS_STATUS_EXECUTION_FAILED;
  }
}
inline void check(CUresult result) {
  if (result != CUDA_SUCCESS) throw StatusError(status_of(result));
}

[[noreturn]] inline void refuse(const std::string& what) {
  native::say_unsupported("cublas", what.c_str());
  throw StatusError(CUBLAS_STATUS_NOT_SUPPORTED);
}

// Runs body(), which throws StatusError.
template <class Body>
cublasStatus_t call(Body&& body) noexcept {
  try {
    body();
    return CUBLAS_STATUS_SUCCESS;
  } catch (const StatusError& error) {
    return error.code;
  } catch (const std::bad_alloc&) {
    return CUBLAS_STATUS_ALLOC_FAILED;
  } catch (const std::exception& error) {
    native::say("cublas", error.what());
    return CUBLAS_STATUS_INTERNAL_ERROR;
  }
}

inline constexpr bool is_complex(std::int32_t type) {
  return type == CUDA_C_32F || type == CUDA_C_64F;
}

inline std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

// Sizes that OpenBLAS takes are ints.
inline void check_sizes(const char* call, std::initializer_list<std::int64_t> sizes) {
  for (const std::int64_t size : sizes) {
    require(size >= 0);
    if (size > std::numeric_limits<int>::max()) refuse(std::string(call) + " with a size beyond 2^31 - 1");
  }
}

inline Op op_of(cublasOperation_t op) {
  switch (op) {
    case CUBLAS_OP_N: return Op::kNone;
    case CUBLAS_OP_T: return Op::kTranspose;
    case CUBLAS_OP_C: return Op::kConjugateTranspose;
    default: throw StatusError(CUBLAS_STATUS_INVALID_VALUE);
  }
}
// A leading dimension for so many rows.
inline void check_ld(std::int64_t ld, std::int64_t rows) {
  require(ld >= 1 && ld >= rows && ld <= std::numeric_limits<int>::max());
}

struct StatusRow {
  cublasStatus_t status;
  const char* name;
  const char* text;
};
#define SIMGPU_STATUS(name, text) \
  { name, #name, text }
inline constexpr StatusRow kStatuses[] = {
    SIMGPU_STATUS(CUBLAS_STATUS_SUCCESS, "success"),
    SIMGPU_STATUS(CUBLAS_STATUS_NOT_INITIALIZED, "the library was not initialized"),
    SIMGPU_STATUS(CUBLAS_STATUS_ALLOC_FAILED, "the resource allocation failed"),
    SIMGPU_STATUS(CUBLAS_STATUS_INVALID_VALUE, "an invalid value was passed as an argument"),
    SIMGPU_STATUS(CUBLAS_STATUS_ARCH_MISMATCH, "the device lacks a feature that the function needs"),
    SIMGPU_STATUS(CUBLAS_STATUS_MAPPING_ERROR, "an access to device memory failed"),
    SIMGPU_STATUS(CUBLAS_STATUS_EXECUTION_FAILED, "the function failed to launch on the device"),
    SIMGPU_STATUS(CUBLAS_STATUS_INTERNAL_ERROR, "an internal operation failed"),
    SIMGPU_STATUS(CUBLAS_STATUS_NOT_SUPPORTED, "the requested functionality is not supported"),
    SIMGPU_STATUS(CUBLAS_STATUS_LICENSE_ERROR, "the license check failed"),
};
#undef SIMGPU_STATUS

inline const StatusRow& status_row(cublasStatus_t status) {
  static constexpr StatusRow kUnknown = {CUBLAS_STATUS_INTERNAL_ERROR, "<unknown>", "<unknown>"};
  for (const StatusRow& row : kStatuses) {
    if (row.status == status) return row;
  }
  return kUnknown;
}

inline cublasStatus_t version_part(libraryPropertyType type, int& value) {
  switch (type) {
    case MAJOR_VERSION: value = CUBLAS_VER_MAJOR; return CUBLAS_STATUS_SUCCESS;
    case MINOR_VERSION: value = CUBLAS_VER_MINOR; return CUBLAS_STATUS_SUCCESS;
    case PATCH_LEVEL: value = CUBLAS_VER_PATCH; return CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

}  // namespace refrain::simgpu::blas::frame
