// The paths of threads through a slice. What steps compute is the lanes' business.
#include "access/walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace refrain::access {
namespace {

constexpr std::size_t kMostRanges = 4096;              // of one pointer
constexpr std::uint64_t kStepOverhead = 128;           // of a step, in steps of single threads: measured
constexpr std::uint64_t kMostLaneBytes = 64ull << 20;  // of all slots of a block

std::uint32_t thread_count(const LaunchArguments& launch) {
  return launch.block[0] * launch.block[1] * launch.block[2];
}

bool any(const Mask& mask) {
  return std::find(mask.begin(), mask.end(), 1) != mask.end();
}

}  // namespace

Walk::Walk(const Slice& slice, const LaunchArguments& launch, std::span<const KnownRun> known,
           std::uint64_t most_work)
    : slice_(slice),
      launch_(launch),
      known_(known),
      most_work_(most_work),
      lanes_(std::uint64_t{slice.slots} * thread_count(launch) * 9 > kMostLaneBytes ? 0 : slice.slots,
             thread_count(launch)),
      threads_(thread_count(launch)),
      at_(threads_),
      doubt_(threads_),
      gathered_(slice.pointers.size()) {}

Walk::Outcome Walk::give_up(std::string reason) {
  reason_ = std::move(reason);
  return Outcome::kGivenUp;
}

Footprint Walk::run() {
  if (std::uint64_t{slice_.slots} * threads_ * 9 > kMostLaneBytes) {
    give_up("it keeps too many numbers");
    return result();
  }
  std::vector<Box> boxes{{{0, 0, 0}, {launch_.grid[0], launch_.grid[1], launch_.grid[2]}}};
  while (!boxes.empty()) {
    const Box box = boxes.back();
    boxes.pop_back();
    switch (walk_box(box)) {
      case Outcome::kDone: break;
      case Outcome::kGivenUp: return result();
      case Outcome::kSplit: {
        const auto [d, blocks] = lanes_.split();
        if (blocks < 1 || blocks >= box.count[d]) {
          give_up("its blocks could not be told apart");
          return result();
        }
        Box low = box, high = box;
        low.count[d] = blocks;
        high.first[d] += low.count[d];
        high.count[d] -= low.count[d];
        boxes.push_back(high);
        boxes.push_back(low);
      }
    }
  }
  return result();
}

Walk::Outcome Walk::walk_box(const Box& box) {
  lanes_.reset(box);
  forks_.clear();
  ways_.clear();
  std::fill(at_.begin(), at_.end(), 0);
  std::fill(doubt_.begin(), doubt_.end(), 0);
  const Mask all(threads_, 1);
  for (const Slice::Constant& constant : slice_.constants)
    lanes_.assign_flat(constant.slot, all, constant.value);
  work_ += std::uint64_t{slice_.slots} * threads_ / 8;
  return walk(all, Block::kEnd);
}

// The threads that are furthest behind go first, so that they meet again where their paths do.
Walk::Outcome Walk::walk(const Mask& active, std::uint32_t stop) {
  Mask mask(threads_);
  for (;;) {
    std::uint32_t block = Block::kEnd;
    for (std::uint32_t i = 0; i < threads_; ++i) {
      if (active[i] != 0 && at_[i] != stop) block = std::min(block, at_[i]);
    }
    if (block == Block::kEnd) return Outcome::kDone;
    for (std::uint32_t i = 0; i < threads_; ++i) mask[i] = active[i] != 0 && at_[i] == block;
    const Block& here = slice_.blocks[block];
    work_ += std::uint64_t{here.last - here.first + 2} * (threads_ + kStepOverhead);
    if (work_ > most_work_) return give_up("following its threads takes too long");
    for (std::uint32_t i = here.first; i < here.last; ++i) {
      if (!step(slice_.steps[i], mask)) return Outcome::kSplit;
    }
    if (const Outcome outcome = leave(block, mask); outcome != Outcome::kDone) return outcome;
  }
}

