// Graphs and stream capture.
#include "fixture.hpp"

namespace refrain::simgpu::driver::test {
namespace {

class GraphTest : public DriverTest {
 protected:
  CUDA_KERNEL_NODE_PARAMS params(CUfunction function) {
    CUDA_KERNEL_NODE_PARAMS out{};
    out.func = function;
    out.gridDimX = 4;
    out.gridDimY = out.gridDimZ = out.blockDimY = out.blockDimZ = 1;
    out.blockDimX = 32;
    out.kernelParams = pointers_;
    return out;
  }
  CUdeviceptr p_ = 0;
  std::uint32_t value_ = 0, n_ = 100;
  void* pointers_[3] = {&p_, &value_, &n_};
};

TEST_F(GraphTest, NodesRunInTheirOrderAndCanBeUpdated) {
  p_ = allocate(400);
  CUgraph graph = nullptr;
  OK(cuGraphCreate(&graph, 0));
  CUgraphNode first = nullptr, second = nullptr;
  value_ = 2;
  CUDA_KERNEL_NODE_PARAMS adding = params(add_);
  OK(cuGraphAddKernelNode_v2(&second, graph, nullptr, 0, &adding));
  CUDA_MEMSET_NODE_PARAMS zero{};
  zero.dst = p_;
  zero.elementSize = 4;
  zero.width = 100;
  zero.height = 1;
  OK(cuGraphAddMemsetNode(&first, graph, nullptr, 0, &zero, context_));
  OK(cuGraphAddDependencies_v2(graph, &first, &second, nullptr, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies_v2(graph, &first, &first, nullptr, 1));
  CUgraphExec exec = nullptr;
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  value_ = 99;  // the parameters were copied
  OK(cuGraphLaunch(exec, nullptr));
  EXPECT_EQ(std::vector<std::uint32_t>(100, 2), read(p_, 100));
  OK(cuGraphExecKernelNodeSetParams_v2(exec, second, &adding));
  OK(cuGraphLaunch(exec, nullptr));
  EXPECT_EQ(std::vector<std::uint32_t>(100, 99), read(p_, 100));
  CUDA_KERNEL_NODE_PARAMS told{};
  OK(cuGraphKernelNodeGetParams_v2(second, &told));
  EXPECT_EQ(2U, *static_cast<std::uint32_t*>(told.kernelParams[1]));
  OK(cuGraphNodeSetEnabled(exec, second, 0));
  OK(cuGraphLaunch(exec, nullptr));
  EXPECT_EQ(std::vector<std::uint32_t>(100, 0), read(p_, 100));
  OK(cuGraphExecDestroy(exec));
  OK(cuGraphDestroy(graph));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(graph));
}

TEST_F(GraphTest, ACycleIsRefused) {
  CUgraph graph = nullptr;
  OK(cuGraphCreate(&graph, 0));
  CUgraphNode a = nullptr, b = nullptr;
  OK(cuGraphAddEmptyNode(&a, graph, nullptr, 0));
  OK(cuGraphAddEmptyNode(&b, graph, &a, 1));
  OK(cuGraphAddDependencies_v2(graph, &b, &a, nullptr, 1));
  CUgraphExec exec = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags(&exec, graph, 0));
}

TEST_F(GraphTest, ChildGraphsAndClones) {
  p_ = allocate(400);
  OK(cuMemsetD32(p_, 0, 100));
  CUgraph inner = nullptr, outer = nullptr, clone = nullptr;
  OK(cuGraphCreate(&inner, 0));
  OK(cuGraphCreate(&outer, 0));
  CUgraphNode node = nullptr, child = nullptr, after = nullptr;
  value_ = 1;
  CUDA_KERNEL_NODE_PARAMS adding = params(add_);
  OK(cuGraphAddKernelNode_v2(&node, inner, nullptr, 0, &adding));
  OK(cuGraphAddChildGraphNode(&child, outer, nullptr, 0, inner));
  value_ = 10;
  OK(cuGraphAddKernelNode_v2(&after, outer, &child, 1, &adding));
  OK(cuGraphClone(&clone, outer));
  CUgraphNode found = nullptr;
  OK(cuGraphNodeFindInClone(&found, after, clone));
  OK(cuGraphDestroy(outer));
  CUgraphExec exec = nullptr;
  OK(cuGraphInstantiateWithFlags(&exec, clone, 0));
  OK(cuGraphLaunch(exec, nullptr));
  OK(cuGraphLaunch(exec, nullptr));
  EXPECT_EQ(std::vector<std::uint32_t>(100, 22), read(p_, 100));
}

TEST_F(GraphTest, CaptureAcrossStreams) {
  p_ = allocate(400);
  const CUdeviceptr other = allocate(400);
  const CUstream a = stream(), b = stream();
  const CUevent fork = event(), join = event();
  OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  OK(fill(p_, 1, 100, a));
  OK(cuEventRecord(fork, a));
  OK(cuStreamWaitEvent(b, fork, 0));
  OK(cuMemcpyDtoDAsync(other, p_, 400, b));
  OK(add(other, 5, 100, b));
  OK(cuEventRecord(join, b));
  CUstreamCaptureStatus status{};
  OK(cuStreamIsCapturing(b, &status));
  EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_ACTIVE, status);
  EXPECT_EQ(CUDA_ERROR_CAPTURED_EVENT, cuEventSynchronize(join));
  OK(cuStreamWaitEvent(a, join, 0));
  CUgraph graph = nullptr;
  OK(cuStreamEndCapture(a, &graph));
  std::size_t count = 0;
  OK(cuGraphGetNodes(graph, nullptr, &count));
  EXPECT_EQ(3U, count);
  CUgraphExec exec = nullptr;
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cuMemsetD32(other, 0, 100));
  OK(cuGraphLaunch(exec, a));
  OK(cuStreamSynchronize(a));
  EXPECT_EQ(from(6, 100), read(other, 100));
}

