// What is kept and until when. In doubt it must forget.
#include "cuda/known_contents.hpp"

#include <algorithm>
#include <iterator>

namespace refrain::cuda {

KnownContents::Ticket KnownContents::await(CUdeviceptr to, std::size_t bytes) {
  if (bytes == 0 || bytes > kMostBytes || suspended_ > 0 || is_never(to, to + bytes)) return 0;
  awaited_.push_back({++last_ticket_, to, to + bytes});
  return last_ticket_;
}

void KnownContents::arrived(Ticket ticket, const void* from) {
  const auto found =
      std::find_if(awaited_.begin(), awaited_.end(), [&](const Awaited& a) { return a.ticket == ticket; });
  if (found == awaited_.end()) return;
  const auto [number, begin, end] = *found;
  awaited_.erase(found);
  const std::size_t bytes = end - begin;
  drop(begin, end);
  make_room(bytes);
  Entry& entry = entries_[begin];
  entry.age = number;
  entry.contents.assign(begin, {static_cast<const std::byte*>(from), bytes});
  total_bytes_ += bytes;
}

void KnownContents::failed(Ticket ticket) {
  std::erase_if(awaited_, [&](const Awaited& a) { return a.ticket == ticket; });
}

void KnownContents::note_use(CUdeviceptr begin, CUdeviceptr end, bool written) {
  std::erase_if(awaited_, [&](const Awaited& a) { return a.begin < end && begin < a.end; });
  if (written) drop(begin, end);
}

void KnownContents::drop(CUdeviceptr begin, CUdeviceptr end) {
  auto it = entries_.upper_bound(begin);
  if (it != entries_.begin() && std::prev(it)->second.contents.end() > begin) --it;
  while (it != entries_.end() && it->first < end) {
    total_bytes_ -= it->second.contents.bytes().size();
    it = entries_.erase(it);
  }
}

void KnownContents::make_room(std::size_t bytes) {
  while (entries_.size() >= kMostEntries || total_bytes_ + bytes > kMostTotalBytes) {
    const auto oldest = std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
      return a.second.age < b.second.age;
    });
    drop(oldest->first, oldest->first + 1);
  }
}

void KnownContents::forget_all() {
  entries_.clear();
  awaited_.clear();
  total_bytes_ = 0;
}

void KnownContents::suspend() {
  ++suspended_;
  forget_all();
}

void KnownContents::resume() {
  --suspended_;
  forget_all();
}

void KnownContents::never(CUdeviceptr begin, CUdeviceptr end) {
  used(begin, end, true);
  CUdeviceptr& known_end = never_[begin];
  known_end = std::max(known_end, end);
}

void KnownContents::freed(CUdeviceptr begin, CUdeviceptr end) {
  used(begin, end, true);
  std::erase_if(never_, [&](const auto& range) { return range.first >= begin && range.first < end; });
}

bool KnownContents::is_never(CUdeviceptr begin, CUdeviceptr end) const {
  return std::any_of(never_.begin(), never_.end(),
                     [&](const auto& range) { return range.first < end && begin < range.second; });
}

const access::Contents* KnownContents::around(CUdeviceptr address) const {
  const auto next = entries_.upper_bound(address);
  if (next == entries_.begin()) return nullptr;
  const access::Contents& contents = std::prev(next)->second.contents;
  return address < contents.end() ? &contents : nullptr;
}

}  // namespace refrain::cuda
