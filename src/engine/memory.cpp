// Where pages come from: the buffer's own cache, idle pages of the same size, new pages under the cap, and at
// last other sizes' idle pages, given back to the device. Must not choose victims among values.
#include "engine/memory.hpp"

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
  return id;
}

BufferId Memory::acquire(Bytes bytes) {
  for (auto* cache : {&cached_mapped_, &cached_unmapped_}) {
    const auto it = cache->find(bytes);
    if (it == cache->end() || it->second.empty()) continue;
    const BufferId id = it->second.back();
    it->second.pop_back();
    if (buffers_[id.index].pages) idle_bytes_ -= bytes;
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

void Memory::give_back(BufferId id) {
  Buffer& b = buffers_[id.index];
  b.current = {};
  b.held = {};
  b.program = false;
  b.pinned = false;
  if (b.adopted) {
    device_.release_adopted(id);
    free_slots_.push_back(id);
  } else if (b.pages) {
    idle_bytes_ += b.bytes;
    cached_mapped_[b.bytes].push_back(id);
  } else {
    cached_unmapped_[b.bytes].push_back(id);
  }
}

bool Memory::back(BufferId id) {
  Buffer& b = buffers_[id.index];
  if (b.mapped()) return true;
  PagesId pages;
  const auto idle = idle_pages_.find(b.bytes);
  if (idle != idle_pages_.end()) {
    pages = idle->second.back();
    idle->second.pop_back();
    if (idle->second.empty()) idle_pages_.erase(idle);
    idle_bytes_ -= b.bytes;
  } else if (held_bytes() + b.bytes > cap_bytes_ && (pages = take_pages_of_cached(b.bytes))) {
    idle_bytes_ -= b.bytes;
  } else if (!grow(b.bytes, pages)) {
    return false;
  }
  if (device_.map(id, pages)) {
    b.pages = pages;
    return true;
  }
  idle_pages_[b.bytes].push_back(pages);
  idle_bytes_ += b.bytes;
  return false;
}

void Memory::unback(BufferId id) {
  Buffer& b = buffers_[id.index];
  device_.unmap(id);
  idle_pages_[b.bytes].push_back(b.pages);
  idle_bytes_ += b.bytes;
  b.pages = {};
}

bool Memory::charge_external(Bytes bytes) {
  if (!trim_to(bytes)) return false;
  external_bytes_ += bytes;
  if (held_bytes() > peak_held_bytes_) peak_held_bytes_ = held_bytes();
  return true;
}

bool Memory::grow(Bytes bytes, PagesId& out) {
  if (!trim_to(bytes)) return false;
  std::optional<PagesId> pages = device_.create_pages(bytes);
  // The device itself may be fuller than the cap: idle pages are then worth less than the request.
  while (!pages && trim_to(cap_bytes_ - held_bytes() + 1)) pages = device_.create_pages(bytes);
  if (!pages) return false;
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
    const auto it = std::prev(cached_mapped_.end());
    if (it->second.empty()) {
      cached_mapped_.erase(it);
      continue;
    }
    const PagesId pages = take_pages_of_cached(it->first);
    idle_pages_[it->first].push_back(pages);
  }
  return true;
}

void Memory::destroy_idle(std::map<Bytes, std::vector<PagesId>>::iterator it) {
  device_.destroy_pages(it->second.back());
  it->second.pop_back();
  held_bytes_ -= it->first;
  idle_bytes_ -= it->first;
  if (it->second.empty()) idle_pages_.erase(it);
}

// The pages of a cached buffer, still counted as idle.
PagesId Memory::take_pages_of_cached(Bytes bytes) {
  const auto it = cached_mapped_.find(bytes);
  if (it == cached_mapped_.end() || it->second.empty()) return {};
  const BufferId id =
      it->second.front();  // the one that was freed longest ago: the least likely to be in flight
  it->second.erase(it->second.begin());
  Buffer& b = buffers_[id.index];
  device_.unmap(id);
  const PagesId pages = b.pages;
  b.pages = {};
  cached_unmapped_[bytes].push_back(id);
  return pages;
}

const char* Memory::check_invariants() const {
  Bytes backed = 0;
  Bytes idle = 0;
  for (const Buffer& b : buffers_) {
    if (b.pages) backed += b.bytes;
    if (b.pages && b.adopted) return "an adopted buffer has pages of its own";
  }
  for (const auto& [bytes, pages] : idle_pages_) idle += bytes * pages.size();
  backed += idle;
  for (const auto& [bytes, ids] : cached_mapped_) idle += bytes * ids.size();
  if (backed != held_bytes_) return "held bytes are not the sum of all pages";
  if (idle != idle_bytes_) return "idle bytes are not the sum of idle pages";
  if (held_bytes() > cap_bytes_) return "the cap is exceeded";
  return nullptr;
}

}  // namespace refrain::engine
