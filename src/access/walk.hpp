// Carrying a slice out for all threads of all blocks of a launch; for this folder only. Where a condition is
// not known, both ways are taken; a loop whose end is not known is gone through with all that it changes
// forgotten. It must not outlast its work limit.
#pragma once

#include <map>
#include <optional>

#include "access/footprint.hpp"
#include "access/lanes.hpp"

namespace refrain::access {

class Walk {
 public:
  Walk(const Slice& slice, const LaunchArguments& launch, std::span<const KnownRun> known,
       std::uint64_t most_work);
  // Everything anywhere, with a reason, if it had to give up.
  Footprint run();
  std::uint64_t work() const noexcept { return work_; }

 private:
  enum class Outcome { kDone, kSplit, kGivenUp };
  struct Region {                         // between a block and where its paths meet
    std::vector<std::uint32_t> assigned;  // slots
    bool accesses = false;
  };
  struct Gathered {
    ByteSet reads, writes, must_write;
    bool reads_anywhere = false, writes_anywhere = false;
  };
  struct Fork {  // a block whose condition is unknown and being followed
    unsigned depth = 0;
    std::vector<Lanes::Saved> forgotten;
  };

  Outcome walk_box(const Box& box);
  Outcome walk(const Mask& active, std::uint32_t stop);
  bool step(const Step& step, const Mask& mask);
  bool guarded(const Step& step, const Mask& mask);
  bool parameter(const Step& step, const Mask& mask);
  bool shape(const Step& step, const Mask& mask);
  bool load(const Step& step, const Mask& mask);
  const Interval* known_at(const Step& step, const View& at, std::uint32_t thread) const;
  bool access(const Step& step, const Mask& mask, bool certain);
  void record(const Step& step, const Mask& mask, const View& at, bool certain);
  // A store of each of these threads, from its own place on.
  struct Store {
    std::int32_t base;
    std::uint32_t bytes;
    Slopes slope;
    Mask threads;
    std::vector<std::int64_t> begin;
  };
  void remember(const Step& step, const Mask& mask, const View& at);
  void join_ways();
  void record_certain(const Store& store);
  Repeats repeats_of(const Slopes& slope) const;
  Outcome leave(std::uint32_t block, const Mask& mask);
  Outcome fork(std::uint32_t block, const Mask& mask);
  Outcome both_ways(std::uint32_t block, const Mask& mask, const Region& region);
  bool settled(const Fork& fork, const Region& region, const Mask& mask) const;
  const Region& region_of(std::uint32_t block);
  Outcome give_up(std::string reason);
  Footprint result();

  const Slice& slice_;
  const LaunchArguments& launch_;
  std::span<const KnownRun> known_;
  std::uint64_t most_work_;
  std::uint64_t work_ = 0;
  Lanes lanes_;
  std::uint32_t threads_;
  std::vector<std::uint32_t> at_;     // the block where each thread is
  std::vector<std::uint32_t> doubt_;  // above 0: the thread may not be here at all
  std::map<std::uint32_t, Region> regions_;
  std::map<std::uint32_t, Fork> forks_;
  std::vector<Gathered> gathered_;  // by pointer
  // Stores on the ways from conditions that are not known, two for each that is being followed: the one that
  // is over, or still empty, and the one that is being taken.
  std::vector<std::vector<Store>> ways_;
  bool wild_reads_ = false, wild_writes_ = false;
  bool uses_contents_ = false;
  std::string reason_;
};

}  // namespace refrain::access
