// cuBLAS handles: what of a handle decides how a call of it comes out, and the handles of refrain's own on
// which calls are made again, so that the program's may be destroyed, and used by their thread meanwhile.
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_map>

namespace refrain::cuda {
class Runtime;
}

namespace refrain::preload {

// The settings that a call was made with. Plain data: a part of the call's record.
struct CublasState {
  cublasPointerMode_t pointer_mode;
  cublasMath_t math_mode;
  int sm_count_target;
  std::size_t workspace_bytes;  // of the program's own; 0: cuBLAS has its own
};

struct CublasSituation {
  CublasState state;
  CUstream stream;
  const char* doubt;  // why a call that is made again may differ, for people; nullptr: it does not
};

// false: it is no handle, or the library in use lacks what must be asked.
bool read_situation(cublasHandle_t handle, CublasSituation& out);

// What the program has told its handles and cuBLAS has no question for. Thread safety: any thread.
class CublasSettings {
 public:
  static CublasSettings& instance();
  struct Own {
    std::size_t workspace_bytes = 0;
    bool unknown = false;  // a setting was made that is not carried over
  };
  Own of(cublasHandle_t handle);
  void set_workspace(cublasHandle_t handle, std::size_t bytes);
  void set_unknown(cublasHandle_t handle);
  void forget(cublasHandle_t handle);

 private:
  std::atomic<std::size_t> count_{0};  // of handles that have any: mostly none
  std::mutex mutex_;
  std::unordered_map<cublasHandle_t, Own> own_;
};

// Thread safety: any thread may call prepare, without the runtime's lock; the others need that lock, which
// is also what keeps two threads from using the handles at once.
class ReplayHandles {
 public:
  static ReplayHandles& instance();
  // Before a call is recorded: what its replay will need is made while the device still has room for it.
  // false: it cannot be had.
  bool prepare(cuda::Runtime& runtime, std::size_t workspace_bytes);
  bool prepare_lt(cuda::Runtime& runtime);

  // The handle with those settings, on the stream; nullptr: there is none.
  cublasHandle_t cublas(const CublasState& state, CUstream stream);
  cublasLtHandle_t lt() { return lt_; }
  void context_gone(bool alive);

 private:
  bool make_workspace(std::size_t bytes);
  std::mutex making_;
  std::atomic<cublasHandle_t> cublas_{nullptr};
  std::atomic<cublasLtHandle_t> lt_{nullptr};
  std::atomic<bool> failed_{false};  // once is enough: the next attempt would cost as much
  std::mutex workspaces_mutex_;
  std::map<std::size_t, CUdeviceptr> workspaces_;
};

}  // namespace refrain::preload
