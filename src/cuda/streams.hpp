// What was issued on which stream, and what of it is done. Work is counted, and events are recorded behind it
// only where somebody may have to wait, so that a program without pressure pays a counter.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "cuda/driver.hpp"

namespace refrain::cuda {

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
  // Blocks the host until that work is done. The error is the driver's: work that failed counts as done.
  CUresult wait_on_host(StreamIndex stream, std::uint64_t work);
  // Later work on `waiting` starts after that work on `stream`.
  CUresult wait_on_stream(StreamIndex waiting, StreamIndex stream, std::uint64_t work);

  // The handle is about to be destroyed: its work gets a last event, and the handle may come again as another
  // stream.
  void forget(CUstream handle);
  // Every context is gone: nothing that was issued is left.
  void forget_all() { streams_.clear(); }

 private:
  struct Mark {
    std::uint64_t work;
    CUevent event;
  };
  struct Stream {
    CUstream handle = nullptr;
    std::thread::id thread;  // of a per-thread default stream
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
};

}  // namespace refrain::cuda
