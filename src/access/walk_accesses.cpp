// What the accesses of a walk add up to, and which stores are certain although the way to them is not: those
// that a thread makes on both ways. It must not follow control flow.
#include <algorithm>

#include "access/walk.hpp"

namespace refrain::access {
namespace {

constexpr std::size_t kMostStores = 64;  // that are remembered of one way

}  // namespace

// certain: for threads without doubt.
bool Walk::access(const Step& step, const Mask& mask, bool certain) {
  const View at = lanes_.view(step.a);
  if (at.base == kNotGlobalBase) {
    const bool lost =
        std::any_of(at.level, at.level + threads_, [](std::uint8_t level) { return level == kLost; });
    if (!lost) return true;
  }
  Mask sure(threads_), doubtful(threads_);
  bool anywhere = false, wild = false;
  const Lanes::Spread extent = lanes_.spread(at.slope);
  constexpr Wide kMost = Wide{1} << 60;
  const bool far = extent.low < -kMost || extent.high > kMost;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (mask[i] == 0) continue;
    const bool no_pointer = at.base < 0 || at.level[i] == kLost;
    const bool no_offset = at.level[i] > kBounded || step.bytes == 0 || far;
    wild |= no_pointer;
    anywhere |= !no_pointer && no_offset;
    if (no_pointer || no_offset) continue;
    (certain && doubt_[i] == 0 && at.level[i] == kKnown ? sure : doubtful)[i] = 1;
  }
  if (wild) {
    wild_reads_ |= step.reads;
    wild_writes_ |= step.writes;
  }
  if (at.base < 0) return true;
  if (anywhere) {
    Gathered& gathered = gathered_[static_cast<std::size_t>(at.base)];
    gathered.reads_anywhere |= step.reads;
    gathered.writes_anywhere |= step.writes;
  }
  record(step, sure, at, true);
  record(step, doubtful, at, false);
  if (certain && step.writes && !step.reads) remember(step, doubtful, at);
  return true;
}

void Walk::record(const Step& step, const Mask& mask, const View& at, bool certain) {
  Gathered& gathered = gathered_[static_cast<std::size_t>(at.base)];
  const Repeats repeats = repeats_of(at.slope);
  Range run{0, 0};
  const auto flush = [&] {
    if (run.begin == run.end) return;
    if (step.reads) gathered.reads.add(run, repeats);
    if (step.writes) gathered.writes.add(run, repeats);
    if (step.writes && !step.reads && certain) gathered.must_write.add(run, repeats);
  };
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (mask[i] == 0) continue;
    const std::int64_t begin = at.lane[i] + step.value, end = begin + at.width_of(i) + step.bytes;
    if (run.begin != run.end && begin >= run.begin && begin <= run.end) {
      run.end = std::max(run.end, end);
      continue;
    }
    flush();
    run = {begin, end};
  }
  flush();
}

// A store on a way that may not be the thread's.
void Walk::remember(const Step& step, const Mask& mask, const View& at) {
  if (ways_.empty() || ways_.back().size() >= kMostStores) return;
  Store store{at.base, step.bytes, at.slope, mask, std::vector<std::int64_t>(threads_)};
  for (std::uint32_t i = 0; i < threads_; ++i) {
    store.threads[i] = mask[i] != 0 && at.level[i] == kKnown;
    store.begin[i] = at.lane[i] + step.value;
  }
  ways_.back().push_back(std::move(store));
}

// The last two ways are over: what a thread has stored to on both, it stores to.
void Walk::join_ways() {
  const std::vector<Store> one = std::move(ways_.back());
  ways_.pop_back();
  const std::vector<Store> other = std::move(ways_.back());
  ways_.pop_back();
  work_ += one.size() * other.size() * threads_;
  for (const Store& a : one) {
    for (const Store& b : other) {
      if (a.base != b.base || a.slope != b.slope || a.bytes != b.bytes) continue;
      Store both = a;
      bool any = false;
      for (std::uint32_t i = 0; i < threads_; ++i) {
        both.threads[i] = a.threads[i] != 0 && b.threads[i] != 0 && a.begin[i] == b.begin[i];
        any |= both.threads[i] != 0;
      }
      if (!any) continue;
      if (ways_.empty()) {
        record_certain(both);
      } else if (ways_.back().size() < kMostStores) {
        ways_.back().push_back(std::move(both));
      }
    }
  }
}

void Walk::record_certain(const Store& store) {
  ByteSet& certain = gathered_[static_cast<std::size_t>(store.base)].must_write;
  const Repeats repeats = repeats_of(store.slope);
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (store.threads[i] != 0) certain.add({store.begin[i], store.begin[i] + store.bytes}, repeats);
  }
}

Repeats Walk::repeats_of(const Slopes& slope) const {
  Repeats repeats;
  for (unsigned d = 0; d < 3; ++d) repeats[d] = {slope[d], slope[d] == 0 ? 1 : lanes_.box().count[d]};
  return repeats;
}

}  // namespace refrain::access
