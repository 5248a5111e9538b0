// Reading the program's handles and keeping refrain's own. Must never change one of the program's.
#include "preload/cublas_handles.hpp"

#include "cuda/inside_library.hpp"
#include "cuda/runtime.hpp"
#include "preload/library_lookup.hpp"
#include "preload/session.hpp"

namespace refrain::preload {
namespace {

template <class Function, class Handle, class Value>
bool ask(Function function, Handle handle, Value* value) {
  return function && function(handle, value) == CUBLAS_STATUS_SUCCESS;
}
template <class Function, class Handle, class Value>
bool tell(Function function, Handle handle, Value value) {
  return function && function(handle, value) == CUBLAS_STATUS_SUCCESS;
}

}  // namespace

bool read_situation(cublasHandle_t handle, CublasSituation& out) {
  cublasAtomicsMode_t atomics{};
  cudaStream_t stream = nullptr;
  if (!handle || !ask(REFRAIN_REAL(cublasGetStream_v2), handle, &stream) ||
      !ask(REFRAIN_REAL(cublasGetPointerMode_v2), handle, &out.state.pointer_mode) ||
      !ask(REFRAIN_REAL(cublasGetMathMode), handle, &out.state.math_mode) ||
      !ask(REFRAIN_REAL(cublasGetAtomicsMode), handle, &atomics)) {
    return false;
  }
  out.state.sm_count_target = 0;
  if (const auto sm_count = REFRAIN_REAL(cublasGetSmCountTarget)) {
    if (sm_count(handle, &out.state.sm_count_target) != CUBLAS_STATUS_SUCCESS) return false;
  }
  const CublasSettings::Own own = CublasSettings::instance().of(handle);
  out.state.workspace_bytes = own.workspace_bytes;
  out.stream = stream ? stream : CU_STREAM_LEGACY;
  out.doubt = atomics != CUBLAS_ATOMICS_NOT_ALLOWED ? "atomics are allowed, and the order of sums is open"
              : own.unknown                         ? "its handle has settings that are not carried over"
                                                    : nullptr;
  return true;
}

CublasSettings& CublasSettings::instance() {
  static CublasSettings* const settings = new CublasSettings;  // never destroyed: used until the very end
  return *settings;
}

CublasSettings::Own CublasSettings::of(cublasHandle_t handle) {
  if (count_.load(std::memory_order_relaxed) == 0) return {};
  const std::lock_guard lock(mutex_);
  const auto found = own_.find(handle);
  return found == own_.end() ? Own{} : found->second;
}

void CublasSettings::set_workspace(cublasHandle_t handle, std::size_t bytes) {
  if (bytes == 0 && count_.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(mutex_);
  own_[handle].workspace_bytes = bytes;
  count_ = own_.size();
}

void CublasSettings::set_unknown(cublasHandle_t handle) {
  const std::lock_guard lock(mutex_);
  own_[handle].unknown = true;
  count_ = own_.size();
}

void CublasSettings::forget(cublasHandle_t handle) {
  const std::lock_guard lock(mutex_);
  own_.erase(handle);
  count_ = own_.size();
}

ReplayHandles& ReplayHandles::instance() {
  static ReplayHandles* const handles = new ReplayHandles;  // never destroyed: used until the very end
  return *handles;
}

bool ReplayHandles::prepare(cuda::Runtime& runtime, std::size_t workspace_bytes) {
  if (failed_) return false;
  if (cublas_ && workspace_bytes == 0) return true;
  if (!runtime.manages_current_context()) return false;
  const std::lock_guard lock(making_);
  const cuda::InsideLibrary inside(cuda::Inside::kSetUp);
  if (!cublas_) {
    const auto create = REFRAIN_REAL(cublasCreate_v2);
    cublasHandle_t made = nullptr;
    if (!create || create(&made) != CUBLAS_STATUS_SUCCESS) {
      failed_ = true;
      return false;
    }
    cublas_ = made;
  }
  return workspace_bytes == 0 || make_workspace(workspace_bytes);
}

bool ReplayHandles::make_workspace(std::size_t bytes) {
  {
    const std::lock_guard lock(workspaces_mutex_);
    if (workspaces_.contains(bytes)) return true;
  }
  CUdeviceptr made = 0;
  // Through our own hook, which counts it.
  if (cuMemAlloc(&made, bytes) != CUDA_SUCCESS) return false;
  const std::lock_guard lock(workspaces_mutex_);
  workspaces_[bytes] = made;
  return true;
}

bool ReplayHandles::prepare_lt(cuda::Runtime& runtime) {
  if (failed_) return false;
  if (lt_) return true;
  if (!runtime.manages_current_context()) return false;
  const std::lock_guard lock(making_);
  if (lt_) return true;
  const cuda::InsideLibrary inside(cuda::Inside::kSetUp);
  const auto create = REFRAIN_REAL(cublasLtCreate);
  cublasLtHandle_t made = nullptr;
  failed_ = !create || create(&made) != CUBLAS_STATUS_SUCCESS;
  lt_ = made;
  return !failed_;
}

cublasHandle_t ReplayHandles::cublas(const CublasState& state, CUstream stream) {
  const cublasHandle_t handle = cublas_;
  // The stream first: it also takes cuBLAS back to a workspace of its own.
  if (!handle || !tell(REFRAIN_REAL(cublasSetStream_v2), handle, stream) ||
      !tell(REFRAIN_REAL(cublasSetPointerMode_v2), handle, state.pointer_mode) ||
      !tell(REFRAIN_REAL(cublasSetMathMode), handle, state.math_mode)) {
    return nullptr;
  }
  const auto set_sm_count = REFRAIN_REAL(cublasSetSmCountTarget);
  if (set_sm_count && set_sm_count(handle, state.sm_count_target) != CUBLAS_STATUS_SUCCESS) return nullptr;
  if (state.workspace_bytes == 0) return handle;
  const std::lock_guard lock(workspaces_mutex_);
  const auto workspace = workspaces_.find(state.workspace_bytes);
  const auto set_workspace = REFRAIN_REAL(cublasSetWorkspace_v2);
  if (workspace == workspaces_.end() || !set_workspace) return nullptr;
  const cublasStatus_t status =
      set_workspace(handle, reinterpret_cast<void*>(workspace->second), state.workspace_bytes);
  return status == CUBLAS_STATUS_SUCCESS ? handle : nullptr;
}

void ReplayHandles::context_gone(bool alive) {
  const cublasHandle_t cublas = cublas_.exchange(nullptr);
  const cublasLtHandle_t lt = lt_.exchange(nullptr);
  const cuda::InsideLibrary inside(cuda::Inside::kReplay);
  {
    const std::lock_guard lock(workspaces_mutex_);
    for (const auto& [bytes, address] : workspaces_) {
      if (alive) cuMemFree(address);
    }
    workspaces_.clear();
  }
  if (!alive) return;
  if (cublas) REFRAIN_REAL(cublasDestroy_v2)(cublas);
  if (lt) REFRAIN_REAL(cublasLtDestroy)(lt);
}

}  // namespace refrain::preload
