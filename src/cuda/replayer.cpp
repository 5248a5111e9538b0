// Building, updating and launching replay graphs. Must leave no handle behind when a call fails half way.
#include "cuda/replayer.hpp"

#include <algorithm>
#include <cstring>

#include "cuda/inside_library.hpp"

namespace refrain::cuda {
namespace {

// Plans of a training step repeat; a few hundred shapes cover the steps of the models that were tried.
constexpr std::size_t kMaxCachedGraphs = 256;

void bind_pointers(const BoundOp& bound, std::vector<std::byte>& block) {
  for (const PointerSlot& slot : bound.op->pointers) {
    const CUdeviceptr address = bound.addresses[slot.use] + slot.displacement_bytes;
    std::memcpy(block.data() + slot.offset_bytes, &address, sizeof address);
  }
}

// The parameter block with its pointers bound, and the array of pointers into it that the driver wants.
class KernelArguments {
 public:
  explicit KernelArguments(const BoundOp& bound) : block_(bound.op->params) {
    bind_pointers(bound, block_);
    for (const KernelParam& param : bound.op->kernel->params)
      pointers_.push_back(block_.data() + param.offset_bytes);
  }
  CUDA_KERNEL_NODE_PARAMS node(const RecordedOp& op) {
    CUDA_KERNEL_NODE_PARAMS node{};
    if (op.library_kernel) {
      node.kern = reinterpret_cast<CUkernel>(op.function);
    } else {
      node.func = op.function;
    }
    node.gridDimX = op.grid[0];
    node.gridDimY = op.grid[1];
    node.gridDimZ = op.grid[2];
    node.blockDimX = op.block[0];
    node.blockDimY = op.block[1];
    node.blockDimZ = op.block[2];
    node.sharedMemBytes = op.shared_bytes;
    node.kernelParams = pointers_.data();
    return node;
  }

