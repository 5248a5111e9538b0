// The handlers behind library_calls.def: from a call of a library's function to a call of the runtime. What
// an op touches is not known here, but told by its description.
//
// A handler is a class with a function template `call<H>`, whose type is that of the function it stands for.
#pragma once

#include <curand.h>

#include <new>

#include "preload/cublas_handles.hpp"
#include "preload/cublas_uses.hpp"
#include "preload/cublaslt_uses.hpp"
#include "preload/handlers.hpp"
#include "preload/library_lookup.hpp"
#include "preload/library_record.hpp"

namespace refrain::preload {

// The real function with exactly these types.
template <class Status, class... Args>
auto real_library(LibraryHook hook, Status (*)(Args...)) {
  return reinterpret_cast<Status (*)(Args...)>(real_function(hook));
}

// nullptr: straight to the library, because nothing is managed, or because the call comes from a library.
inline cuda::Runtime* runtime_for_library() {
  return cuda::inside_library == cuda::Inside::kNothing ? runtime() : nullptr;
}

// What each library says where it is not there, and where an op cannot be issued.
struct CublasStatus {
  using Type = cublasStatus_t;
  static constexpr Type kOk = CUBLAS_STATUS_SUCCESS, kAbsent = CUBLAS_STATUS_NOT_INITIALIZED,
                        kNoMemory = CUBLAS_STATUS_ALLOC_FAILED, kFailed = CUBLAS_STATUS_EXECUTION_FAILED;
};
struct CurandStatus {
  using Type = curandStatus_t;
  static constexpr Type kOk = CURAND_STATUS_SUCCESS, kAbsent = CURAND_STATUS_NOT_INITIALIZED,
                        kNoMemory = CURAND_STATUS_ALLOCATION_FAILED, kFailed = CURAND_STATUS_LAUNCH_FAILURE;
};
template <class Status>
using StatusOf = std::conditional_t<std::is_same_v<Status, cublasStatus_t>, CublasStatus, CurandStatus>;

// The call as one op; or, where it is none, with its launches handled one by one.
template <class Status, class Call>
typename Status::Type as_op(cuda::Runtime& runtime, CUstream stream, std::span<const cuda::LibraryUse> uses,
                            const cuda::LibraryOp& op, Call&& call) {
  typename Status::Type status{};
  bool called = false;
  const auto real_call = [&] {
    called = true;
    status = call();
    return status == Status::kOk ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
  };
  try {
    const std::optional<CUresult> result = runtime.library_call(stream, uses, op, real_call);
    if (called) return status;
    if (result) return *result == CUDA_ERROR_OUT_OF_MEMORY ? Status::kNoMemory : Status::kFailed;
  } catch (const std::bad_alloc&) {
    return called ? status : Status::kNoMemory;
  }
  const cuda::InsideLibrary inside(cuda::Inside::kSetUp);
  return call();
}

// What a library allocates here, it keeps for later calls.
template <class Signature>
struct SetUp;
template <class Status, class... Args>
struct SetUp<Status(Args...)> {
  template <LibraryHook H>
  static Status call(Args... args) {
    const auto real = real_library(H, &call<H>);
    if (!real) return StatusOf<Status>::kAbsent;
    if (!runtime_for_library()) return real(args...);
    const cuda::InsideLibrary inside(cuda::Inside::kSetUp);
    return real(args...);
  }
};

struct CublasDestroy {
  template <LibraryHook H>
  static cublasStatus_t call(cublasHandle_t handle) {
    CublasSettings::instance().forget(handle);
    return SetUp<cublasStatus_t(cublasHandle_t)>::call<H>(handle);
  }
};

struct CublasSetStream {
  template <LibraryHook H>
  static cublasStatus_t call(cublasHandle_t handle, cudaStream_t stream) {
    const cublasStatus_t status =
        SetUp<cublasStatus_t(cublasHandle_t, cudaStream_t)>::call<H>(handle, stream);
    // As documented, the handle goes back to a workspace of cuBLAS's own.
    if (status == CUBLAS_STATUS_SUCCESS && runtime_for_library()) {
      CublasSettings::instance().set_workspace(handle, 0);
    }
    return status;
  }
};

// The workspace is never evicted: what cuBLAS keeps in it between calls is nobody's to know.
struct CublasSetWorkspace {
  template <LibraryHook H>
  static cublasStatus_t call(cublasHandle_t handle, void* workspace, std::size_t bytes) {
    cuda::Runtime* r = runtime_for_library();
    const bool pinned = !r || r->pin_bytes(reinterpret_cast<CUdeviceptr>(workspace), bytes) == CUDA_SUCCESS;
    if (!pinned) return CUBLAS_STATUS_ALLOC_FAILED;
    const cublasStatus_t status =
        SetUp<cublasStatus_t(cublasHandle_t, void*, std::size_t)>::call<H>(handle, workspace, bytes);
    if (status == CUBLAS_STATUS_SUCCESS && r) CublasSettings::instance().set_workspace(handle, bytes);
    return status;
  }
};

// Settings of newer libraries than ours may be: the value is an enumerator, an int or a pointer, all of which
// this platform passes in the register that a pointer is passed in.
struct CublasOwnSetting {
  template <LibraryHook H>
  static cublasStatus_t call(cublasHandle_t handle, void* value) {
    if (runtime_for_library()) CublasSettings::instance().set_unknown(handle);
    return SetUp<cublasStatus_t(cublasHandle_t, void*)>::call<H>(handle, value);
  }
};

template <auto Describe, class = decltype(Describe)>
struct CublasOp;
template <auto Describe, class... Args>
struct CublasOp<Describe, void (*)(LibraryUses&, const Args&...)> {
  struct Record {
    Pack<Args...> arguments;
    CublasState state;
    std::array<HostScalar, kMostHostScalars> scalars;
  };

