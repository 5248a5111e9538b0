// See period.hpp. Polynomial hashes of all prefixes: two stretches are compared by one subtraction each.
#include "guide/period.hpp"

namespace refrain::guide {
namespace {

constexpr std::uint64_t kBase = 0x9e3779b97f4a7c15u;

}  // namespace

void Period::add(std::uint64_t shape) {
  const std::uint64_t at = first_ + entries_.size();
  const auto [last, is_new] = last_.try_emplace(shape, at);
  entries_.push_back({.before = all_, .previous = is_new ? 0 : last->second + 1});
  last->second = at;
  all_ = all_ * kBase + shape;
  if (powers_.size() < entries_.size() && powers_.size() <= most_ops_)
    powers_.push_back(powers_.back() * kBase);
  if (entries_.size() > 2 * most_ops_) {
    entries_.pop_front();
    ++first_;
  }
  // Shapes that are not seen any more: all are looked up anew.
  if (last_.size() > 4 * most_ops_) forget();
}

void Period::forget() {
  first_ += entries_.size();
  entries_.clear();
  last_.clear();
}

std::uint64_t Period::hash(std::uint64_t begin, std::uint64_t end) const {
  const std::uint64_t all = end == first_ + entries_.size() ? all_ : entries_[end - first_].before;
  return all - entries_[begin - first_].before * powers_[end - begin];
}

std::size_t Period::find(std::size_t least, const std::function<bool(std::size_t)>& accepted) const {
  if (entries_.empty()) return 0;
  const std::uint64_t end = first_ + entries_.size();
  std::uint64_t next = entries_.back().previous;
  for (int looks = 0; looks < kMostLooks && next > first_; ++looks) {
    const std::uint64_t at = next - 1;
    next = entries_[at - first_].previous;
    const std::size_t length = end - 1 - at;
    if (length >= powers_.size() || end - first_ < 2 * length) return 0;
    if (length < least || hash(end - length, end) != hash(end - 2 * length, end - length)) continue;
    if (accepted(length)) return length;
  }
  return 0;
}

}  // namespace refrain::guide
