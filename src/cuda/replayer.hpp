// Recorded ops as CUDA graphs: a sequence of ops of the same shapes is instantiated once; later replays only
// set new parameters. Calls of libraries are made between graphs. Decides nothing about when or where.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "cuda/driver.hpp"
#include "cuda/recorded_op.hpp"

namespace refrain::cuda {

// One op with the addresses that its uses have in this replay.
struct BoundOp {
  const RecordedOp* op;  // nullptr: from one address to the other; or to the only one, from the host or zeros
  std::vector<CUdeviceptr> addresses;
  std::uint64_t copy_bytes = 0;
  const void* host_from = nullptr;
};

// Thread safety: the caller's lock.
class Replayer {
 public:
  explicit Replayer(const Driver& driver) : driver_(driver) {}
  // In the order given, one after the other, on the stream.
  CUresult launch(std::span<const BoundOp> ops, CUcontext context, CUstream stream);
  // Graphs belong to a context: clear for when that is about to go, forget for when it is gone.
  void clear();
  void forget() { cache_.clear(); }

 private:
  struct Cached {
    std::vector<std::uint64_t> shape;
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    std::vector<CUgraphNode> nodes;
  };

  CUresult call_library(const BoundOp& bound, CUstream stream);
  CUresult launch_graph(std::span<const BoundOp> ops, CUcontext context, CUstream stream);
  CUresult build(std::span<const BoundOp> ops, CUcontext context, Cached& out);
  CUresult update(std::span<const BoundOp> ops, CUcontext context, const Cached& cached);
  void destroy(Cached& cached);

  const Driver& driver_;
  std::list<Cached> cache_;  // most recently used first
  std::vector<std::byte> library_record_;
};

}  // namespace refrain::cuda
