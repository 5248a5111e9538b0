// From an API call to queued work or, while a stream captures, to a graph node. It must not run anything
// itself.
#pragma once

#include "simgpu/driver/session.hpp"

namespace refrain::simgpu::driver {

// Queues an operation behind everything that the stream's order (and the legacy stream's rules) put before
// it, and behind `also`. While the stream captures: adds a node instead and returns nullptr.
ItemRef submit(Session& session, const StreamRef& stream, Operation operation, const ItemRef& also = nullptr);

// An item that has the stream's order before it but is not queued yet: the parts of a graph launch hang
// between two.
ItemRef ordered_item(Session& session, Stream& stream, Operation operation);

}  // namespace refrain::simgpu::driver
