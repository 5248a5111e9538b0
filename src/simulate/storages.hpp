// What the published runtime knows of storages, and what is next to what. Plain data with stamps for walks.
// Must not decide anything.
#pragma once

#include <cstdint>
#include <vector>

namespace refrain::simulate {

struct Storage {
  std::uint64_t bytes = 0;
  std::uint64_t compute_ns = 0;  // of all ops that made its tensors, each once; grows with its views
  std::int64_t last_access_ns = 0;
  std::uint32_t last_op = 0;     // counted in compute_ns
  std::uint32_t references = 0;  // of the program
  std::uint32_t locks = 0;
  bool material = false;
  bool pinned = false;
  bool banished = false;
  std::vector<std::uint32_t> tensors;   // the root first
  std::vector<std::uint32_t> parents;   // other storages, one entry for each op between the two
  std::vector<std::uint32_t> children;  // the same downwards
};

// A set of numbers below a bound that is emptied in constant time.
class Marks {
 public:
  explicit Marks(std::size_t bound) : stamps_(bound) {}
  void clear() {
    if (++stamp_ != 0) return;
    stamps_.assign(stamps_.size(), 0);
    stamp_ = 1;
  }
  // false: was in it.
  bool add(std::uint32_t number) {
    if (stamps_[number] == stamp_) return false;
    stamps_[number] = stamp_;
    return true;
  }

 private:
  std::vector<std::uint32_t> stamps_;
  std::uint32_t stamp_ = 1;
};

}  // namespace refrain::simulate