  template <LibraryHook H>
  static cublasStatus_t call(Args... args) {
    const auto real = real_library(H, &call<H>);
    if (!real) return CUBLAS_STATUS_NOT_INITIALIZED;
    cuda::Runtime* r = runtime_for_library();
    if (!r) return real(args...);
    const auto real_call = [&] { return real(args...); };
    Record record{.arguments = pack(args...), .state = {}, .scalars = {}};
    CublasSituation situation{};
    const bool known = read_situation(record.arguments.first, situation);
    record.state = situation.state;
    LibraryUses uses(&record, record.scalars, situation.state.pointer_mode == CUBLAS_POINTER_MODE_DEVICE);
    if (known) apply([&](const auto&... argument) { Describe(uses, argument...); }, record.arguments);
    if (!known || uses.refused()) {
      const cuda::InsideLibrary inside(cuda::Inside::kSetUp);
      return real_call();
    }
    const bool can_replay = ReplayHandles::instance().prepare(*r, situation.state.workspace_bytes);
    const cuda::LibraryOp op{.name = name_of(H),
                             .replay = can_replay && !situation.doubt ? &replay<H> : nullptr,
                             .reason = situation.doubt ? situation.doubt : "there is no handle for it",
                             .record = {reinterpret_cast<const std::byte*>(&record), sizeof record}};
    return as_op<CublasStatus>(*r, situation.stream, uses.all(), op, real_call);
  }

  template <LibraryHook H>
  static CUresult replay(std::byte* bytes, CUstream stream) {
    Record& record = record_at<Record>(bytes);
    record.arguments.first = ReplayHandles::instance().cublas(record.state, stream);
    if (!record.arguments.first) return CUDA_ERROR_INVALID_HANDLE;
    point_to_scalars(bytes, record.scalars);
    const auto real = real_library(H, &call<H>);
    const cublasStatus_t status =
        apply([&](const auto&... argument) { return real(argument...); }, record.arguments);
    return status == CUBLAS_STATUS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
  }
};

struct LtMatmul {
  template <LibraryHook H>
  static cublasStatus_t call(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha,
                             const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                             cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                             cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                             const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                             std::size_t workspace_bytes, cudaStream_t stream) {
    const auto real = real_library(H, &call<H>);
    if (!real) return CUBLAS_STATUS_NOT_INITIALIZED;
    const auto real_call = [&] {
      return real(handle, operation, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout,
                  algorithm, workspace, workspace_bytes, stream);
    };
    cuda::Runtime* r = runtime_for_library();
    if (!r) return real_call();
    Record record{.alpha = alpha,
                  .a = a,
                  .b = b,
                  .beta = beta,
                  .c = c,
                  .d = d,
                  .workspace = workspace,
                  .workspace_bytes = workspace_bytes,
                  .has_algorithm = algorithm != nullptr,
                  .descriptors = {},
                  .scalars = {}};
    const std::optional<bool> on_device = operation ? lt_scalars_on_device(operation) : std::nullopt;
    LibraryUses uses(&record, record.scalars, on_device.value_or(false));
    if (on_device) {
      describe_lt_matmul(uses, operation, a_layout, b_layout, c_layout, d_layout,
                         {record.alpha, record.a, record.b, record.beta, record.c, record.d, record.workspace,
                          workspace_bytes},
                         record.descriptors);
    }
    if (!on_device || uses.refused()) {
      const cuda::InsideLibrary inside(cuda::Inside::kSetUp);
      return real_call();
    }
    const bool can_replay = lt_descriptors_can_be_copied() && ReplayHandles::instance().prepare_lt(*r);
    if (can_replay) {
      record.descriptors.operation = *operation;
      record.descriptors.a = *a_layout;
      record.descriptors.b = *b_layout;
      record.descriptors.c = *c_layout;
      record.descriptors.d = *d_layout;
      if (algorithm) record.descriptors.algorithm = *algorithm;
    }
    const cuda::LibraryOp op{.name = name_of(H),
                             .replay = can_replay ? &replay<H> : nullptr,
                             .reason = "there is no handle for it, or the library is of another version",
                             .record = {reinterpret_cast<const std::byte*>(&record), sizeof record}};
    return as_op<CublasStatus>(*r, stream ? stream : CU_STREAM_LEGACY, uses.all(), op, real_call);
  }

