// Graphs in captures, memory nodes, nodes of any kind, updates, user objects, captures into a graph.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "fixture.hpp"

namespace refrain::simgpu::driver::test {
namespace {

class GraphNodes : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    OK(cuGraphCreate(&graph_, 0));
  }
  CUgraphNodeParams kernel(CUfunction function, CUdeviceptr p, std::uint32_t value) {
    p_ = p;
    value_ = value;
    CUgraphNodeParams out{};
    out.type = CU_GRAPH_NODE_TYPE_KERNEL;
    out.kernel.func = function;
    out.kernel.gridDimX = 4;
    out.kernel.gridDimY = out.kernel.gridDimZ = out.kernel.blockDimY = out.kernel.blockDimZ = 1;
    out.kernel.blockDimX = 32;
    out.kernel.kernelParams = pointers_;
    return out;
  }
  CUgraphNode add_node(CUgraphNodeParams params, std::vector<CUgraphNode> before = {}) {
    CUgraphNode out = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuGraphAddNode_v2(&out, graph_, before.data(), nullptr, before.size(), &params));
    return out;
  }
  static CUgraphExec ready(CUgraph graph, unsigned long long flags = 0) {
    CUgraphExec out = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuGraphInstantiateWithFlags(&out, graph, flags));
    return out;
  }
  static CUgraphNodeParams allocation(std::size_t bytes) {
    CUgraphNodeParams out{};
    out.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    out.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    out.alloc.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    out.alloc.bytesize = bytes;
    return out;
  }
  static std::size_t free_bytes() {
    std::size_t out = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuMemGetInfo(&out, nullptr));
    return out;
  }
  CUgraph graph_ = nullptr;
  CUdeviceptr p_ = 0;
  std::uint32_t value_ = 0, n_ = 100;
  void* pointers_[3] = {&p_, &value_, &n_};
};

TEST_F(GraphNodes, ALaunchInACaptureIsAChild) {
  const CUdeviceptr p = allocate(400);
  add_node(kernel(add_, p, 5));
  const CUgraphExec inner = ready(graph_);
  const CUstream s = stream();
  OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(fill(p, 0, 100, s));
  OK(cuGraphLaunch(inner, s));
  OK(cuGraphLaunch(inner, s));
  CUgraph outer = nullptr;
  OK(cuStreamEndCapture(s, &outer));
  std::size_t count = 0;
  OK(cuGraphGetNodes(outer, nullptr, &count));
  EXPECT_EQ(3U, count);
  OK(cuGraphExecDestroy(inner));
  OK(cuGraphLaunch(ready(outer), s));
  OK(cuStreamSynchronize(s));
  EXPECT_EQ(from(10, 100), read(p, 100));
}

TEST_F(GraphNodes, MemoryComesWithTheLaunchAtTheSameAddress) {
  const std::size_t before = free_bytes();
  CUgraphNodeParams wanted = allocation(400);
  CUgraphNode made = nullptr, freed = nullptr;
  OK(cuGraphAddNode_v2(&made, graph_, nullptr, nullptr, 0, &wanted));
  const CUdeviceptr p = wanted.alloc.dptr;
  ASSERT_NE(0U, p);
  EXPECT_EQ(before, free_bytes());
  const CUgraphNode filled = add_node(kernel(fill_, p, 3), {made});
  const CUdeviceptr out = allocate(400);
  const std::size_t kept = free_bytes();
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = p;
  copy.dstDevice = out;
  copy.WidthInBytes = 400;
  copy.Height = copy.Depth = 1;
  CUgraphNode copied = nullptr;
  OK(cuGraphAddMemcpyNode(&copied, graph_, &filled, 1, &copy, context_));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemFreeNode(&freed, graph_, &copied, 1, out));
  OK(cuGraphAddMemFreeNode(&freed, graph_, &copied, 1, p));
  CUgraphNodeType type{};
  OK(cuGraphNodeGetType(freed, &type));
  EXPECT_EQ(CU_GRAPH_NODE_TYPE_MEM_FREE, type);
  const CUgraphExec exec = ready(graph_);
  for (int turn = 0; turn < 3; ++turn) {
    OK(cuMemsetD32(out, 0, 100));
    OK(cuGraphLaunch(exec, nullptr));
    EXPECT_EQ(from(3, 100), read(out, 100));
  }
  EXPECT_EQ(kept, free_bytes());
  CUgraph clone = nullptr;
  testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuGraphClone(&clone, graph_));
  EXPECT_NE(std::string::npos, testing::internal::GetCapturedStderr().find("memory nodes"));
}

