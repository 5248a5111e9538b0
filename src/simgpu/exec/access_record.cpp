// Sets of bytes, and what the lanes of a warp add to them. It must not check anything: accesses have been
// resolved when they come here.
#include "simgpu/exec/access_record.hpp"

#include <algorithm>
#include <bit>

#include "simgpu/exec/warp.hpp"

namespace refrain::simgpu {
namespace {

// Calls each(word, mask) for bits [first, first + count) of words of 64 bits.
template <class Each>
void for_words(std::uint64_t first, std::uint64_t count, Each each) {
  while (count != 0) {
    const std::uint64_t bit = first % 64, here = std::min<std::uint64_t>(count, 64 - bit);
    each(first / 64, (here == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1) << bit);
    first += here;
    count -= here;
  }
}

}  // namespace

ByteSet::Page& ByteSet::page(std::uint64_t number) {
  Recent& recent = recent_[number % recent_.size()];
  if (recent.number != number) recent = {number, &pages_[number]};
  return *recent.page;
}

void ByteSet::add(DeviceAddress begin, std::uint64_t bytes) {
  while (bytes != 0) {
    const std::uint64_t offset = begin % kPageBytes, here = std::min(bytes, kPageBytes - offset);
    Page& bits = page(begin / kPageBytes);
    for_words(offset, here, [&](std::uint64_t word, std::uint64_t mask) { bits[word] |= mask; });
    begin += here;
    bytes -= here;
  }
}

void ByteSet::add(const ByteSet& other) {
  for (const auto& [number, bits] : other.pages_) {
    Page& own = page(number);
    for (std::size_t word = 0; word < bits.size(); ++word) own[word] |= bits[word];
  }
}

void ByteSet::remove(const ByteSet& other) {
  for (const auto& [number, bits] : other.pages_) {
    const auto found = pages_.find(number);
    if (found == pages_.end()) continue;
    for (std::size_t word = 0; word < bits.size(); ++word) found->second[word] &= ~bits[word];
  }
}

std::vector<ByteRange> ByteSet::ranges() const {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, bits] : pages_) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  std::vector<ByteRange> out;
  for (const std::uint64_t number : numbers) {
    const Page& bits = pages_.at(number);
    for (std::size_t word = 0; word < bits.size(); ++word) {
      const DeviceAddress at = number * kPageBytes + word * kWordBits;
      for (std::uint64_t rest = bits[word]; rest != 0;) {
        const auto first = static_cast<std::uint64_t>(std::countr_zero(rest));
        const auto count = static_cast<std::uint64_t>(std::countr_one(rest >> first));
        if (!out.empty() && out.back().end == at + first) {
          out.back().end += count;
        } else {
          out.push_back({at + first, at + first + count});
        }
        rest &= first + count == kWordBits ? 0 : ~std::uint64_t{0} << (first + count);
      }
    }
  }
  return out;
}

void AccessRecord::add(Use use, DeviceAddress begin, std::uint64_t bytes) {
  if (use != Use::kWrite) reads.add(begin, bytes);
  if (use != Use::kRead) writes.add(begin, bytes);
  if (use == Use::kUpdate) updates.add(begin, bytes);
  if (use == Use::kFloatUpdate) float_updates.add(begin, bytes);
}

void AccessRecord::add(const AccessRecord& other) {
  reads.add(other.reads);
  writes.add(other.writes);
  updates.add(other.updates);
  float_updates.add(other.float_updates);
  heap.add(other.heap);
  printed |= other.printed;
}

void record_access(AccessRecord& record, Use use, const std::uint64_t* address, std::uint64_t bytes,
                   LaneMask mask) {
  DeviceAddress begin = 0, end = 0;  // of lanes that lie one after the other
  for (LaneMask rest = mask; rest != 0; rest &= rest - 1) {
    const std::uint64_t at = address[first_lane(rest)];
    if ((at & kWindowMask) != 0) continue;  // a generic address of shared, local or parameter memory
    if (at == end && begin != end) {
      end += bytes;
    } else if (at < begin || at + bytes > end) {
      record.add(use, begin, end - begin);
      begin = at;
      end = at + bytes;
    }
  }
  record.add(use, begin, end - begin);
}

}  // namespace refrain::simgpu
