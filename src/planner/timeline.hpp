// The runs of a whole iteration in order, and the memory at each, kept up to date under insertion and
// removal.
//
// A timeline holds the program's own runs and recomputations between them. From that list alone follows what
// is kept: a value stays from each run that writes it to its last read before the next run that writes it. So
// every timeline can be carried out; only its memory may exceed a cap. Must not decide what to insert or to
// remove.
//
// The n runs of the program stand at ids 0 to n - 1, each the last of its stage; run n, stage n, stands for
// the end and reads what is wanted then. Ops above n stand for restores of values. No thread safety. Costs:
// O(log n + runs in the stages touched) per change.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/iteration.hpp"

namespace refrain::planner {

using RunId = std::uint32_t;
inline constexpr OpIndex kNoOp = UINT32_MAX;
inline constexpr RunId kNoRun = UINT32_MAX;
inline constexpr std::int64_t kLeastBytes = INT64_MIN / 4;

class Timeline {
 public:
  // A read or a write of a value, in the order of the runs.
  struct Event {
    RunId run;
    std::uint32_t stage;
    bool write;
  };

  explicit Timeline(const Iteration& iteration);

  // The new run stands right before `before`.
  RunId insert(OpIndex op, RunId before);
  // Of a recomputation. Undone by insert_as with what it was.
  void remove(RunId run);
  void insert_as(RunId run, OpIndex op, std::uint32_t stage, std::uint32_t index);

  OpIndex end() const { return op_count_; }
  OpIndex op_of(RunId run) const { return runs_[run].op; }
  std::uint32_t stage_of(RunId run) const { return runs_[run].stage; }
  std::uint32_t index_of(RunId run) const { return runs_[run].index; }
  // Comparable: earlier runs have lower ones. Changes with every insertion into the stage.
  std::uint64_t position(RunId run) const {
    return (std::uint64_t{runs_[run].stage} << 32) | runs_[run].index;
  }
  // The run after this one, which is not the end.
  RunId next(RunId run) const {
    const Run& at = runs_[run];
    const auto& runs = stages_[at.stage].runs;
    return at.index + 1 < runs.size() ? runs[at.index + 1] : stages_[at.stage + 1].runs.front();
  }
  bool exists(RunId run) const { return runs_[run].op != kNoOp; }
  bool is_recomputation(RunId run) const { return run > op_count_; }
  std::span<const RunId> runs_of(std::uint32_t stage) const { return stages_[stage].runs; }
  std::span<const Event> events(ValueIndex value) const { return events_[value]; }
  // The first event that is not before the run.
  std::size_t event_at(ValueIndex value, RunId run) const;
  // Kept right before the run starts, and read by it or later.
  bool kept_before(ValueIndex value, RunId run) const;

  // Without constants.
  std::span<const ValueIndex> reads(OpIndex op) const {
    return {reads_.data() + read_from_[op], read_from_[op + 1] - read_from_[op]};
  }
  // Stands for an op that reads nothing and writes the value.
  OpIndex restore_of(ValueIndex value) const { return op_count_ + 1 + value; }
  bool is_restore(OpIndex op) const { return op > op_count_; }
  ValueIndex restored_by(OpIndex op) const { return op - op_count_ - 1; }
  std::int64_t cost_ns(OpIndex op) const { return cost_ns_[op]; }
  std::span<const ValueIndex> writes(OpIndex op) const {
    return {writes_.data() + write_from_[op], write_from_[op + 1] - write_from_[op]};
  }
  std::int64_t bytes_of(ValueIndex value) const { return value_bytes_[value]; }
  OpIndex producer_of(ValueIndex value) const { return producer_[value]; }
  std::size_t value_count() const { return value_bytes_.size(); }

  std::int64_t constant_bytes() const { return constant_bytes_; }
  std::int64_t recomputed_ns() const { return recomputed_ns_; }
  std::int64_t peak_bytes() const { return highest_[1]; }
  // While the run is running, and between it and the run before it.
  std::int64_t bytes_at(RunId run) const;
  std::int64_t bytes_before(RunId run) const { return bytes_at(run) - written_bytes_[runs_[run].op]; }
  // The highest at runs after `after` and before `before`; kLeastBytes when there are none.
  std::int64_t peak_between(RunId after, RunId before) const;
  // The first run with the most memory.
  RunId peak_run() const;
  // In no order that means anything.
  std::span<const RunId> recomputations() const { return recomputations_; }
  // Values of at least so many bytes that may be dropped, and are kept over a run that neither reads nor
  // writes them: the first `most`, looking from `from` round to it again.
  void find_kept_over(RunId run, std::int64_t least_bytes, ValueIndex from, std::size_t most,
                      std::vector<ValueIndex>& found) const;

 private:
  struct Run {
    OpIndex op;
    std::uint32_t stage;
    std::uint32_t index;
  };
  struct Stage {
    std::vector<RunId> runs;
    std::vector<std::int64_t> bytes;  // less what the tree's nodes above the stage add
  };

  bool before(const Event& event, const Run& run) const {
    return event.stage != run.stage ? event.stage < run.stage : runs_[event.run].index < run.index;
  }
  void add_read(ValueIndex value, RunId run);
  void remove_read(ValueIndex value, RunId run);
  void add_write(ValueIndex value, RunId run);
  void remove_write(ValueIndex value, RunId run);
  // To all runs after `after` and before `before`.
  void add_between(RunId after, RunId before, std::int64_t bytes);
  void add_at(RunId run, std::int64_t bytes);
  void add_in_stage(std::uint32_t stage, std::size_t from, std::size_t to, std::int64_t bytes);
  void add_to_stages(std::uint32_t from, std::uint32_t to, std::int64_t bytes);
  void refresh_stage(std::uint32_t stage);
  bool refresh(std::uint32_t node);
  void renumber(std::uint32_t stage, std::size_t from);
  std::int64_t added_to(std::uint32_t stage) const;
  std::int64_t peak_of_stages(std::uint32_t from, std::uint32_t to) const;

  OpIndex op_count_;
  std::int64_t constant_bytes_ = 0;
  std::vector<std::int64_t> cost_ns_, value_bytes_, droppable_bytes_, written_bytes_;
  std::vector<ValueIndex> reads_, writes_;
  std::vector<std::size_t> read_from_, write_from_;
  std::vector<OpIndex> producer_;

  std::vector<Run> runs_;
  std::vector<RunId> unused_;
  std::vector<Stage> stages_;
  std::vector<std::vector<Event>> events_;
  std::vector<std::uint32_t> first_stage_, last_stage_;  // of a value's events
  std::vector<RunId> recomputations_;
  std::vector<std::uint32_t> place_;  // of a run in recomputations_
  // A segment tree over the stages: the highest memory under a node, and what applies to all under it.
  std::uint32_t leaves_ = 1;
  std::vector<std::int64_t> highest_, added_;
  std::int64_t recomputed_ns_ = 0;
};

}  // namespace refrain::planner
