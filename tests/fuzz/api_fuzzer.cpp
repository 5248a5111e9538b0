// Sequences of driver calls, drawn from the input: valid handles and stale ones, addresses near and far from
// those that are in use. No call may crash, whatever it returns. Host pointers are always good: a wrong one
// is the program's fault.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "simgpu/driver/api.hpp"

namespace {

constexpr std::size_t kHostBytes = 1u << 16;
constexpr std::size_t kGranule = 4096;
constexpr int kMostCalls = 200;

constexpr char kKernels[] = R"(.version 8.0
.target sm_70
.address_size 64
.global .align 8 .b8 variable[64];
.visible .entry fill(.param .u64 p, .param .u32 n) {
.reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .pred %p;
ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; setp.ge.u32 %p, %r2, %r1; @%p bra Out;
mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r2;
Out: ret;
}
.visible .entry sum(.param .u64 p, .param .u32 n) {
.reg .b64 %rd<4>; .reg .b32 %r<4>;
ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; red.global.add.u32 [%rd1], %r1; bar.sync 0; ret;
}
)";

void nothing(void*) {}

// The input as a source of choices; when it ends, all are 0.
class Choices {
 public:
  Choices(const std::uint8_t* data, std::size_t bytes) : data_(data), left_(bytes) {}
  bool more() const { return left_ > 0; }
  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int i = byte() % 5; i >= 0; --i) value = value << 8 | byte();
    return value;
  }
  std::size_t host_bytes() { return static_cast<std::size_t>(number() % kHostBytes); }
  template <class T>
  T pick(const std::vector<T>& from) {
    const std::uint8_t which = byte();
    return from.empty() || which == 255 ? T{} : from[which % from.size()];
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

class Session {
 public:
  explicit Session(Choices choices) : choices_(choices) {
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context_, 0);
    cuCtxSetCurrent(context_);
    cuModuleLoadData(&module_, kKernels);
    for (const char* name : {"fill", "sum"}) {
      CUfunction function = nullptr;
      if (cuModuleGetFunction(&function, module_, name) == CUDA_SUCCESS) functions_.push_back(function);
    }
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // Reset first: after a fault every call of the context fails, and what this session mapped would stay for
  // all that follow, until the host has no mappings left.
  ~Session() {
    cuDevicePrimaryCtxReset(0);
    cuDevicePrimaryCtxRetain(&context_, 0);
    cuCtxSetCurrent(context_);
    for (const auto& [address, bytes] : mapped_) cuMemUnmap(address, bytes);
    for (const auto handle : handles_) cuMemRelease(handle);
    for (const auto& [address, bytes] : reserved_) cuMemAddressFree(address, bytes);
    for (CUgraphExec exec : execs_) cuGraphExecDestroy(exec);
    for (CUgraph graph : graphs_) cuGraphDestroy(graph);
    expect_nothing_left();
    cuDevicePrimaryCtxReset(0);
    for (int retained = 0; retained < 2; ++retained) cuDevicePrimaryCtxRelease(0);
  }

  void run() {
    for (int calls = 0; calls < kMostCalls && choices_.more(); ++calls) call();
  }

 private:
  // Sessions follow each other in one process: memory that one leaves behind is lost, and the next ones see
  // it.
  void expect_nothing_left() const {
    unsigned flags = 0;
    for (void* pointer : pinned_) {
      if (cuMemHostGetFlags(&flags, pointer) == CUDA_SUCCESS) std::abort();
    }
    std::size_t free_bytes = 0, total_bytes = 0;
    if (cuMemGetInfo(&free_bytes, &total_bytes) == CUDA_SUCCESS && free_bytes == total_bytes) return;
    std::fprintf(stderr, "a session left %zu of %zu bytes behind\n", total_bytes - free_bytes, total_bytes);
    std::abort();
  }

  using Call = void (Session::*)();
  void call() {
    constexpr std::array kCalls = {
        &Session::allocate,     &Session::release,     &Session::copy,        &Session::fill,
        &Session::copy_2d,      &Session::stream,      &Session::event,       &Session::launch,
        &Session::wait,         &Session::capture,     &Session::graph,       &Session::add_nodes,
        &Session::virtual_make, &Session::virtual_map, &Session::virtual_end, &Session::query,
        &Session::host_memory,  &Session::in_order,    &Session::host_call,   &Session::module_calls,
    };
    (this->*kCalls[choices_.byte() % kCalls.size()])();
  }

  CUdeviceptr address() {
    const CUdeviceptr base = choices_.pick(addresses_);
    switch (choices_.byte() % 4) {
      case 0: return base + choices_.number();
      case 1: return choices_.number();
      default: return base;
    }
  }
  CUdeviceptr own_address() {
    const CUdeviceptr base = choices_.pick(addresses_);
    return base == 0 ? 0 : base + choices_.byte();
  }
  CUstream on() { return choices_.byte() % 3 == 0 ? nullptr : choices_.pick(streams_); }

  void allocate() {
    CUdeviceptr out = 0;
    std::size_t pitch = 0;
    const CUresult result =
        choices_.byte() % 4 == 0
            ? cuMemAllocPitch(&out, &pitch, choices_.host_bytes(), choices_.byte(), choices_.byte() % 24)
        : choices_.byte() % 4 == 0 ? cuMemAllocManaged(&out, choices_.number(), choices_.byte() % 4)
                                   : cuMemAlloc(&out, choices_.number());
    if (result == CUDA_SUCCESS) addresses_.push_back(out);
  }
  void release() { cuMemFree(address()); }

  void copy() {
    void* host = host_.data();
    switch (choices_.byte() % 5) {
      case 0: cuMemcpyHtoD(address(), host, choices_.host_bytes()); break;
      case 1: cuMemcpyDtoH(host, address(), choices_.host_bytes()); break;
      case 2: cuMemcpyDtoDAsync(address(), address(), choices_.number(), on()); break;
      case 3: cuMemcpyHtoDAsync(address(), host, choices_.host_bytes(), on()); break;
      default:
        // Either could be taken for a host pointer: those that are not the device's stay out.
        if (const CUdeviceptr to = own_address(), from = own_address(); to != 0 && from != 0) {
          cuMemcpyAsync(to, from, choices_.number() % kGranule, on());
        }
    }
  }

  void fill() {
    const CUdeviceptr to = address();
    switch (choices_.byte() % 4) {
      case 0: cuMemsetD8Async(to, choices_.byte(), choices_.number(), on()); break;
      case 1: cuMemsetD16(to, choices_.byte(), choices_.number()); break;
      case 2: cuMemsetD32Async(to, choices_.byte(), choices_.number(), on()); break;
      default: cuMemsetD2D8(to, choices_.number(), choices_.byte(), choices_.host_bytes(), choices_.byte());
    }
  }

  void copy_2d() {
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = choices_.byte() % 2 == 0 ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcHost = host_.data();
    copy.srcDevice = address();
    copy.dstDevice = address();
    copy.WidthInBytes = choices_.byte();
    copy.Height = choices_.byte() % 64;
    copy.srcPitch = copy.WidthInBytes + choices_.byte();
    copy.dstPitch = choices_.byte();
    copy.dstXInBytes = choices_.byte();
    copy.dstY = choices_.byte() % 4;
    cuMemcpy2DAsync(&copy, on());
  }

  void stream() {
    CUstream out = nullptr;
    switch (choices_.byte() % 3) {
      case 0:
        if (cuStreamCreateWithPriority(&out, choices_.byte() % 3, static_cast<int>(choices_.byte()) - 4) ==
            CUDA_SUCCESS)
          streams_.push_back(out);
        break;
      case 1: cuStreamDestroy(choices_.pick(streams_)); break;
      default: cuStreamQuery(on());
    }
  }

  void event() {
    CUevent out = nullptr;
    float ms = 0;
    switch (choices_.byte() % 6) {
      case 0:
        if (cuEventCreate(&out, choices_.byte() % 8) == CUDA_SUCCESS) events_.push_back(out);
        break;
      case 1: cuEventRecord(choices_.pick(events_), on()); break;
      case 2: cuStreamWaitEvent(on(), choices_.pick(events_), 0); break;
      case 3: cuEventElapsedTime(&ms, choices_.pick(events_), choices_.pick(events_)); break;
      case 4: cuEventSynchronize(choices_.pick(events_)); break;
      default: cuEventDestroy(choices_.pick(events_));
    }
  }

  void launch() {
    CUdeviceptr p = address();
    std::uint32_t n = choices_.byte();
    void* params[] = {&p, &n};
    cuLaunchKernel(choices_.pick(functions_), choices_.byte() % 4, choices_.byte() % 3, 1, choices_.byte(), 1,
                   choices_.byte() % 2, choices_.byte() * 300u, on(), params, nullptr);
  }

  void wait() {
    if (choices_.byte() % 2 == 0) {
      cuCtxSynchronize();
    } else {
      cuStreamSynchronize(on());
    }
  }

  void capture() {
    CUgraph out = nullptr;
    CUstreamCaptureStatus status{};
    switch (choices_.byte() % 3) {
      case 0: cuStreamBeginCapture_v2(on(), static_cast<CUstreamCaptureMode>(choices_.byte() % 4)); break;
      case 1:
        if (cuStreamEndCapture(on(), &out) == CUDA_SUCCESS && out != nullptr) graphs_.push_back(out);
        break;
      default: cuStreamIsCapturing(on(), &status);
    }
  }

  void graph() {
    CUgraph made = nullptr;
    CUgraphExec exec = nullptr;
    switch (choices_.byte() % 6) {
      case 0:
        if (cuGraphCreate(&made, 0) == CUDA_SUCCESS) graphs_.push_back(made);
        break;
      case 1:
        if (cuGraphInstantiateWithFlags(&exec, choices_.pick(graphs_), 0) == CUDA_SUCCESS)
          execs_.push_back(exec);
        break;
      case 2: cuGraphLaunch(choices_.pick(execs_), on()); break;
      case 3:
        if (cuGraphClone(&made, choices_.pick(graphs_)) == CUDA_SUCCESS) graphs_.push_back(made);
        break;
      case 4: cuGraphExecDestroy(choices_.pick(execs_)); break;
      default: cuGraphDestroy(choices_.pick(graphs_));
    }
  }

  void add_nodes() {
    CUgraphNode node = nullptr;
    const CUgraphNode before = choices_.pick(nodes_);
    const CUgraph graph = choices_.pick(graphs_);
    CUDA_MEMSET_NODE_PARAMS set{};
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    switch (choices_.byte() % 4) {
      case 0: result = cuGraphAddEmptyNode(&node, graph, &before, before != nullptr ? 1 : 0); break;
      case 1:
        set.dst = address();
        set.elementSize = choices_.byte() % 6;
        set.width = choices_.byte();
        set.height = choices_.byte() % 3;
        set.pitch = choices_.byte();
        result = cuGraphAddMemsetNode(&node, graph, &before, before != nullptr ? 1 : 0, &set, context_);
        break;
      case 2:
        result = cuGraphAddChildGraphNode(&node, graph, &before, before != nullptr ? 1 : 0,
                                          choices_.pick(graphs_));
        break;
      default: cuGraphDestroyNode(before);
    }
    if (result == CUDA_SUCCESS) nodes_.push_back(node);
  }

  void virtual_make() {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, choices_.byte() % 8 == 0 ? 1 : 0};
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr range = 0;
    const std::size_t bytes = choices_.byte() % 16 * kGranule + (choices_.byte() % 16 == 0 ? 1 : 0);
    if (choices_.byte() % 2 == 0) {
      if (cuMemCreate(&handle, bytes, &properties, 0) == CUDA_SUCCESS) handles_.push_back(handle);
    } else if (cuMemAddressReserve(&range, bytes, 0, address(), 0) == CUDA_SUCCESS) {
      reserved_.push_back({range, bytes});
      addresses_.push_back(range);
    }
  }
  void virtual_map() {
    const Range range = choices_.pick(reserved_);
    const CUdeviceptr at = range.address + choices_.byte() % 8 * kGranule;
    const std::size_t bytes = choices_.byte() % 16 * kGranule;
    CUmemAccessDesc access{};
    access.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    access.flags = static_cast<CUmemAccess_flags>(choices_.byte() % 4);
    if (choices_.byte() % 2 == 0) {
      if (cuMemMap(at, bytes, 0, choices_.pick(handles_), 0) == CUDA_SUCCESS) mapped_.push_back({at, bytes});
    } else {
      cuMemSetAccess(at, bytes, &access, 1);
    }
  }
  void virtual_end() {
    const Range range = choices_.pick(choices_.byte() % 2 == 0 ? mapped_ : reserved_);
    switch (choices_.byte() % 3) {
      case 0: cuMemUnmap(range.address, range.bytes); break;
      case 1: cuMemAddressFree(range.address, range.bytes); break;
      default: cuMemRelease(choices_.pick(handles_));
    }
  }

  void query() {
    std::uint64_t out[8] = {};
    std::size_t free_bytes = 0, total = 0;
    switch (choices_.byte() % 4) {
      case 0:
        // None of these attributes needs more than 64 bytes.
        cuPointerGetAttribute(out, static_cast<CUpointer_attribute>(choices_.byte() % 24), address());
        break;
      case 1: cuMemGetInfo(&free_bytes, &total); break;
      case 2: cuMemGetAddressRange(reinterpret_cast<CUdeviceptr*>(out), &total, address()); break;
      default:
        cuFuncGetAttribute(reinterpret_cast<int*>(out),
                           static_cast<CUfunction_attribute>(choices_.byte() % 20),
                           choices_.pick(functions_));
    }
  }

  void host_memory() {
    void* out = nullptr;
    if (choices_.byte() % 2 == 0) {
      if (cuMemHostAlloc(&out, choices_.host_bytes(), choices_.byte() % 8) == CUDA_SUCCESS)
        pinned_.push_back(out);
    } else {
      cuMemFreeHost(choices_.pick(pinned_));
    }
  }

  void in_order() {
    CUdeviceptr out = 0;
    if (choices_.byte() % 2 == 0) {
      if (cuMemAllocAsync(&out, choices_.number(), on()) == CUDA_SUCCESS) addresses_.push_back(out);
    } else {
      cuMemFreeAsync(address(), on());
    }
  }

  void host_call() { cuLaunchHostFunc(on(), nothing, nullptr); }

  void module_calls() {
    CUdeviceptr out = 0;
    std::size_t bytes = 0;
    CUfunction function = nullptr;
    if (choices_.byte() % 2 == 0) {
      if (cuModuleGetGlobal(&out, &bytes, module_, "variable") == CUDA_SUCCESS) addresses_.push_back(out);
    } else {
      cuModuleGetFunction(&function, module_, choices_.byte() % 2 == 0 ? "none" : "fill");
    }
  }

  struct Range {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
  };

  Choices choices_;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  std::vector<CUfunction> functions_;
  std::vector<CUdeviceptr> addresses_;
  std::vector<CUstream> streams_;
  std::vector<CUevent> events_;
  std::vector<CUgraph> graphs_;
  std::vector<CUgraphExec> execs_;
  std::vector<CUgraphNode> nodes_;
  std::vector<CUmemGenericAllocationHandle> handles_;
  std::vector<Range> reserved_, mapped_;
  std::vector<void*> pinned_;
  std::array<std::byte, 2 * kHostBytes> host_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  Session(Choices(data, bytes)).run();
  return 0;
}
