// Dividing ranges. It must never give a byte to two parts.
#include "cuda/arenas.hpp"

#include <algorithm>

namespace refrain::cuda {

bool Arena::add(CUdeviceptr begin, CUdeviceptr end, FunctionRef<bool(Part&)> make, std::vector<Part>& out) {
  Part part{.begin = begin, .end = end, .buffer = {}};
  if (!make(part)) return false;
  parts_.emplace(begin, part);
  out.push_back(part);
  return true;
}

bool Arena::cover(CUdeviceptr begin, CUdeviceptr end, FunctionRef<bool(Part&)> make, std::vector<Part>& out) {
  out.clear();
  begin = std::max(begin, base_);
  end = std::min(end, end_);
  while (begin < end) {
    auto next = parts_.upper_bound(begin);
    if (next != parts_.begin()) {
      const Part& before = std::prev(next)->second;
      if (begin < before.end) {
        out.push_back(before);
        begin = before.end;
        continue;
      }
    }
    const CUdeviceptr stop = next == parts_.end() ? end : std::min(end, next->first);
    if (!add(begin, stop, make, out)) return false;
    begin = stop;
  }
  return true;
}

bool Arena::complete(FunctionRef<bool(Part&)> make) {
  std::vector<Part> all;
  return cover(base_, end_, make, all);
}

CudaDevice::Placement Arena::placement(const Part& part) const {
  const CUdeviceptr first = part.begin / page_bytes_ * page_bytes_;
  const CUdeviceptr last = (part.end + page_bytes_ - 1) / page_bytes_ * page_bytes_;
  // The rest of the arena's last page is nobody's.
  const bool to_the_end = part.end == end_;
  const CUdeviceptr own = (part.begin + page_bytes_ - 1) / page_bytes_ * page_bytes_;
  const CUdeviceptr own_end = to_the_end ? last : part.end / page_bytes_ * page_bytes_;
  return {.base = first,
          .bytes = last - first,
          .own_base = own,
          .own_bytes = own < own_end ? own_end - own : 0,
          .skip_bytes = part.begin - first,
          .content_bytes = part.end - part.begin};
}

std::vector<CUdeviceptr> Arena::missing_pages(const Part& part) const {
  const CudaDevice::Placement at = placement(part);
  std::vector<CUdeviceptr> out;
  for (CUdeviceptr page = at.base; page < at.base + at.bytes; page += page_bytes_) {
    const bool own = page >= at.own_base && page < at.own_base + at.own_bytes;
    if (own) {
      page = at.own_base + at.own_bytes - page_bytes_;
    } else if (!shared_.contains(page)) {
      out.push_back(page);
    }
  }
  return out;
}

bool Arenas::released(engine::BufferId buffer) {
  const auto owner = owners_.find(buffer);
  if (owner == owners_.end()) return false;
  if (const auto left = left_.find(owner->second); left != left_.end()) --left->second;
  owners_.erase(owner);
  return true;
}

void Arenas::freed(Arena& arena) {
  const auto at =
      std::find_if(live_.begin(), live_.end(), [&](const Arena& other) { return &other == &arena; });
  ending_.splice(ending_.end(), live_, at);
  left_[&arena] = static_cast<std::size_t>(std::count_if(
      owners_.begin(), owners_.end(), [&](const auto& entry) { return entry.second == &arena; }));
}

Arena* Arenas::finished() {
  const auto found =
      std::find_if(left_.begin(), left_.end(), [](const auto& entry) { return entry.second == 0; });
  return found == left_.end() ? nullptr : found->first;
}

void Arenas::forget(Arena& arena) {
  left_.erase(&arena);
  ending_.remove_if([&](const Arena& other) { return &other == &arena; });
}

}  // namespace refrain::cuda
