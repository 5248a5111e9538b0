// The order of streams. It must not know what operations do.
#include "simgpu/driver/submit.hpp"

#include "simgpu/driver/graph.hpp"

namespace refrain::simgpu::driver {
namespace {

// A destroyed stream's work still comes before later work of the legacy stream.
void forget_finished(Session& session, Context& context) {
  std::erase_if(context.streams, [&](const StreamRef& stream) {
    return session.device.streams.find(stream.get()) == nullptr &&
           (stream->last == nullptr || stream->last->state == Item::State::kDone);
  });
}

// https://docs.nvidia.com/cuda: work on the legacy stream waits for all blocking streams, and they for it.
void wait_as_default_streams_do(Session& session, Stream& stream, Item& item) {
  if (stream.legacy) {
    forget_finished(session, *stream.context);
    for (const StreamRef& other : stream.context->streams) {
      if (other->blocking()) item.wait_for(other->last);
    }
  } else if (stream.blocking()) {
    item.wait_for(stream.context->legacy_stream->last);
  }
}

}  // namespace

ItemRef ordered_item(Session& session, Stream& stream, Operation operation) {
  session.forbid_wait_on(stream);
  auto item = std::make_shared<Item>();
  item->context = stream.context;
  item->operation = std::move(operation);
  item->wait_for(stream.last);
  wait_as_default_streams_do(session, stream, *item);
  item->stall_ns = std::exchange(session.device.card_of(*stream.context).stall_ns, 0);
  return item;
}

ItemRef submit(Session& session, const StreamRef& stream, Operation operation, const ItemRef& also) {
  if (stream->capture != nullptr) {
    capture_operation(*stream, std::move(operation));
    return nullptr;
  }
  ItemRef item = ordered_item(session, *stream, std::move(operation));
  item->wait_for(also);
  stream->last = item;
  session.device.queue.add(session.lock, item);
  return item;
}

}  // namespace refrain::simgpu::driver
