// The published runtime's evictable storages, in the order in which they became so: its ties are broken by
// it.
#pragma once

#include <cstdint>
#include <vector>

namespace refrain::simulate {

class Pool {
 public:
  static constexpr std::uint32_t kEnd = 0xffffffffu;

  void grow_to(std::size_t storages) { links_.resize(storages); }
  bool contains(std::uint32_t storage) const { return links_[storage].in; }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::uint32_t first() const { return first_; }
  std::uint32_t after(std::uint32_t storage) const { return links_[storage].after; }

  void append(std::uint32_t storage) {
    if (contains(storage)) return;
    links_[storage] = {.before = last_, .after = kEnd, .in = true};
    (last_ == kEnd ? first_ : links_[last_].after) = storage;
    last_ = storage;
    ++size_;
  }
  void remove(std::uint32_t storage) {
    if (!contains(storage)) return;
    const Link link = links_[storage];
    (link.before == kEnd ? first_ : links_[link.before].after) = link.after;
    (link.after == kEnd ? last_ : links_[link.after].before) = link.before;
    links_[storage].in = false;
    --size_;
  }

 private:
  struct Link {
    std::uint32_t before = kEnd;
    std::uint32_t after = kEnd;
    bool in = false;
  };
  std::vector<Link> links_;
  std::uint32_t first_ = kEnd;
  std::uint32_t last_ = kEnd;
  std::size_t size_ = 0;
};

}  // namespace refrain::simulate
