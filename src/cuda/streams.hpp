// What was issued on which stream, and what of it is done. Work is counted, and events are recorded behind it
// only where somebody may have to wait, so that a program without pressure pays a counter.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "cuda/driver.hpp"

namespace refrain::cuda {

// Errors that say what a capture forbids, not that anything went wrong on the device.
inline bool is_capture_error(CUresult result) {
  return result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

using StreamIndex = std::uint32_t;

// Thread safety: the caller's lock.
class Streams {
 public:
  explicit Streams(const Driver& driver) : driver_(driver) {}

  // The stream behind a handle. CU_STREAM_PER_THREAD is a different stream in every thread.
  StreamIndex index_of(CUstream handle);
  CUstream handle(StreamIndex stream) const { return streams_[stream].handle; }

  // One more piece of work went to the stream: its number. mark: leave an event behind it.
  std::uint64_t issue(StreamIndex stream, bool mark);
  bool done(StreamIndex stream, std::uint64_t work);
  // Blocks the host until that work is done. Work that failed counts as done, and the error is the driver's;
  // but where a stream capture forbids waiting, nothing is done: see is_capture_error.
  CUresult wait_on_host(StreamIndex stream, std::uint64_t work);
  // Later work on `waiting` starts after that work on `stream`.
  CUresult wait_on_stream(StreamIndex waiting, StreamIndex stream, std::uint64_t work);

  // The handle is about to be destroyed: its work gets a last event, and the handle may come again as another
  // stream.
  void forget(CUstream handle);
  // A capture is about to begin, or the last one has ended. While there is one, events must not be recorded
  // on a stream that is captured (they would become part of the graph) nor on the legacy stream (that would
  // end the capture): so whatever was issued gets its event before.
  void before_capture();
  void set_capturing(bool any) { capturing_ = any; }
  // The context is gone: all that was issued is done, and no event of it is left. Indices stay valid.
  void forget_all();

 private:
  struct Mark {
    std::uint64_t work;
    CUevent event;
  };
  struct Stream {
    CUstream handle = nullptr;
    std::uint64_t thread = 0;  // of a per-thread default stream: a number that no other thread ever has
    bool open = true;
    std::uint64_t issued = 0;
    std::uint64_t completed = 0;
    std::deque<Mark> marks;
  };

  CUevent take_event();
  void mark(Stream& stream);
  const Mark* mark_for(Stream& stream, std::uint64_t work);
  void complete(Stream& stream, std::uint64_t work);

  const Driver& driver_;
  std::vector<Stream> streams_;
  std::vector<CUevent> spare_events_;
  bool capturing_ = false;
};

}  // namespace refrain::cuda
