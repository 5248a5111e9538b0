// The engine's port: what it asks of whatever holds the memory and runs the ops (the CUDA driver, the
// simulator's virtual device, the tests' fake). Implementations never call back into the engine.
#pragma once

#include <optional>
#include <span>

#include "engine/ids.hpp"

namespace refrain::engine {

// Calls are made one at a time under the caller's lock. Every size is a multiple of the device's granularity.
class Device {
 public:
  virtual ~Device() = default;

  // An address range for a new buffer. false: no address space.
  virtual bool reserve(BufferId buffer, Bytes bytes) = 0;

  // Physical memory. nullopt: the device has none left (another process may hold it).
  virtual std::optional<PagesId> create_pages(Bytes bytes) = 0;
  virtual void destroy_pages(PagesId pages) = 0;

  // Backs a whole buffer with pages of the same size. false: refused; the pages stay with the caller.
  virtual bool map(BufferId buffer, PagesId pages) = 0;
  // true: nothing that was issued earlier can still touch the buffer, and its pages are free to be used.
  // false: that cannot be waited for now; the buffer is as it was.
  virtual bool unmap(BufferId buffer) = 0;

  // Issues a recorded op again, with bindings[i] in the place of its i-th buffer use; or copies one whole
  // buffer to another. Both happen in the order of the calls, before the op that is being prepared, once
  // `flush` has been called. A false from flush means that none, or not all, of what was queued has happened.
  virtual void replay(Payload payload, std::span<const BufferId> bindings) = 0;
  virtual void copy(BufferId from, BufferId to, Bytes bytes) = 0;
  // Zeros, and what a host allocation holds, into a whole buffer: queued as the two above.
  virtual void fill(BufferId buffer, Bytes bytes) = 0;
  virtual void copy_in(HostId from, BufferId to, Bytes bytes) = 0;
  virtual bool flush() = 0;

  // Pinned host memory. nullopt: none to be had.
  virtual std::optional<HostId> create_host(Bytes bytes) = 0;
  virtual void destroy_host(HostId host) = 0;
  // Copies a buffer out, behind everything issued to it so far, perhaps beside later work; `unmap` waits for
  // it. Nothing is queued when this is called. false: nothing was issued.
  virtual bool copy_out(BufferId from, HostId to, Bytes bytes) = 0;
  // Of the bytes that the program may see, behind everything issued to the buffer so far; blocks until it is
  // there. Nothing is queued when this is called. nullopt: it cannot be had now.
  virtual std::optional<Digest> digest(BufferId buffer) = 0;

  // The record behind a payload is needed no longer.
  virtual void release_payload(Payload payload) = 0;
  // A buffer at addresses of the caller's (adopted or placed) is needed no longer: its range may be used
  // again.
  virtual void release_placed(BufferId buffer) = 0;
};

}  // namespace refrain::engine
