// cuEvent*: marks in streams and virtual times. It must not read the host's clock.
#include "simgpu/driver/graph.hpp"
#include "simgpu/driver/submit.hpp"

namespace refrain::simgpu::driver {
namespace {

constexpr unsigned kEventFlags = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

template <class Body>
CUresult with_event(CUevent handle, Body body) {
  return api(Need::kContext, [&](Session& session) {
    const auto event = session.device.events.need(handle);
    session.enter(*event->context);
    return body(session, event);
  });
}

bool timing(const Event& event) {
  return (event.flags & CU_EVENT_DISABLE_TIMING) == 0;
}

}  // namespace
}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuEventCreate(CUevent* out, unsigned flags) {
  return api(Need::kContext, [&](Session& session) {
    require(out != nullptr && (flags & ~kEventFlags) == 0);
    if ((flags & CU_EVENT_INTERPROCESS) != 0) refuse("an interprocess event");
    auto event = std::make_shared<Event>();
    event->context = session.context.get();
    event->flags = flags;
    session.device.events.add(event);
    *out = reinterpret_cast<CUevent>(event.get());
  });
}

CUresult cuEventRecordWithFlags(CUevent handle, CUstream stream_handle, unsigned flags) {
  return with_event(handle, [&](Session& session, const std::shared_ptr<Event>& event) {
    const StreamRef stream = session.stream(stream_handle);
    require(event->context == stream->context, CUDA_ERROR_INVALID_HANDLE);
    if ((flags & CU_EVENT_RECORD_EXTERNAL) != 0) {
      require(stream->capture != nullptr);
      submit(session, stream, RecordEvent{event});
      return;
    }
    if (stream->capture != nullptr) {
      require(!stream->capture->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
      event->capture = stream->capture;
      event->capture_tail = stream->capture_tail;
      return;
    }
    event->capture.reset();
    const ItemRef item = ordered_item(session, *stream, RecordEvent{});
    event->recorded = item;
    stream->last = item;
    session.device.queue.add(session.lock, item);
  });
}

CUresult cuEventRecord(CUevent handle, CUstream stream) {
  return cuEventRecordWithFlags(handle, stream, 0);
}

CUresult cuEventQuery(CUevent handle) {
  return with_event(handle, [](Session& session, const std::shared_ptr<Event>& event) {
    require(event->capture == nullptr, CUDA_ERROR_CAPTURED_EVENT);
    session.forbid_while_capturing();
    const bool done = session.device.queue.poll(session.lock, event->recorded);
    session.check_fault();
    return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUresult cuEventSynchronize(CUevent handle) {
  return with_event(handle, [](Session& session, const std::shared_ptr<Event>& event) {
    require(event->capture == nullptr, CUDA_ERROR_CAPTURED_EVENT);
    session.forbid_while_capturing();
    session.wait(event->recorded);
  });
}

CUresult cuEventDestroy(CUevent handle) {
  return with_event(handle, [](Session& session, const std::shared_ptr<Event>& event) {
    session.device.events.remove(event.get());
  });
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start_handle, CUevent end_handle) {
  return with_event(start_handle, [&](Session& session, const std::shared_ptr<Event>& start) {
    const auto end = session.device.events.need(end_handle);
    require(milliseconds != nullptr);
    require(start->context->ordinal == end->context->ordinal, CUDA_ERROR_INVALID_HANDLE);
    require(timing(*start) && timing(*end), CUDA_ERROR_INVALID_HANDLE);
    require(start->recorded != nullptr && end->recorded != nullptr, CUDA_ERROR_INVALID_HANDLE);
    const auto done = [](const Event& event) { return event.recorded->state == Item::State::kDone; };
    if (!done(*start) || !done(*end)) return CUDA_ERROR_NOT_READY;
    const double difference =
        static_cast<double>(end->recorded->end_ns) - static_cast<double>(start->recorded->end_ns);
    *milliseconds = static_cast<float>(difference / 1e6);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}
