// Where pages come from: the buffer's own cache, idle pages of the same size, new pages under the cap, and at
// last other sizes' idle pages, given back to the device. Must not choose victims among values.
#include "engine/memory.hpp"

#include <utility>

namespace refrain::engine {

BufferId Memory::new_slot(Bytes bytes) {
  BufferId id;
  if (free_slots_.empty()) {
    id.index = static_cast<std::uint32_t>(buffers_.size());
    buffers_.emplace_back();
  } else {
    id = free_slots_.back();
    free_slots_.pop_back();
  }
  buffers_[id.index] = Buffer{};
  buffers_[id.index].bytes = bytes;
  buffers_[id.index].extent_bytes = bytes;
  return id;
}

BufferId Memory::acquire(Bytes bytes) {
  const auto cached = cached_.find(bytes);
  if (cached != cached_.end() && !cached->second.empty()) {
    const BufferId id = cached->second.back();  // given back last: the likeliest to be mapped still
    cached->second.pop_back();
    return id;
  }
  const BufferId id = new_slot(bytes);
  if (device_.reserve(id, bytes)) return id;
  free_slots_.push_back(id);
  return {};
}

BufferId Memory::adopt(Bytes bytes) {
  const BufferId id = new_slot(bytes);
  buffers_[id.index].adopted = true;
  return id;
}

BufferId Memory::place(Bytes bytes, Bytes extent_bytes) {
  const BufferId id = new_slot(bytes);
  buffers_[id.index].extent_bytes = extent_bytes;
  buffers_[id.index].placed = true;
  return id;
}

void Memory::give_back(BufferId id) {
  Buffer& b = buffers_[id.index];
  b.current = {};
  b.held = {};
  b.program = false;
  b.pinned = false;
  if (b.placed) {
    // Where its pages cannot be taken out now, the range is never handed on.
    if (b.idle) unlink_idle(id);
    if (b.pages && !unback(id)) return make_idle(id);
  }
  if (b.adopted || b.placed) {
    device_.release_placed(id);
    free_slots_.push_back(id);
  } else {
    make_idle(id);
    cached_[b.bytes].push_back(id);
  }
}

void Memory::make_idle(BufferId id) {
  Buffer& b = buffers_[id.index];
  if (b.idle || !b.pages) return;
  b.idle = true;
  idle_bytes_ += b.bytes;
  IdleBuffers& list = idle_buffers_[b.bytes];
  b.idle_before = list.last;
  b.idle_after = {};
  if (list.last) {
    buffers_[list.last.index].idle_after = id;
  } else {
    list.first = id;
  }
  list.last = id;
}

void Memory::unlink_idle(BufferId id) {
  Buffer& b = buffers_[id.index];
  IdleBuffers& list = idle_buffers_[b.bytes];
  (b.idle_before ? buffers_[b.idle_before.index].idle_after : list.first) = b.idle_after;
  (b.idle_after ? buffers_[b.idle_after.index].idle_before : list.last) = b.idle_before;
  b.idle = false;
  idle_bytes_ -= b.bytes;
}

bool Memory::back(BufferId id) {
  Buffer& b = buffers_[id.index];
  if (b.idle) unlink_idle(id);
  if (b.mapped()) return true;
  PagesId pages;
  const auto idle = idle_pages_.find(b.bytes);
  if (idle != idle_pages_.end()) {
    pages = idle->second.back();
    idle->second.pop_back();
    if (idle->second.empty()) idle_pages_.erase(idle);
    idle_bytes_ -= b.bytes;
  } else if (held_bytes() + b.bytes <= cap_bytes_ || !(pages = take_pages_of_idle_buffer(b.bytes))) {
    if (!grow(b.bytes, pages)) return false;
  }
  if (map(id, pages)) {
    b.pages = pages;
    return true;
  }
  idle_pages_[b.bytes].push_back(pages);
  idle_bytes_ += b.bytes;
  return false;
}

bool Memory::map(BufferId id, PagesId pages) {
  ++mapping_calls_.mapped;
  return device_.map(id, pages);
}

bool Memory::unmap(BufferId id) {
  ++mapping_calls_.unmapped;
  return device_.unmap(id);
}

bool Memory::unback(BufferId id) {
  Buffer& b = buffers_[id.index];
  if (!unmap(id)) return false;
  idle_pages_[b.bytes].push_back(b.pages);
  idle_bytes_ += b.bytes;
  b.pages = {};
  return true;
}

bool Memory::charge_external(Bytes bytes) {
  if (!trim_to(bytes)) return false;
  external_bytes_ += bytes;
  if (held_bytes() > peak_held_bytes_) peak_held_bytes_ = held_bytes();
  return true;
}

void Memory::count_external(Bytes bytes) {
  external_bytes_ += bytes;
  peak_held_bytes_ = std::max(peak_held_bytes_, held_bytes());
}

bool Memory::grow(Bytes bytes, PagesId& out) {
  if (!trim_to(bytes)) return false;
  std::optional<PagesId> pages = device_.create_pages(bytes);
  // The device itself may be fuller than the cap: idle pages are then worth less than the request.
  while (!pages && trim_to(cap_bytes_ - held_bytes() + 1)) pages = device_.create_pages(bytes);
  if (!pages) return false;
  ++mapping_calls_.created;
  held_bytes_ += bytes;
  if (held_bytes() > peak_held_bytes_) peak_held_bytes_ = held_bytes();
  out = *pages;
  return true;
}

// Gives idle memory back to the device until room_bytes more can be held. Largest first: fewest driver calls.
bool Memory::trim_to(Bytes room_bytes) {
  if (room_bytes > cap_bytes_) return false;
  // Nothing is destroyed for a request that would not fit even so: the pages may serve the next one as they
  // are.
  if (used_bytes() + room_bytes > cap_bytes_) return false;
  while (held_bytes() + room_bytes > cap_bytes_) {
    if (!idle_pages_.empty()) {
      destroy_idle(std::prev(idle_pages_.end()));
      continue;
    }
    const auto it = std::prev(idle_buffers_.end());
    if (!it->second.first) {
      idle_buffers_.erase(it);
      continue;
    }
    const Bytes bytes = it->first;
    const PagesId pages = take_pages_of_idle_buffer(bytes);
    if (!pages) return false;
    idle_pages_[bytes].push_back(pages);
    idle_bytes_ += bytes;
  }
  return true;
}

void Memory::destroy_idle(std::map<Bytes, std::vector<PagesId>>::iterator it) {
  ++mapping_calls_.destroyed;
  device_.destroy_pages(it->second.back());
  it->second.pop_back();
  held_bytes_ -= it->first;
  idle_bytes_ -= it->first;
  if (it->second.empty()) idle_pages_.erase(it);
}

PagesId Memory::take_pages_of_idle_buffer(Bytes bytes) {
  const auto it = idle_buffers_.find(bytes);
  if (it == idle_buffers_.end() || !it->second.first) return {};
  const BufferId id = it->second.first;  // idle for longest: the least likely to be in flight
  if (!unmap(id)) return {};
  unlink_idle(id);
  return std::exchange(buffers_[id.index].pages, PagesId{});
}

const char* Memory::check_invariants() const {
  Bytes backed = 0;
  Bytes idle = 0;
  for (const Buffer& b : buffers_) {
    if (b.pages) backed += b.bytes;
    if (b.pages && b.adopted) return "an adopted buffer has pages of its own";
    if (b.idle && (!b.pages || b.held)) return "an idle buffer holds something, or nothing at all";
    if (b.idle) idle += b.bytes;
  }
  for (const auto& [bytes, pages] : idle_pages_) {
    idle += bytes * pages.size();
    backed += bytes * pages.size();
  }
  if (backed != held_bytes_) return "held bytes are not the sum of all pages";
  if (idle != idle_bytes_) return "idle bytes are not the sum of idle pages";
  if (held_bytes() > cap_bytes_) return "the cap is exceeded";
  return nullptr;
}

}  // namespace refrain::engine
