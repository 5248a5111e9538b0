// cuStream* but for capture, and host functions. It must not order work (submit.cpp).
#include <algorithm>

#include "simgpu/driver/graph.hpp"
#include "simgpu/driver/submit.hpp"

namespace refrain::simgpu::driver {
namespace {

constexpr int kGreatestPriority = -5;

CUresult create(CUstream* out, unsigned flags, int priority) {
  return api(Need::kContext, [&](Session& session) {
    require(out != nullptr && (flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) == 0);
    const int clamped = std::max(kGreatestPriority, std::min(0, priority));
    *out = reinterpret_cast<CUstream>(make_stream(session.device, *session.context, flags, clamped).get());
  });
}

template <class Body>
CUresult with_stream(CUstream handle, Body body) {
  return api(Need::kContext, [&](Session& session) { return body(session, session.stream(handle)); });
}

}  // namespace
}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuStreamCreate(CUstream* out, unsigned flags) {
  return create(out, flags, 0);
}
CUresult cuStreamCreateWithPriority(CUstream* out, unsigned flags, int priority) {
  return create(out, flags, priority);
}

CUresult cuStreamDestroy(CUstream handle) {
  return api(Need::kContext, [&](Session& session) {
    require(handle != nullptr && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD,
            CUDA_ERROR_INVALID_HANDLE);
    const StreamRef stream = session.device.streams.need(handle);
    forsake_capture(session.device, *stream);
    session.device.streams.remove(stream.get());  // its queued work still runs
  });
}

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  return with_stream(handle, [&](Session&, const StreamRef& stream) {
    require(priority != nullptr);
    *priority = stream->priority;
  });
}

CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
  return with_stream(handle, [&](Session&, const StreamRef& stream) {
    require(flags != nullptr);
    *flags = stream->flags;
  });
}

CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  return with_stream(handle, [&](Session&, const StreamRef& stream) {
    require(id != nullptr);
    *id = stream->id;
  });
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* out) {
  return with_stream(handle, [&](Session&, const StreamRef& stream) {
    require(out != nullptr);
    *out = reinterpret_cast<CUcontext>(stream->context);
  });
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice* out) {
  return with_stream(handle, [&](Session&, const StreamRef& stream) {
    require(out != nullptr);
    *out = stream->context->ordinal;
  });
}

CUresult cuStreamQuery(CUstream handle) {
  return with_stream(handle, [&](Session& session, const StreamRef& stream) {
    session.forbid_wait_on(*stream);
    ItemRef awaited = stream->last;
    if (stream->legacy) {
      // The legacy stream is done when the blocking streams are: ask for one that is not.
      for (const StreamRef& other : stream->context->streams) {
        const bool busy = other->last != nullptr && other->last->state != Item::State::kDone;
        if (other->blocking() && busy && (awaited == nullptr || awaited->state == Item::State::kDone)) {
          awaited = other->last;
        }
      }
    }
    const bool done = session.device.queue.poll(session.lock, awaited);
    session.check_fault();
    return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUresult cuStreamSynchronize(CUstream handle) {
  return with_stream(handle, [&](Session& session, const StreamRef& stream) {
    session.forbid_wait_on(*stream);
    if (stream->legacy) {
      const auto streams = stream->context->streams;  // a copy: waiting may release the lock
      for (const StreamRef& other : streams) {
        if (other->blocking()) session.wait(other->last);
      }
    }
    session.wait(stream->last);
  });
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned flags) {
  return with_stream(handle, [&](Session& session, const StreamRef& stream) {
    const auto event = session.device.events.need(event_handle);
    if ((flags & CU_EVENT_WAIT_EXTERNAL) != 0) {
      require(stream->capture != nullptr);
      submit(session, stream, WaitEvent{event});
      return;
    }
    if (event->capture == nullptr) {
      if (event->recorded == nullptr) return;
      require(stream->capture == nullptr, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
      submit(session, stream, Nothing{}, event->recorded);
      return;
    }
    require(!event->capture->ended, CUDA_ERROR_CAPTURED_EVENT);
    require(!stream->legacy, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (stream->capture == nullptr) {
      stream->capture = event->capture;
      stream->capture_tail = event->capture_tail;
      return;
    }
    require(stream->capture == event->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    for (GraphNode* node : event->capture_tail) {
      if (std::find(stream->capture_tail.begin(), stream->capture_tail.end(), node) ==
          stream->capture_tail.end()) {
        stream->capture_tail.push_back(node);
      }
    }
  });
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void* data, unsigned flags) {
  return with_stream(handle, [&](Session& session, const StreamRef& stream) {
    require(callback != nullptr && flags == 0);
    session.forbid_wait_on(*stream);
    submit(session, stream, HostCall{nullptr, callback, handle, data});
  });
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  return with_stream(handle, [&](Session& session, const StreamRef& stream) {
    require(function != nullptr);
    submit(session, stream, HostCall{function, nullptr, nullptr, data});
  });
}

CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext* out, CUgreenCtx* green) {
  if (green != nullptr) *green = nullptr;
  return cuStreamGetCtx(handle, out);
}

namespace refrain::simgpu::driver {
namespace {

// All but the priority are hints, kept to be told again.
bool known_attribute(CUstreamAttrID id) {
  return id == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW || id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY ||
         id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP || id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN ||
         id == CU_LAUNCH_ATTRIBUTE_PRIORITY;
}

}  // namespace
}  // namespace refrain::simgpu::driver

CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID id, const CUstreamAttrValue* value) {
  return with_stream(handle, [&](Session&, const StreamRef& stream) {
    require(value != nullptr && known_attribute(id));
    stream->attributes[id] = *value;
    if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
      stream->priority = std::max(kGreatestPriority, std::min(0, value->priority));
    }
  });
}

CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID id, CUstreamAttrValue* value) {
  return with_stream(handle, [&](Session&, const StreamRef& stream) {
    require(value != nullptr && known_attribute(id));
    *value = {};
    if (const auto found = stream->attributes.find(id); found != stream->attributes.end())
      *value = found->second;
    if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY) value->priority = stream->priority;
  });
}

CUresult cuStreamCopyAttributes(CUstream to, CUstream from) {
  return with_stream(to, [&](Session& session, const StreamRef& stream) {
    stream->attributes = session.stream(from)->attributes;
  });
}
