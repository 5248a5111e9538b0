// Stream capture. It must not change the order rules of streams that do not capture.
#include <algorithm>
#include <utility>

#include "simgpu/driver/graph_nodes.hpp"

namespace refrain::simgpu::driver {

void capture_operation(Stream& stream, Operation operation) {
  Capture& capture = *stream.capture;
  require(!capture.invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  GraphNode* node = add_node(*find_device(), *capture.graph, std::move(operation), stream.capture_tail);
  stream.capture_tail = {node};
}

namespace {

CUstreamCaptureStatus status_of(const Stream& stream) {
  if (stream.capture == nullptr) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

// The legacy stream never captures; asking about it while a blocking stream does is an error of its own.
void check_legacy(const Stream& stream) {
  if (!stream.legacy) return;
  for (const StreamRef& other : stream.context->streams) {
    require(other->capture == nullptr || !other->blocking(), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  }
}

std::vector<const GraphNode*> ancestors_of(const std::vector<GraphNode*>& tail) {
  std::vector<const GraphNode*> seen(tail.begin(), tail.end());
  for (std::size_t index = 0; index < seen.size(); ++index) {
    for (const GraphNode* before : seen[index]->dependencies) {
      if (std::find(seen.begin(), seen.end(), before) == seen.end()) seen.push_back(before);
    }
  }
  return seen;
}

// Whether the work of every stream that joined has come back to the origin.
bool all_joined(const Device& device, const Stream& origin) {
  const auto reached = ancestors_of(origin.capture_tail);
  for (const auto& [handle, stream] : device.streams.all()) {
    if (stream->capture != origin.capture) continue;
    for (const GraphNode* node : stream->capture_tail) {
      if (std::find(reached.begin(), reached.end(), node) == reached.end()) return false;
    }
  }
  return true;
}

void end(Device& device, Stream& origin) {
  const auto capture = origin.capture;
  capture->ended = true;
  std::erase_if(device.captures, [&](const auto& weak) { return weak.expired() || weak.lock() == capture; });
  for (const auto& [handle, stream] : device.streams.all()) {
    if (stream->capture != capture) continue;
    stream->capture.reset();
    stream->capture_tail.clear();
  }
}

}  // namespace

void forsake_capture(Device& device, Stream& stream) {
  const auto capture = std::exchange(stream.capture, nullptr);
  stream.capture_tail.clear();
  if (capture == nullptr) return;
  capture->invalid = true;
  if (capture->origin != &stream) return;  // its origin ends it
  capture->ended = true;
  std::erase_if(device.captures, [&](const auto& weak) { return weak.expired() || weak.lock() == capture; });
  for (const auto& [handle, other] : device.streams.all()) {
    if (other->capture == capture) other->capture_tail.clear();
  }
  for (const auto& [handle, event] : device.events.all()) {
    if (event->capture == capture) event->capture_tail.clear();
  }
  if (!capture->to_given_graph) destroy_graph(device, *capture->graph);
}

namespace {

// into: a graph of the program's, and what in it the first operation depends on; nullptr: a new graph.
CUresult begin_capture(CUstream handle, CUstreamCaptureMode mode, CUgraph into = nullptr,
                       const CUgraphNode* dependencies = nullptr, std::size_t count = 0) {
  return api(Need::kContext, [&](Session& session) {
    require(mode >= CU_STREAM_CAPTURE_MODE_GLOBAL && mode <= CU_STREAM_CAPTURE_MODE_RELAXED);
    const StreamRef stream = session.stream(handle);
    require(!stream->legacy, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    require(stream->capture == nullptr, CUDA_ERROR_ILLEGAL_STATE);
    auto capture = std::make_shared<Capture>();
    capture->to_given_graph = into != nullptr;
    std::vector<GraphNode*> tail;
    if (into != nullptr) {
      capture->graph = session.device.graphs.need(into, CUDA_ERROR_INVALID_VALUE);
      tail = need_nodes(session.device, dependencies, count, *capture->graph);
    } else {
      capture->graph = std::make_shared<Graph>();
      session.device.graphs.add(capture->graph);
    }
    capture->origin = stream.get();
    capture->thread = std::this_thread::get_id();
    capture->mode = mode;
    capture->id = session.device.next_id++;
    session.device.captures.push_back(capture);
    stream->capture = std::move(capture);
    stream->capture_tail = std::move(tail);
  });
}

struct CaptureInfo {
  CUstreamCaptureStatus* status;
  cuuint64_t* id;
  CUgraph* graph;
  const CUgraphNode** dependencies;
  std::size_t* count;
  const CUgraphEdgeData** edges = nullptr;
};

CUresult capture_info(CUstream handle, const CaptureInfo& out) {
  return api(Need::kContext, [&](Session& session) {
    const StreamRef stream = session.stream(handle);
    require(out.status != nullptr);
    check_legacy(*stream);
    *out.status = status_of(*stream);
    if (*out.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
    if (out.id != nullptr) *out.id = stream->capture->id;
    if (out.graph != nullptr) *out.graph = handle_of(stream->capture->graph.get());
    if (out.dependencies != nullptr) {
      *out.dependencies = reinterpret_cast<const CUgraphNode*>(stream->capture_tail.data());
    }
    if (out.count != nullptr) *out.count = stream->capture_tail.size();
    if (out.edges != nullptr) {
      stream->capture_edges.assign(stream->capture_tail.size(), {});
      *out.edges = stream->capture_edges.data();
    }
  });
}

}  // namespace
}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuStreamBeginCapture(CUstream stream) {
  return begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return begin_capture(stream, mode);
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                     const CUgraphEdgeData* edges, size_t count, CUstreamCaptureMode mode) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult checked = api(
      Need::kContext, [&](Session&) { check_plain(edges, count); }, Where());
  return checked != CUDA_SUCCESS ? checked : begin_capture(stream, mode, graph, dependencies, count);
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* out) {
  return api(Need::kContext, [&](Session& session) {
    const StreamRef stream = session.stream(handle);
    require(out != nullptr);
    *out = nullptr;
    require(stream->capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
    const auto capture = stream->capture;
    require(capture->origin == stream.get(), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    require(capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED || capture->thread == std::this_thread::get_id(),
            CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    const bool joined = all_joined(session.device, *stream);
    end(session.device, *stream);
    if (capture->invalid || !joined) {
      if (!capture->to_given_graph) destroy_graph(session.device, *capture->graph);
      throw CudaError(capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                                       : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    }
    *out = handle_of(capture->graph.get());
  });
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return capture_info(handle, {status, nullptr, nullptr, nullptr, nullptr});
}

CUresult cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id) {
  return capture_info(handle, {status, id, nullptr, nullptr, nullptr});
}

CUresult cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies, size_t* count) {
  return capture_info(handle, {status, id, graph, dependencies, count});
}

CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   const CUgraphEdgeData** edges, size_t* count) {
  return capture_info(handle, {status, id, graph, dependencies, count, edges});
}

CUresult cuStreamUpdateCaptureDependencies(CUstream handle, CUgraphNode* dependencies, size_t count,
                                           unsigned flags) {
  return api(Need::kContext, [&](Session& session) {
    const StreamRef stream = session.stream(handle);
    require(stream->capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
    require(flags <= CU_STREAM_SET_CAPTURE_DEPENDENCIES);
    const auto nodes = need_nodes(session.device, dependencies, count, *stream->capture->graph);
    auto& tail = stream->capture_tail;
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) tail.clear();
    for (GraphNode* node : nodes) {
      if (std::find(tail.begin(), tail.end(), node) == tail.end()) tail.push_back(node);
    }
  });
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode* dependencies,
                                              const CUgraphEdgeData* edges, size_t count, unsigned flags) {
  const CUresult checked = api(
      Need::kContext, [&](Session&) { check_plain(edges, count); }, Where());
  if (checked != CUDA_SUCCESS) return checked;
  return cuStreamUpdateCaptureDependencies(handle, dependencies, count, flags);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (mode == nullptr || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::swap(*mode, thread_state().capture_mode);
  return CUDA_SUCCESS;
}
