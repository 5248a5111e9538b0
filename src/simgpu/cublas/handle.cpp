// Handles, modes and what the library says of itself. It must not launch but for results that the host waits
// for.
#include <memory>

#include "simgpu/cublas/frame.hpp"

namespace refrain::simgpu::cublas {

void launch_for_result(cublasContext& handle, KernelId kernel, Arguments& arguments, void* result,
                       std::size_t bytes) {
  require(result != nullptr);
  const bool on_host = handle.pointer_mode == CUBLAS_POINTER_MODE_HOST;
  arguments.d.address = on_host ? handle.result : address_of(result);
  launch(handle, kernel, arguments);
  if (!on_host) return;
  const native::InContext there(*simgpu_blas_client(), handle.context);
  check(there.result());
  const auto& driver = simgpu_blas_client()->driver();
  check(driver.cuMemcpyDtoHAsync(result, handle.result, bytes, handle.stream));
  check(driver.cuStreamSynchronize(handle.stream));
}

namespace {

constexpr std::size_t kResultBytes = 64;

cublasLogCallback log_callback = nullptr;

}  // namespace
}  // namespace refrain::simgpu::cublas

using namespace refrain::simgpu::cublas;

cublasStatus_t cublasCreate_v2(cublasHandle_t* out) {
  return call([&] {
    require(out != nullptr);
    auto& client = *simgpu_blas_client();
    check(client.start());
    auto handle = std::make_unique<cublasContext>();
    check(client.make_current(&handle->context));
    check(client.driver().cuMemAlloc(&handle->result, kResultBytes));
    *out = handle.release();
  });
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  return with_handle(handle, [&](cublasContext& context) {
    auto& client = *simgpu_blas_client();
    // As documented, it waits for the device. The context may have gone, with what the handle held.
    const refrain::simgpu::native::InContext there(client, context.context);
    if (there.result() == CUDA_SUCCESS && client.driver().cuCtxSynchronize() == CUDA_SUCCESS) {
      client.driver().cuMemFree(context.result);
    }
    delete &context;
  });
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return with_handle(handle, [&](cublasContext& context) { context.stream = stream; });
}
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  return with_handle(handle, [&](cublasContext& context) {
    require(stream != nullptr);
    *stream = context.stream;
  });
}

// Nothing here needs a workspace.
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t) {
  return with_handle(handle, [&](cublasContext&) { require(address_of(workspace) % 256 == 0); });
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  return with_handle(handle, [&](cublasContext& context) {
    require(mode == CUBLAS_POINTER_MODE_HOST || mode == CUBLAS_POINTER_MODE_DEVICE);
    context.pointer_mode = mode;
  });
}
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return with_handle(handle, [&](cublasContext& context) {
    require(mode != nullptr);
    *mode = context.pointer_mode;
  });
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  return with_handle(handle, [&](cublasContext& context) {
    require(mode == CUBLAS_ATOMICS_NOT_ALLOWED || mode == CUBLAS_ATOMICS_ALLOWED);
    context.atomics_mode = mode;
  });
}
cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode) {
  return with_handle(handle, [&](cublasContext& context) {
    require(mode != nullptr);
    *mode = context.atomics_mode;
  });
}

// Every mode permits full precision.
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return with_handle(handle, [&](cublasContext& context) {
    const int plain =
        static_cast<int>(mode) & ~static_cast<int>(CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
    require(plain >= CUBLAS_DEFAULT_MATH && plain <= CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH);
    context.math_mode = mode;
  });
}
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return with_handle(handle, [&](cublasContext& context) {
    require(mode != nullptr);
    *mode = static_cast<cublasMath_t>(context.math_mode);
  });
}

cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int count) {
  return with_handle(handle, [&](cublasContext& context) {
    require(count >= 0);
    context.sm_count_target = count;
  });
}
cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int* count) {
  return with_handle(handle, [&](cublasContext& context) {
    require(count != nullptr);
    *count = context.sm_count_target;
  });
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  if (version == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  return version_part(type, *value);
}
size_t cublasGetCudartVersion() {
  return CUDA_VERSION;
}

const char* cublasGetStatusName(cublasStatus_t status) {
  return status_row(status).name;
}
const char* cublasGetStatusString(cublasStatus_t status) {
  return status_row(status).text;
}

// The library has nothing to log.
cublasStatus_t cublasLoggerConfigure(int, int, int, const char*) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetLoggerCallback(cublasLogCallback callback) {
  log_callback = callback;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetLoggerCallback(cublasLogCallback* callback) {
  if (callback == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *callback = log_callback;
  return CUBLAS_STATUS_SUCCESS;
}
