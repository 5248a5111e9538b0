// Counting and marking work. Must never synchronise more than the work that it is asked about.
#include "cuda/streams.hpp"

#include <atomic>

namespace refrain::cuda {
namespace {

bool is_per_thread(CUstream handle) {
  return handle == CU_STREAM_PER_THREAD;
}

// Unlike the system's thread numbers, these are never used again.
std::uint64_t this_thread() {
  static std::atomic<std::uint64_t> last{0};
  static thread_local const std::uint64_t mine = ++last;
  return mine;
}

}  // namespace

StreamIndex Streams::index_of(CUstream handle) {
  const std::uint64_t me = is_per_thread(handle) ? this_thread() : 0;
  for (StreamIndex i = 0; i < streams_.size(); ++i) {
    if (streams_[i].open && streams_[i].handle == handle && streams_[i].thread == me) return i;
  }
  // A slot of a destroyed stream whose work is done may serve again: its count goes on, so that whoever
  // remembers old work finds it done.
  StreamIndex index = 0;
  while (index < streams_.size() && (streams_[index].open || !done(index, streams_[index].issued))) ++index;
  if (index == streams_.size()) streams_.emplace_back();
  streams_[index].handle = handle;
  streams_[index].thread = me;
  streams_[index].open = true;
  return index;
}

std::uint64_t Streams::issue(StreamIndex index, bool mark_it) {
  Stream& stream = streams_[index];
  ++stream.issued;
  // An event can only be recorded on a per-thread stream by its own thread: now or never.
  if (mark_it || is_per_thread(stream.handle)) mark(stream);
  return stream.issued;
}

bool Streams::done(StreamIndex index, std::uint64_t work) {
  Stream& stream = streams_[index];
  while (stream.completed < work && !stream.marks.empty()) {
    const Mark& first = stream.marks.front();
    if (driver_.cuEventQuery(first.event) == CUDA_ERROR_NOT_READY) return false;
    complete(stream, first.work);
  }
  return stream.completed >= work;
}

CUresult Streams::wait_on_host(StreamIndex index, std::uint64_t work) {
  Stream& stream = streams_[index];
  if (stream.completed >= work) return CUDA_SUCCESS;
  const Mark* mark = mark_for(stream, work);
  const CUresult result =
      mark ? driver_.cuEventSynchronize(mark->event) : driver_.cuStreamSynchronize(stream.handle);
  complete(stream, mark ? mark->work : work);
  return result;
}

CUresult Streams::wait_on_stream(StreamIndex waiting, StreamIndex index, std::uint64_t work) {
  Stream& stream = streams_[index];
  if (waiting == index || stream.completed >= work) return CUDA_SUCCESS;
  const Mark* mark = mark_for(stream, work);
  if (!mark) return wait_on_host(index, work);
  return driver_.cuStreamWaitEvent(streams_[waiting].handle, mark->event, 0);
}

void Streams::forget(CUstream handle) {
  for (Stream& stream : streams_) {
    if (!stream.open || stream.handle != handle) continue;
    if (stream.issued > stream.completed) mark(stream);
    stream.open = false;
  }
}

void Streams::forget_all() {
  for (Stream& stream : streams_) {
    stream.open = false;
    stream.completed = stream.issued;
    stream.marks.clear();
  }
  spare_events_.clear();
}

void Streams::before_capture() {
  for (Stream& stream : streams_) {
    const std::uint64_t marked = stream.marks.empty() ? stream.completed : stream.marks.back().work;
    if (stream.open && stream.issued > marked && !is_per_thread(stream.handle)) mark(stream);
  }
}

CUevent Streams::take_event() {
  CUevent event = nullptr;
  if (!spare_events_.empty()) {
    event = spare_events_.back();
    spare_events_.pop_back();
  } else if (driver_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
    return nullptr;
  }
  return event;
}

void Streams::mark(Stream& stream) {
  // 64 unfinished marks are far more than anybody waits for one by one.
  if (stream.marks.size() >= 64 && driver_.cuEventQuery(stream.marks.front().event) != CUDA_ERROR_NOT_READY) {
    complete(stream, stream.marks.front().work);
  }
  if (capturing_) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (stream.handle == CU_STREAM_LEGACY ||
        driver_.cuStreamIsCapturing(stream.handle, &status) != CUDA_SUCCESS ||
        status != CU_STREAM_CAPTURE_STATUS_NONE) {
      return;
    }
  }
  const CUevent event = take_event();
  if (!event) return;
  if (driver_.cuEventRecord(event, stream.handle) == CUDA_SUCCESS) {
    stream.marks.push_back({stream.issued, event});
  } else {
    spare_events_.push_back(event);
  }
}

// The earliest event behind that work; recorded now where there is none yet, which waits for more than was
// asked.
const Streams::Mark* Streams::mark_for(Stream& stream, std::uint64_t work) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (const Mark& candidate : stream.marks) {
      if (candidate.work >= work) return &candidate;
    }
    if (stream.open && (!is_per_thread(stream.handle) || stream.thread == this_thread())) mark(stream);
  }
  return nullptr;
}

void Streams::complete(Stream& stream, std::uint64_t work) {
  if (work > stream.completed) stream.completed = work;
  while (!stream.marks.empty() && stream.marks.front().work <= stream.completed) {
    spare_events_.push_back(stream.marks.front().event);
    stream.marks.pop_front();
  }
}

}  // namespace refrain::cuda