bool Walk::step(const Step& step, const Mask& mask) {
  if (step.guard != Step::kNone) return guarded(step, mask);
  switch (step.kind) {
    case StepKind::kParam: return parameter(step, mask);
    case StepKind::kShape: return shape(step, mask);
    case StepKind::kNotGlobal: return lanes_.assign_flat(step.out, mask, kNotGlobalBase, 0, kOffsetUnknown);
    case StepKind::kUnknown: return lanes_.assign_flat(step.out, mask, kNoBase, 0, kOffsetUnknown);
    case StepKind::kAccess: return access(step, mask, true);
    case StepKind::kLoad: return load(step, mask);
    default: return lanes_.compute(step, mask);
  }
}

bool Walk::guarded(const Step& guarded_step, const Mask& mask) {
  const View guard = lanes_.view(guarded_step.guard);
  Mask yes(threads_), perhaps(threads_);
  for (std::uint32_t i = 0; i < threads_; ++i) {
    const bool known = guard.level[i] == kKnown;
    yes[i] = mask[i] != 0 && known && (guard.lane[i] != 0) != guarded_step.guard_negated;
    perhaps[i] = mask[i] != 0 && !known;
  }
  Step plain = guarded_step;
  plain.guard = Step::kNone;
  if (any(yes) && !step(plain, yes)) return false;
  if (!any(perhaps)) return true;
  if (plain.kind == StepKind::kAccess) return access(plain, perhaps, false);
  const Lanes::Saved before = lanes_.save(plain.out);
  if (!step(plain, perhaps)) return false;
  lanes_.join(plain.out, perhaps, before);
  return true;
}

Walk::Outcome Walk::leave(std::uint32_t block, const Mask& mask) {
  const Block& here = slice_.blocks[block];
  if (here.condition == Step::kNone) {
    for (std::uint32_t i = 0; i < threads_; ++i) at_[i] = mask[i] != 0 ? here.next : at_[i];
    return Outcome::kDone;
  }
  const View condition = lanes_.view(here.condition);
  Mask unknown(threads_);
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (mask[i] == 0) continue;
    unknown[i] = condition.level[i] != kKnown;
    const bool taken = (condition.lane[i] != 0) != here.condition_negated;
    at_[i] = taken ? here.target : here.next;
  }
  return any(unknown) ? fork(block, unknown) : Outcome::kDone;
}

const Walk::Region& Walk::region_of(std::uint32_t block) {
  const auto [entry, is_new] = regions_.try_emplace(block);
  Region& region = entry->second;
  if (!is_new) return region;
  const std::uint32_t stop = slice_.blocks[block].meets;
  std::vector<bool> seen(slice_.blocks.size(), false);
  std::vector<bool> assigned(slice_.slots, false);
  std::vector<std::uint32_t> work{slice_.blocks[block].next, slice_.blocks[block].target};
  work_ += slice_.blocks.size() + slice_.slots;
  while (!work.empty()) {
    const std::uint32_t at = work.back();
    work.pop_back();
    if (at == stop || at == Block::kEnd || seen[at]) continue;
    seen[at] = true;
    const Block& here = slice_.blocks[at];
    work_ += here.last - here.first;
    for (std::uint32_t i = here.first; i < here.last; ++i) {
      const Step& step = slice_.steps[i];
      region.accesses |= step.kind == StepKind::kAccess;
      if (step.out != Step::kNone) assigned[step.out] = true;
    }
    work.push_back(here.next);
    if (here.condition != Step::kNone) work.push_back(here.target);
  }
  for (std::uint32_t slot = 0; slot < slice_.slots; ++slot) {
    if (assigned[slot]) region.assigned.push_back(slot);
  }
  return region;
}

// Whether another turn of a loop can bring nothing that was not there when its values were forgotten.
bool Walk::settled(const Fork& fork, const Region& region, const Mask& mask) const {
  for (std::size_t s = 0; s < region.assigned.size(); ++s) {
    const View now = lanes_.view(region.assigned[s]);
    const Lanes::Saved& then = fork.forgotten[s];
    for (std::uint32_t i = 0; i < threads_; ++i) {
      if (mask[i] == 0 || then.level[i] == kLost) continue;
      if (now.level[i] == kLost || now.base != then.base) return false;
    }
  }
  return true;
}