TEST_F(GraphNodes, MemoryThatIsNotFreedIsTheProgrammes) {
  const CUstream s = stream();
  OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUdeviceptr p = 0;
  OK(cuMemAllocAsync(&p, 400, s));
  OK(fill(p, 9, 100, s));
  CUgraph captured = nullptr;
  OK(cuStreamEndCapture(s, &captured));
  const CUgraphExec strict = ready(captured);
  const CUgraphExec relaxed = ready(captured, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
  const std::size_t before = free_bytes();
  OK(cuGraphLaunch(strict, s));
  OK(cuStreamSynchronize(s));
  EXPECT_EQ(from(9, 100), read(p, 100));
  EXPECT_GT(before, free_bytes());
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(strict, s));
  OK(cuMemFreeAsync(p, s));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(p, s));
  OK(cuGraphLaunch(strict, s));
  std::uint32_t first = 0;
  CUdeviceptr base = 0;
  OK(cuMemcpyDtoHAsync(&first, p, 4, s));
  EXPECT_EQ(9U, first);
  OK(cuMemGetAddressRange(&base, nullptr, p + 8));
  EXPECT_EQ(p, base);
  OK(cuGraphLaunch(relaxed, s));
  OK(cuMemsetD32Async(p, 4, 1, s));  // before its pages have come, if the schedule is lazy
  OK(cuMemFree(p));
  EXPECT_EQ(before, free_bytes());
  OK(cuGraphLaunch(relaxed, s));
  OK(cuGraphLaunch(relaxed, s));
  OK(cuStreamSynchronize(s));
  EXPECT_EQ(from(9, 100), read(p, 100));
  cuuint64_t bytes = 0;
  OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &bytes));
  EXPECT_EQ(4096U, bytes);
  OK(cuGraphExecDestroy(relaxed));
  OK(cuGraphExecDestroy(strict));
  OK(cuGraphDestroy(captured));
  EXPECT_EQ(from(9, 100), read(p, 100));  // still there
  OK(cuMemFree(p));
  EXPECT_EQ(before, free_bytes());
}

TEST_F(GraphNodes, ALaunchThatNeedsTooMuchMemoryFails) {
  std::size_t total = 0;
  OK(cuMemGetInfo(nullptr, &total));
  add_node(allocation(total / 4 * 3));
  add_node(allocation(total / 4 * 3));
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuGraphLaunch(ready(graph_), nullptr));
  OK(cuCtxSynchronize());
}

TEST_F(GraphNodes, AnyKindOfNode) {
  const CUdeviceptr p = allocate(400);
  CUgraphNodeParams zero{};
  zero.type = CU_GRAPH_NODE_TYPE_MEMSET;
  zero.memset.dst = p;
  zero.memset.elementSize = 4;
  zero.memset.width = 100;
  zero.memset.height = 1;
  int calls = 0;
  CUgraphNodeParams host{};
  host.type = CU_GRAPH_NODE_TYPE_HOST;
  host.host.fn = [](void* data) { ++*static_cast<int*>(data); };
  host.host.userData = &calls;
  const CUevent mark = event();
  CUgraphNodeParams record{};
  record.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
  record.eventRecord.event = mark;
  CUgraphNodeParams empty{};
  empty.type = CU_GRAPH_NODE_TYPE_EMPTY;
  const CUgraphNode first = add_node(zero);
  const CUgraphNode second = add_node(kernel(add_, p, 4), {first});
  const CUgraphNode third = add_node(host, {second, add_node(empty)});
  add_node(record, {third});
  const CUgraphExec exec = ready(graph_);
  OK(cuGraphLaunch(exec, nullptr));
  OK(cuEventSynchronize(mark));
  EXPECT_EQ(1, calls);
  EXPECT_EQ(std::vector<std::uint32_t>(100, 4), read(p, 100));
  CUgraphNodeParams other = kernel(add_, p, 6);
  OK(cuGraphExecNodeSetParams(exec, second, &other));
  zero.memset.value = 100;
  OK(cuGraphExecNodeSetParams(exec, first, &zero));
  OK(cuGraphLaunch(exec, nullptr));
  EXPECT_EQ(std::vector<std::uint32_t>(100, 106), read(p, 100));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphExecNodeSetParams(exec, second, &zero));
  CUgraphNodeParams conditional{};
  conditional.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  CUgraphNode refused = nullptr;
  testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddNode_v2(&refused, graph_, nullptr, nullptr, 0, &conditional));
  EXPECT_EQ("simgpu: a conditional graph node is not supported\n", testing::internal::GetCapturedStderr());
}

