// Streams, events, host functions and capture. It must not order work.
#include <memory>

#include "simgpu/runtime/call.hpp"

using namespace refrain::simgpu::runtime;

namespace {

struct Callback {
  cudaStreamCallback_t function;
  cudaStream_t stream;
  void* data;
};

void run_callback(CUstream, CUresult result, void* data) {
  const std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
  callback->function(callback->stream, static_cast<cudaError_t>(result), callback->data);
}

}  // namespace

SIMGPU_FORWARD(cudaStreamCreate, (cudaStream_t * out), cu.cuStreamCreate(out, CU_STREAM_DEFAULT))
SIMGPU_FORWARD(cudaStreamCreateWithFlags, (cudaStream_t * out, unsigned flags), cu.cuStreamCreate(out, flags))
SIMGPU_FORWARD(cudaStreamCreateWithPriority, (cudaStream_t * out, unsigned flags, int priority),
               cu.cuStreamCreateWithPriority(out, flags, priority))
SIMGPU_FORWARD(cudaStreamDestroy, (cudaStream_t stream), cu.cuStreamDestroy(stream))
SIMGPU_FORWARD(cudaStreamSynchronize, (cudaStream_t stream), cu.cuStreamSynchronize(stream))
SIMGPU_FORWARD(cudaStreamQuery, (cudaStream_t stream), cu.cuStreamQuery(stream))
SIMGPU_FORWARD(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
               cu.cuStreamWaitEvent(stream, event, flags))
SIMGPU_FORWARD(cudaStreamGetPriority, (cudaStream_t stream, int* priority),
               cu.cuStreamGetPriority(stream, priority))
SIMGPU_FORWARD(cudaStreamGetFlags, (cudaStream_t stream, unsigned* flags), cu.cuStreamGetFlags(stream, flags))
SIMGPU_FORWARD(cudaStreamGetId, (cudaStream_t stream, unsigned long long* id), cu.cuStreamGetId(stream, id))
SIMGPU_FORWARD(cudaStreamGetDevice, (cudaStream_t stream, int* device), cu.cuStreamGetDevice(stream, device))
SIMGPU_FORWARD(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t function, void* data),
               cu.cuLaunchHostFunc(stream, function, data))

SIMGPU_FORWARD(cudaStreamSetAttribute,
               (cudaStream_t stream, cudaLaunchAttributeID id, const cudaLaunchAttributeValue* value),
               cu.cuStreamSetAttribute(stream, static_cast<CUlaunchAttributeID>(id),
                                       reinterpret_cast<const CUlaunchAttributeValue*>(value)))
SIMGPU_FORWARD(cudaStreamGetAttribute,
               (cudaStream_t stream, cudaLaunchAttributeID id, cudaLaunchAttributeValue* value),
               cu.cuStreamGetAttribute(stream, static_cast<CUlaunchAttributeID>(id),
                                       reinterpret_cast<CUlaunchAttributeValue*>(value)))
SIMGPU_FORWARD(cudaStreamCopyAttributes, (cudaStream_t to, cudaStream_t from),
               cu.cuStreamCopyAttributes(to, from))
SIMGPU_FORWARD(cudaStreamAttachMemAsync, (cudaStream_t stream, void* pointer, size_t bytes, unsigned flags),
               cu.cuStreamAttachMemAsync(stream, reinterpret_cast<CUdeviceptr>(pointer), bytes, flags))

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data,
                                  unsigned flags) {
  return call([&](const DriverApi& cu) {
    require(function != nullptr);
    auto callback = std::make_unique<Callback>(Callback{function, stream, data});
    // Given away before the call, within which an eager device already runs it; taken back if it was not
    // accepted.
    Callback* given = callback.release();
    const CUresult result = cu.cuStreamAddCallback(stream, &run_callback, given, flags);
    if (result != CUDA_SUCCESS) delete given;
    return result;
  });
}

SIMGPU_FORWARD(cudaStreamBeginCapture, (cudaStream_t stream, cudaStreamCaptureMode mode),
               cu.cuStreamBeginCapture(stream, static_cast<CUstreamCaptureMode>(mode)))
SIMGPU_FORWARD(cudaStreamBeginCaptureToGraph,
               (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                const cudaGraphEdgeData* edges, size_t count, cudaStreamCaptureMode mode),
               cu.cuStreamBeginCaptureToGraph(stream, graph, dependencies,
                                              reinterpret_cast<const CUgraphEdgeData*>(edges), count,
                                              static_cast<CUstreamCaptureMode>(mode)))
SIMGPU_FORWARD(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t* graph),
               cu.cuStreamEndCapture(stream, graph))
SIMGPU_FORWARD(cudaStreamIsCapturing, (cudaStream_t stream, cudaStreamCaptureStatus* status),
               cu.cuStreamIsCapturing(stream, reinterpret_cast<CUstreamCaptureStatus*>(status)))
SIMGPU_FORWARD(cudaThreadExchangeStreamCaptureMode, (cudaStreamCaptureMode * mode),
               cu.cuThreadExchangeStreamCaptureMode(reinterpret_cast<CUstreamCaptureMode*>(mode)))

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                                     size_t* count) {
  return call([&](const DriverApi& cu) {
    cuuint64_t number = 0;
    const CUresult result =
        cu.cuStreamGetCaptureInfo(stream, reinterpret_cast<CUstreamCaptureStatus*>(status), &number, graph,
                                  dependencies, reinterpret_cast<const CUgraphEdgeData**>(edges), count);
    if (id != nullptr) *id = number;
    return result;
  });
}

SIMGPU_FORWARD(cudaStreamUpdateCaptureDependencies,
               (cudaStream_t stream, cudaGraphNode_t* dependencies, const cudaGraphEdgeData* edges,
                size_t count, unsigned flags),
               cu.cuStreamUpdateCaptureDependencies(stream, dependencies,
                                                    reinterpret_cast<const CUgraphEdgeData*>(edges), count,
                                                    flags))

SIMGPU_FORWARD(cudaEventCreate, (cudaEvent_t * out), cu.cuEventCreate(out, CU_EVENT_DEFAULT))
SIMGPU_FORWARD(cudaEventCreateWithFlags, (cudaEvent_t * out, unsigned flags), cu.cuEventCreate(out, flags))
SIMGPU_FORWARD(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), cu.cuEventRecord(event, stream))
SIMGPU_FORWARD(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned flags),
               cu.cuEventRecordWithFlags(event, stream, flags))
SIMGPU_FORWARD(cudaEventQuery, (cudaEvent_t event), cu.cuEventQuery(event))
SIMGPU_FORWARD(cudaEventSynchronize, (cudaEvent_t event), cu.cuEventSynchronize(event))
SIMGPU_FORWARD(cudaEventDestroy, (cudaEvent_t event), cu.cuEventDestroy(event))
SIMGPU_FORWARD(cudaEventElapsedTime, (float* milliseconds, cudaEvent_t start, cudaEvent_t end),
               cu.cuEventElapsedTime(milliseconds, start, end))
