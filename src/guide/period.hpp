// Finds how long an iteration is: two equal sequences of ops, one right after the other. Must not know what
// the ops work on beyond their shapes: whether the values fit together too is for the caller to see.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <vector>

namespace refrain::guide {

class Period {
 public:
  // Nothing longer is found.
  explicit Period(std::size_t most_ops) : most_ops_(most_ops) {}

  void add(std::uint64_t shape);
  void forget();
  // The shortest length of at least `least` at which the sequence that ends now equals the one before it and
  // `accepted` says so; 0: none. Looks at so many earlier occurrences of the last shape at most.
  std::size_t find(std::size_t least, const std::function<bool(std::size_t)>& accepted) const;

 private:
  static constexpr int kMostLooks = 256;
  std::uint64_t hash(std::uint64_t begin, std::uint64_t end) const;

  std::size_t most_ops_;
  std::uint64_t first_ = 0;  // of what is remembered; all ops are counted
  struct Entry {
    std::uint64_t before = 0;    // polynomial hash of all shapes before it
    std::uint64_t previous = 0;  // where the same shape was last, plus 1; 0: nowhere
  };
  std::deque<Entry> entries_;
  std::uint64_t all_ = 0;  // hash of all shapes
  std::vector<std::uint64_t> powers_{1};
  std::unordered_map<std::uint64_t, std::uint64_t> last_;  // by shape
};

}  // namespace refrain::guide