TEST_F(GraphTest, CaptureRulesAreKept) {
  const CUstream a = stream(), b = stream(), blocking = stream(CU_STREAM_DEFAULT);
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUgraph graph = nullptr;
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(a, &graph));
  // A wait inside a capture makes it invalid.
  OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(a));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(a, &graph));
  EXPECT_EQ(nullptr, graph);
  // So does an allocation, unless the thread has asked for the relaxed mode.
  CUdeviceptr p = 0;
  OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(CUDA_SUCCESS, cuMemAlloc(&p, 4));
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc(&p, 4));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(a, &graph));
  // Work on the legacy stream would depend on a blocking stream that captures.
  p = allocate(400);
  OK(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, fill(p, 1, 100));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(blocking, &graph));
  // A stream that joined must come back.
  const CUevent fork = event();
  OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(cuEventRecord(fork, a));
  OK(cuStreamWaitEvent(b, fork, 0));
  OK(fill(p, 1, 100, b));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(b, &graph));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(a, &graph));
  OK(fill(p, 1, 100, b));  // no longer capturing
}

TEST_F(GraphTest, ACaptureGoesWithItsStream) {
  constexpr char kCode[] = R"(.version 8.0
.target sm_70
.address_size 64
.global .align 8 .b8 large[1048576];
.visible .entry touch() { .reg .b32 %r<2>; mov.u32 %r1, 1; st.global.u32 [large], %r1; ret; }
)";
  std::size_t before = 0, after = 0;
  OK(cuMemGetInfo(&before, nullptr));
  CUmodule module = nullptr;
  CUfunction touch = nullptr;
  OK(cuModuleLoadData(&module, kCode));
  OK(cuModuleGetFunction(&touch, module, "touch"));
  const CUstream a = stream(), b = stream();
  const CUevent fork = event();
  OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(cuLaunchKernel(touch, 1, 1, 1, 1, 1, 1, 0, a, nullptr, nullptr));
  OK(cuEventRecord(fork, a));
  OK(cuStreamWaitEvent(b, fork, 0));
  OK(cuStreamDestroy(a));
  // Nobody can end it any more: what joined stays invalid, and nothing else is held up.
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
            cuLaunchKernel(touch, 1, 1, 1, 1, 1, 1, 0, b, nullptr, nullptr));
  EXPECT_EQ(CUDA_ERROR_CAPTURED_EVENT, cuStreamWaitEvent(stream(), fork, 0));
  OK(cuModuleUnload(module));
  OK(cuMemGetInfo(&after, nullptr));
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace refrain::simgpu::driver::test