Walk::Outcome Walk::fork(std::uint32_t block, const Mask& mask) {
  const std::uint32_t meets = slice_.blocks[block].meets;
  const Region& region = region_of(block);
  const auto skip = [&] {
    for (std::uint32_t i = 0; i < threads_; ++i) at_[i] = mask[i] != 0 ? meets : at_[i];
    return Outcome::kDone;
  };
  if (!region.accesses && region.assigned.empty()) return skip();
  Fork& fork = forks_[block];
  if (fork.depth >= 2) {
    return settled(fork, region, mask) ? skip()
                                       : give_up("a loop's pointers change in a way that was not followed");
  }
  if (fork.depth == 1) {
    fork.forgotten.clear();
    for (const std::uint32_t slot : region.assigned) {
      lanes_.forget(slot, mask);
      fork.forgotten.push_back(lanes_.save(slot));
    }
  }
  ++fork.depth;
  for (std::uint32_t i = 0; i < threads_; ++i) doubt_[i] += mask[i];
  const Outcome outcome = both_ways(block, mask, region);
  for (std::uint32_t i = 0; i < threads_; ++i) doubt_[i] -= mask[i];
  --fork.depth;
  return outcome;
}

Walk::Outcome Walk::both_ways(std::uint32_t block, const Mask& mask, const Region& region) {
  const Block& here = slice_.blocks[block];
  const auto save = [&] {
    std::vector<Lanes::Saved> out;
    out.reserve(region.assigned.size());
    for (const std::uint32_t slot : region.assigned) out.push_back(lanes_.save(slot));
    return out;
  };
  const auto go = [&](std::uint32_t to) {
    for (std::uint32_t i = 0; i < threads_; ++i) at_[i] = mask[i] != 0 ? to : at_[i];
    return walk(mask, here.meets);
  };
  work_ += region.assigned.size() * threads_;
  const std::vector<Lanes::Saved> before = save();
  ways_.resize(ways_.size() + 2);
  if (const Outcome outcome = go(here.target); outcome != Outcome::kDone) return outcome;
  const std::vector<Lanes::Saved> after = save();
  for (std::size_t s = 0; s < before.size(); ++s) lanes_.restore(region.assigned[s], mask, before[s]);
  std::swap(ways_[ways_.size() - 2], ways_.back());
  if (const Outcome outcome = go(here.next); outcome != Outcome::kDone) return outcome;
  join_ways();
  for (std::size_t s = 0; s < after.size(); ++s) lanes_.join(region.assigned[s], mask, after[s]);
  // A way that ends the thread's part joins the other where they would have met.
  for (std::uint32_t i = 0; i < threads_; ++i) at_[i] = mask[i] != 0 ? here.meets : at_[i];
  return Outcome::kDone;
}

Footprint Walk::result() {
  Footprint out;
  out.complete = reason_.empty();
  out.reason = reason_;
  out.uses_contents = uses_contents_;
  for (std::size_t i = 0; i < slice_.pointers.size(); ++i) {
    Footprint::Pointer pointer;
    const Gathered& gathered = gathered_[i];
    pointer.offset_bytes = slice_.pointers[i];
    pointer.reads_anywhere = !out.complete || wild_reads_ || gathered.reads_anywhere;
    pointer.writes_anywhere = !out.complete || wild_writes_ || gathered.writes_anywhere;
    if (!pointer.reads_anywhere) pointer.reads = gathered.reads.ranges(true, kMostRanges);
    if (!pointer.writes_anywhere) pointer.writes = gathered.writes.ranges(true, kMostRanges);
    if (out.complete) pointer.must_write = gathered.must_write.ranges(false, kMostRanges);
    out.pointers.push_back(std::move(pointer));
  }
  return out;
}

}  // namespace refrain::access