 private:
  std::vector<std::byte> block_;
  std::vector<void*> pointers_;
};

CUDA_MEMCPY3D copy_node(const BoundOp& bound) {
  CUdeviceptr from = bound.addresses.front();
  CUdeviceptr to = bound.addresses.back();
  std::uint64_t bytes = bound.copy_bytes;
  if (bound.op) {
    from = bound.addresses[0] + bound.op->from_displacement_bytes;
    to = bound.addresses[bound.op->to_use] + bound.op->to_displacement_bytes;
    bytes = bound.op->bytes;
  }
  CUDA_MEMCPY3D node{};
  node.srcMemoryType = bound.host_from ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  node.srcHost = bound.host_from;
  node.srcDevice = bound.host_from ? 0 : from;
  node.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  node.dstDevice = to;
  node.WidthInBytes = bytes;
  node.Height = 1;
  node.Depth = 1;
  return node;
}

CUDA_MEMSET_NODE_PARAMS memset_node(const BoundOp& bound) {
  CUDA_MEMSET_NODE_PARAMS node{};
  node.dst = bound.addresses[0];
  node.elementSize = 1;
  node.width = bound.copy_bytes;
  node.height = 1;
  if (!bound.op) return node;
  node.dst += bound.op->to_displacement_bytes;
  node.value = bound.op->value;
  node.elementSize = bound.op->element_bytes;
  node.width = bound.op->bytes / bound.op->element_bytes;
  return node;
}

RecordedOp::Kind kind_of(const BoundOp& bound) {
  if (bound.op) return bound.op->kind;
  const bool zeros = bound.addresses.size() == 1 && !bound.host_from;
  return zeros ? RecordedOp::Kind::kMemset : RecordedOp::Kind::kCopy;
}

// What an instantiated node cannot change: a graph is used again only where all of this is the same.
std::vector<std::uint64_t> shape_of(std::span<const BoundOp> ops) {
  std::vector<std::uint64_t> shape;
  for (const BoundOp& bound : ops) {
    shape.push_back(static_cast<std::uint64_t>(kind_of(bound)));
    if (kind_of(bound) == RecordedOp::Kind::kKernel) {
      shape.push_back(reinterpret_cast<std::uintptr_t>(bound.op->function));
    } else if (kind_of(bound) == RecordedOp::Kind::kMemset) {
      shape.push_back(bound.op ? bound.op->element_bytes : 1);
      shape.push_back(bound.op ? bound.op->bytes : bound.copy_bytes);
    } else {
      shape.push_back(bound.op ? bound.op->bytes : bound.copy_bytes);
      shape.push_back(bound.host_from ? 1 : 0);
    }
  }
  return shape;
}

}  // namespace

// The stream keeps the order: whatever stands between two calls of libraries is one graph.
CUresult Replayer::launch(std::span<const BoundOp> ops, CUcontext context, CUstream stream) {
  CUresult result = CUDA_SUCCESS;
  while (!ops.empty() && result == CUDA_SUCCESS) {
    const auto is_call = [](const BoundOp& bound) { return kind_of(bound) == RecordedOp::Kind::kLibrary; };
    const auto graph_ops =
        static_cast<std::size_t>(std::find_if(ops.begin(), ops.end(), is_call) - ops.begin());
    if (graph_ops == 0) {
      result = call_library(ops.front(), stream);
      ops = ops.subspan(1);
    } else {
      result = launch_graph(ops.first(graph_ops), context, stream);
      ops = ops.subspan(graph_ops);
    }
  }
  return result;
}

CUresult Replayer::call_library(const BoundOp& bound, CUstream stream) {
  library_record_.assign(bound.op->params.begin(), bound.op->params.end());
  bind_pointers(bound, library_record_);
  const InsideLibrary inside(Inside::kReplay);
  return bound.op->library_replay(library_record_.data(), stream);
}

CUresult Replayer::launch_graph(std::span<const BoundOp> ops, CUcontext context, CUstream stream) {
  std::vector<std::uint64_t> shape = shape_of(ops);
  const auto cached =
      std::find_if(cache_.begin(), cache_.end(), [&](const Cached& entry) { return entry.shape == shape; });
  if (cached != cache_.end() && update(ops, context, *cached) == CUDA_SUCCESS) {
    cache_.splice(cache_.begin(), cache_, cached);
  } else {
    if (cached != cache_.end()) {  // the driver would not take the new parameters: build it anew
      destroy(*cached);
      cache_.erase(cached);
    }
    Cached fresh;
    const CUresult result = build(ops, context, fresh);
    if (result != CUDA_SUCCESS) {
      destroy(fresh);
      return result;
    }
    fresh.shape = std::move(shape);
    cache_.push_front(std::move(fresh));
    if (cache_.size() > kMaxCachedGraphs) {
      destroy(cache_.back());
      cache_.pop_back();
    }
  }
  return driver_.cuGraphLaunch(cache_.front().exec, stream);
}

CUresult Replayer::build(std::span<const BoundOp> ops, CUcontext context, Cached& out) {
  CUresult result = driver_.cuGraphCreate(&out.graph, 0);
  for (const BoundOp& bound : ops) {
    if (result != CUDA_SUCCESS) return result;
    const CUgraphNode* after = out.nodes.empty() ? nullptr : &out.nodes.back();
    const std::size_t after_count = out.nodes.empty() ? 0 : 1;
    CUgraphNode node = nullptr;
    if (kind_of(bound) == RecordedOp::Kind::kKernel) {
      KernelArguments arguments(bound);
      const CUDA_KERNEL_NODE_PARAMS params = arguments.node(*bound.op);
      result = driver_.cuGraphAddKernelNode(&node, out.graph, after, after_count, &params);
    } else if (kind_of(bound) == RecordedOp::Kind::kMemset) {
      const CUDA_MEMSET_NODE_PARAMS params = memset_node(bound);
      result = driver_.cuGraphAddMemsetNode(&node, out.graph, after, after_count, &params, context);
    } else {
      const CUDA_MEMCPY3D params = copy_node(bound);
      result = driver_.cuGraphAddMemcpyNode(&node, out.graph, after, after_count, &params, context);
    }
    out.nodes.push_back(node);
  }
  if (result != CUDA_SUCCESS) return result;
  return driver_.cuGraphInstantiateWithFlags(&out.exec, out.graph, 0);
}

CUresult Replayer::update(std::span<const BoundOp> ops, CUcontext context, const Cached& cached) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    CUresult result = CUDA_SUCCESS;
    if (kind_of(ops[i]) == RecordedOp::Kind::kKernel) {
      KernelArguments arguments(ops[i]);
      const CUDA_KERNEL_NODE_PARAMS params = arguments.node(*ops[i].op);
      result = driver_.cuGraphExecKernelNodeSetParams(cached.exec, cached.nodes[i], &params);
    } else if (kind_of(ops[i]) == RecordedOp::Kind::kMemset) {
      const CUDA_MEMSET_NODE_PARAMS params = memset_node(ops[i]);
      result = driver_.cuGraphExecMemsetNodeSetParams(cached.exec, cached.nodes[i], &params, context);
    } else {
      const CUDA_MEMCPY3D params = copy_node(ops[i]);
      result = driver_.cuGraphExecMemcpyNodeSetParams(cached.exec, cached.nodes[i], &params, context);
    }
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

void Replayer::destroy(Cached& cached) {
  if (cached.exec) driver_.cuGraphExecDestroy(cached.exec);
  if (cached.graph) driver_.cuGraphDestroy(cached.graph);
  cached.exec = nullptr;
  cached.graph = nullptr;
}

void Replayer::clear() {
  for (Cached& cached : cache_) destroy(cached);
  cache_.clear();
}

}  // namespace refrain::cuda
