// cublasLt's handles, what it says of itself, its logger and cache, which have nothing to hold; and the
// absent functions, expanded from functions.def. It must not hold other work.
#include <memory>

#include "simgpu/blas/frame.hpp"
#include "simgpu/cublaslt/descriptors.hpp"
#include "simgpu/thunks.hpp"

namespace refrain::simgpu::cublaslt {
namespace {

using namespace blas::frame;

std::size_t cache_capacity = 0;

template <Name kName>
cublasStatus_t absent() {
  native::say_unsupported("cublas", kName.characters);
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // namespace
}  // namespace refrain::simgpu::cublaslt

using namespace refrain::simgpu::cublaslt;

cublasStatus_t cublasLtCreate(cublasLtHandle_t* out) {
  return call([&] {
    require(out != nullptr);
    check(simgpu_blas_client()->start());
    auto handle = std::make_unique<cublasLtContext>();
    check(simgpu_blas_client()->make_current(&handle->context));
    *out = handle.release();
  });
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasLtGetStatusName(cublasStatus_t status) {
  return status_row(status).name;
}
const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status_row(status).text;
}
size_t cublasLtGetVersion() {
  return CUBLAS_VERSION;
}
size_t cublasLtGetCudartVersion() {
  return CUDA_VERSION;
}
cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  return version_part(type, *value);
}

cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t* capacity) {
  if (capacity == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *capacity = cache_capacity;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t capacity) {
  cache_capacity = capacity;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerSetCallback(cublasLtLoggerCallback_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtLoggerSetFile(FILE*) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtLoggerOpenFile(const char*) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtLoggerSetLevel(int) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtLoggerSetMask(int) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtLoggerForceDisable() {
  return CUBLAS_STATUS_SUCCESS;
}

#define CUBLASLT_FUNCTION(symbol)
#define CUBLASLT_ABSENT(symbol)                                             \
  SIMGPU_TARGET simgpu_target_##symbol =                                    \
      reinterpret_cast<void*>(&refrain::simgpu::cublaslt::absent<#symbol>); \
  SIMGPU_JUMP(#symbol)
asm(".text");
#include "simgpu/cublaslt/functions.def"
#undef CUBLASLT_FUNCTION
#undef CUBLASLT_ABSENT