TEST_F(GraphNodes, AChildIsReplacedInTheExecutableGraph) {
  const CUdeviceptr p = allocate(400);
  add_node(kernel(fill_, p, 1));
  CUgraph outer = nullptr, fresh = nullptr, longer = nullptr;
  OK(cuGraphCreate(&outer, 0));
  CUgraphNode child = nullptr;
  OK(cuGraphAddChildGraphNode(&child, outer, nullptr, 0, graph_));
  const CUgraphExec exec = ready(outer);
  OK(cuGraphClone(&fresh, graph_));
  CUgraphNode inside = nullptr;
  std::size_t one = 1;
  OK(cuGraphGetNodes(fresh, &inside, &one));
  CUgraphNodeParams changed = kernel(fill_, p, 50);
  OK(cuGraphNodeSetParams(inside, &changed));
  OK(cuGraphExecChildGraphNodeSetParams(exec, child, fresh));
  OK(cuGraphLaunch(exec, nullptr));
  EXPECT_EQ(from(50, 100), read(p, 100));
  OK(cuGraphCreate(&longer, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphExecChildGraphNodeSetParams(exec, child, longer));
}

TEST_F(GraphNodes, CooperativeKernels) {
  const CUdeviceptr p = allocate(400);
  const CUgraphNode node = add_node(kernel(fill_, p, 1));
  const CUgraphNode other = add_node(kernel(fill_, p, 1));
  CUlaunchAttributeValue value{};
  value.cooperative = 1;
  OK(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
  OK(cuGraphKernelNodeCopyAttributes(other, node));
  value = {};
  OK(cuGraphKernelNodeGetAttribute(other, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
  EXPECT_EQ(1, value.cooperative);
  CUgraphNodeParams large = kernel(fill_, p, 1);
  large.kernel.gridDimX = 1 << 20;
  EXPECT_EQ(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, cuGraphNodeSetParams(node, &large));
  OK(cuGraphLaunch(ready(graph_), nullptr));
  EXPECT_EQ(from(1, 100), read(p, 100));
}

TEST_F(GraphNodes, UserObjectsLiveAsLongAsGraphs) {
  int destroyed = 0;
  CUuserObject object = nullptr;
  OK(cuUserObjectCreate(
      &object, &destroyed, [](void* count) { ++*static_cast<int*>(count); }, 1,
      CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  OK(cuGraphRetainUserObject(graph_, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  const CUgraphExec exec = ready(graph_);
  OK(cuGraphDestroy(graph_));
  EXPECT_EQ(0, destroyed);
  OK(cuGraphExecDestroy(exec));
  EXPECT_EQ(1, destroyed);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuUserObjectRelease(object, 1));
}

TEST_F(GraphNodes, CaptureIntoAGraph) {
  const CUdeviceptr p = allocate(400);
  const CUgraphNode first = add_node(kernel(fill_, p, 1));
  const CUstream s = stream();
  const CUgraphEdgeData plain{};
  OK(cuStreamBeginCaptureToGraph(s, graph_, &first, &plain, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(add(p, 10, 100, s));
  CUstreamCaptureStatus status{};
  CUgraph into = nullptr;
  const CUgraphNode* tail = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  OK(cuStreamGetCaptureInfo_v3(s, &status, nullptr, &into, &tail, &edges, &count));
  EXPECT_EQ(graph_, into);
  ASSERT_EQ(1U, count);
  CUgraphNode last = tail[0];
  OK(cuStreamUpdateCaptureDependencies_v2(s, &last, edges, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  CUgraph same = nullptr;
  OK(cuStreamEndCapture(s, &same));
  EXPECT_EQ(graph_, same);
  OK(cuGraphLaunch(ready(graph_), nullptr));
  EXPECT_EQ(from(11, 100), read(p, 100));
}

TEST_F(GraphNodes, ArePrintedAsText) {
  const CUdeviceptr p = allocate(400);
  add_node(kernel(add_, p, 1), {add_node(kernel(fill_, p, 1))});
  const std::string path = testing::TempDir() + "simgpu_graph_" + std::to_string(getpid()) + ".dot";
  OK(cuGraphDebugDotPrint(graph_, path.c_str(), 0));
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_EQ("digraph simgpu {\n  node0 [label=\"fill\"];\n  node1 [label=\"add\"];\n  node0 -> node1;\n}\n",
            text);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace refrain::simgpu::driver::test
