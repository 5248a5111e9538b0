// See history.hpp.
#include "guide/history.hpp"

namespace refrain::guide {
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t with) {
  hash ^= with + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdu;
  return hash ^ (hash >> 33);
}

std::uint64_t flags_of(const BufferUse& use) {
  return (use.read ? 1u : 0u) | (use.written ? 2u : 0u) | (use.whole ? 4u : 0u) | (use.undefined ? 8u : 0u);
}

}  // namespace

History::State& History::state(BufferId buffer) {
  if (buffer.index >= buffers_.size()) buffers_.resize(buffer.index + 1);
  return buffers_[buffer.index];
}

const Known& History::current(BufferId buffer) const {
  static const Known none;
  return buffer.index < buffers_.size() ? buffers_[buffer.index].current : none;
}

void History::end_value(State& state) {
  if (state.current.number != 0) live_bytes_ -= state.bytes;
  state.current = {};
}

void History::buffer(BufferId buffer, Bytes bytes, bool stays) {
  State& s = state(buffer);
  s.freed = 0;
  if (stays && !s.stays) stays_bytes_ += s.stays_bytes = bytes;
  s.stays = s.stays || stays;
  s.bytes = s.stays ? 0 : bytes;  // counted once
}

void History::free(BufferId buffer) {
  State& s = state(buffer);
  const std::uint64_t number = s.current.number;
  end_value(s);
  if (s.stays) stays_bytes_ -= s.stays_bytes;
  s = {.current = {}, .freed = number};
}

void History::barrier() {
  for (State& s : buffers_) end_value(s);
  first_ = end();
  records_.clear();
}

Record History::describe(std::span<const BufferUse> uses, bool replayable, std::uint32_t cost_class) const {
  Record record{.shape = mix(cost_class, replayable ? 1 : 0),
                .cost_class = cost_class,
                .replayable = replayable,
                .uses = {}};
  record.uses.reserve(uses.size());
  for (const BufferUse& use : uses) {
    RecordedUse recorded{.use = use, .input = {}};
    if (use.buffer.index < buffers_.size()) recorded.bytes = buffers_[use.buffer.index].bytes;
    if (needs_contents(use)) recorded.input = current(use.buffer);
    record.shape = mix(mix(record.shape, recorded.bytes), flags_of(use));
    record.uses.push_back(recorded);
  }
  return record;
}

// The number of what it wrote; 0: nothing of interest.
std::uint64_t History::write(const BufferUse& use, std::uint32_t slot, bool replayable) {
  State& s = state(use.buffer);
  end_value(s);
  if (use.undefined) return 0;
  s.current = {.number = next_number_++, .op = end(), .slot = slot};
  s.replayable = replayable;
  live_bytes_ += s.bytes;
  return s.current.number;
}

void History::pass(std::span<const BufferUse> uses, bool replayable) {
  for (std::uint32_t slot = 0; slot < uses.size(); ++slot)
    if (uses[slot].written) write(uses[slot], slot, replayable);
  ++first_;
}

const Record& History::op(std::span<const BufferUse> uses, bool replayable, std::uint32_t cost_class,
                          double spent_ns) {
  Record record = describe(uses, replayable, cost_class);
  record.spent_ns = spent_ns;
  for (std::uint32_t slot = 0; slot < record.uses.size(); ++slot) {
    if (record.uses[slot].use.written)
      record.uses[slot].output = write(record.uses[slot].use, slot, replayable);
  }
  record.live_bytes = live_bytes_;
  if (records_.size() == most_records_) {
    records_.pop_front();
    ++first_;
  }
  records_.push_back(std::move(record));
  return records_.back();
}

}  // namespace refrain::guide