 private:
  struct Record {
    const void *alpha, *a, *b, *beta, *c;
    void *d, *workspace;
    std::size_t workspace_bytes;
    bool has_algorithm;
    LtDescriptors descriptors;
    std::array<HostScalar, kMostHostScalars> scalars;
  };

  template <LibraryHook H>
  static CUresult replay(std::byte* bytes, CUstream stream) {
    Record& record = record_at<Record>(bytes);
    LtDescriptors& with = record.descriptors;
    point_to_scalars(bytes, record.scalars);
    const cublasLtHandle_t handle = ReplayHandles::instance().lt();
    if (!handle || !point_descriptors(with)) return CUDA_ERROR_INVALID_HANDLE;
    const cublasStatus_t status = real_library(H, &call<H>)(
        handle, &with.operation, record.alpha, record.a, &with.a, record.b, &with.b, record.beta, record.c,
        &with.c, record.d, &with.d, record.has_algorithm ? &with.algorithm : nullptr, record.workspace,
        record.workspace_bytes, stream);
    return status == CUBLAS_STATUS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
  }
};

// A generator does not tell its stream.
class CurandStreams {
 public:
  static CurandStreams& instance() {
    static CurandStreams* const streams = new CurandStreams;  // never destroyed: used until the very end
    return *streams;
  }
  CUstream of(curandGenerator_t generator) {
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(generator);
    return found == streams_.end() || !found->second ? CU_STREAM_LEGACY : found->second;
  }
  void set(curandGenerator_t generator, CUstream stream) {
    const std::lock_guard lock(mutex_);
    streams_[generator] = stream;
  }
  void forget(curandGenerator_t generator) {
    const std::lock_guard lock(mutex_);
    streams_.erase(generator);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<curandGenerator_t, CUstream> streams_;
};

struct CurandSetStream {
  template <LibraryHook H>
  static curandStatus_t call(curandGenerator_t generator, cudaStream_t stream) {
    const curandStatus_t status =
        SetUp<curandStatus_t(curandGenerator_t, cudaStream_t)>::call<H>(generator, stream);
    if (status == CURAND_STATUS_SUCCESS) CurandStreams::instance().set(generator, stream);
    return status;
  }
};

struct CurandDestroy {
  template <LibraryHook H>
  static curandStatus_t call(curandGenerator_t generator) {
    CurandStreams::instance().forget(generator);
    return SetUp<curandStatus_t(curandGenerator_t)>::call<H>(generator);
  }
};

// The numbers come after those of the last call, which nothing can go back to.
template <class Call>
curandStatus_t curand_op(LibraryHook hook, curandGenerator_t generator,
                         std::span<const cuda::LibraryUse> uses, Call&& call) {
  const cuda::LibraryOp op{
      .name = name_of(hook), .replay = nullptr, .reason = "the generator has moved on since", .record = {}};
  return as_op<CurandStatus>(*runtime(), CurandStreams::instance().of(generator), uses, op, call);
}

template <class T, class... Rest>
struct CurandOp {
  template <LibraryHook H>
  static curandStatus_t call(curandGenerator_t generator, T* out, std::size_t count, Rest... rest) {
    const auto real = real_library(H, &call<H>);
    if (!real) return CURAND_STATUS_NOT_INITIALIZED;
    if (!runtime_for_library()) return real(generator, out, count, rest...);
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(count, sizeof(T), &bytes)) return CURAND_STATUS_OUT_OF_RANGE;
    const cuda::LibraryUse use{.record_offset_bytes = 0,
                               .address = reinterpret_cast<CUdeviceptr>(out),
                               .begin = 0,
                               .end = bytes,
                               .read = false,
                               .written = true,
                               .whole = true,
                               .undefined = false};
    return curand_op(H, generator, {&use, 1}, [&] { return real(generator, out, count, rest...); });
  }
};

struct CurandSeeds {
  template <LibraryHook H>
  static curandStatus_t call(curandGenerator_t generator) {
    const auto real = real_library(H, &call<H>);
    if (!real) return CURAND_STATUS_NOT_INITIALIZED;
    if (!runtime_for_library()) return real(generator);
    return curand_op(H, generator, {}, [&] { return real(generator); });
  }
};

}  // namespace refrain::preload
