// See timeline.hpp. Memory is held as differences: a stage's own numbers, and what a segment tree adds to
// them.
#include "planner/timeline.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace refrain::planner {

Timeline::Timeline(const Iteration& iteration) : op_count_(static_cast<OpIndex>(iteration.ops.size())) {
  for (const Value& value : iteration.values) {
    value_bytes_.push_back(value.bytes);
    droppable_bytes_.push_back(value.restore_ns < kNoRestore ? value.bytes : 0);
    if (value.constant) constant_bytes_ += value.bytes;
  }
  producer_.assign(iteration.values.size(), op_count_);
  events_.resize(iteration.values.size());
  first_stage_.assign(iteration.values.size(), op_count_ + 1);
  last_stage_.assign(iteration.values.size(), 0);
  stages_.resize(op_count_ + 1);
  leaves_ = std::bit_ceil(op_count_ + 1);
  highest_.assign(2 * leaves_, kLeastBytes);
  added_.assign(2 * leaves_, 0);
  for (OpIndex op = 0; op <= op_count_; ++op) {
    read_from_.push_back(reads_.size());
    write_from_.push_back(writes_.size());
    std::int64_t written = 0;
    if (op < op_count_) {
      for (ValueIndex value : iteration.ops[op].reads)
        if (!iteration.values[value].constant) reads_.push_back(value);
      for (ValueIndex value : iteration.ops[op].writes) {
        writes_.push_back(value);
        producer_[value] = op;
        if (iteration.ops[op].replayable) droppable_bytes_[value] = iteration.values[value].bytes;
        written += iteration.values[value].bytes;
      }
      cost_ns_.push_back(iteration.ops[op].recompute_ns);
    } else {
      for (ValueIndex value = 0; value < iteration.values.size(); ++value)
        if (iteration.values[value].wanted && !iteration.values[value].constant) reads_.push_back(value);
      cost_ns_.push_back(0);
    }
    written_bytes_.push_back(written);
    runs_.push_back({op, op, 0});
    stages_[op] = {{op}, {constant_bytes_}};
    refresh_stage(op);
  }
  for (ValueIndex value = 0; value < iteration.values.size(); ++value) {
    read_from_.push_back(reads_.size());
    write_from_.push_back(writes_.size());
    writes_.push_back(value);
    cost_ns_.push_back(iteration.values[value].restore_ns);
    written_bytes_.push_back(iteration.values[value].bytes);
  }
  read_from_.push_back(reads_.size());
  write_from_.push_back(writes_.size());
  for (OpIndex op = 0; op <= op_count_; ++op) {
    for (ValueIndex value : reads(op)) add_read(value, op);
    for (ValueIndex value : writes(op)) add_write(value, op);
  }
}

RunId Timeline::insert(OpIndex op, RunId before) {
  RunId run;
  if (unused_.empty()) {
    run = static_cast<RunId>(runs_.size());
    runs_.push_back({});
  } else {
    run = unused_.back();
    unused_.pop_back();
  }
  const Run at = runs_[before];
  unused_.push_back(run);  // insert_as takes it
  insert_as(run, op, at.stage, at.index);
  return run;
}

void Timeline::insert_as(RunId run, OpIndex op, std::uint32_t stage, std::uint32_t index) {
  assert(!unused_.empty() && unused_.back() == run);
  unused_.pop_back();
  Stage& place = stages_[stage];
  const RunId before = place.runs[index];
  place.bytes.insert(place.bytes.begin() + index, place.bytes[index] - written_bytes_[runs_[before].op]);
  place.runs.insert(place.runs.begin() + index, run);
  runs_[run] = {op, stage, index};
  renumber(stage, index + 1);
  refresh_stage(stage);
  for (ValueIndex value : reads(op)) add_read(value, run);
  for (ValueIndex value : writes(op)) add_write(value, run);
  place_.resize(runs_.size());
  place_[run] = static_cast<std::uint32_t>(recomputations_.size());
  recomputations_.push_back(run);
  recomputed_ns_ += cost_ns_[op];
}

void Timeline::remove(RunId run) {
  const Run gone = runs_[run];
  for (ValueIndex value : writes(gone.op)) remove_write(value, run);
  for (ValueIndex value : reads(gone.op)) remove_read(value, run);
  Stage& place = stages_[gone.stage];
  place.runs.erase(place.runs.begin() + gone.index);
  place.bytes.erase(place.bytes.begin() + gone.index);
  renumber(gone.stage, gone.index);
  refresh_stage(gone.stage);
  recomputed_ns_ -= cost_ns_[gone.op];
  recomputations_[place_[run]] = recomputations_.back();
  place_[recomputations_.back()] = place_[run];
  recomputations_.pop_back();
  runs_[run].op = kNoOp;
  unused_.push_back(run);
}

std::size_t Timeline::event_at(ValueIndex value, RunId run) const {
  const auto& list = events_[value];
  const Run& at = runs_[run];
  if (list.size() <= 16) {
    std::size_t i = 0;
    while (i < list.size() && before(list[i], at)) ++i;
    return i;
  }
  const auto found =
      std::lower_bound(list.begin(), list.end(), at,
                       [&](const Event& event, const Run& place) { return before(event, place); });
  return static_cast<std::size_t>(found - list.begin());
}

bool Timeline::kept_before(ValueIndex value, RunId run) const {
  const std::size_t i = event_at(value, run);
  return i > 0 && i < events_[value].size() && !events_[value][i].write;
}

void Timeline::add_read(ValueIndex value, RunId run) {
  auto& list = events_[value];
  const std::size_t i = event_at(value, run);
  assert(i > 0);
  const bool last = i == list.size() || list[i].write;
  const RunId previous = list[i - 1].run;
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), {run, runs_[run].stage, false});
  last_stage_[value] = runs_[list.back().run].stage;
  if (!last) return;
  add_between(previous, run, value_bytes_[value]);
  add_at(run, value_bytes_[value]);
}

void Timeline::remove_read(ValueIndex value, RunId run) {
  auto& list = events_[value];
  const std::size_t i = event_at(value, run);
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
  last_stage_[value] = runs_[list.back().run].stage;
  if (i < list.size() && !list[i].write) return;
  add_between(list[i - 1].run, run, -value_bytes_[value]);
  add_at(run, -value_bytes_[value]);
}

void Timeline::add_write(ValueIndex value, RunId run) {
  auto& list = events_[value];
  const std::size_t i = event_at(value, run);
  const bool was_kept = i > 0 && i < list.size() && !list[i].write;
  if (was_kept)
    add_between(list[i - 1].run, run, -value_bytes_[value]);
  else
    add_at(run, value_bytes_[value]);
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), {run, runs_[run].stage, true});
  first_stage_[value] = runs_[list.front().run].stage;
  last_stage_[value] = runs_[list.back().run].stage;
}

void Timeline::remove_write(ValueIndex value, RunId run) {
  auto& list = events_[value];
  const std::size_t i = event_at(value, run);
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
  last_stage_[value] = runs_[list.back().run].stage;
  if (i > 0 && i < list.size() && !list[i].write)
    add_between(list[i - 1].run, run, value_bytes_[value]);
  else
    add_at(run, -value_bytes_[value]);
}

void Timeline::add_between(RunId after, RunId before, std::int64_t bytes) {
  const Run& a = runs_[after];
  const Run& b = runs_[before];
  if (bytes == 0) return;
  if (a.stage == b.stage) return add_in_stage(a.stage, a.index + 1, b.index, bytes);
  add_in_stage(a.stage, a.index + 1, stages_[a.stage].runs.size(), bytes);
  add_to_stages(a.stage + 1, b.stage, bytes);
  add_in_stage(b.stage, 0, b.index, bytes);
}

void Timeline::add_at(RunId run, std::int64_t bytes) {
  if (bytes != 0) add_in_stage(runs_[run].stage, runs_[run].index, runs_[run].index + 1, bytes);
}

void Timeline::add_in_stage(std::uint32_t stage, std::size_t from, std::size_t to, std::int64_t bytes) {
  if (from >= to) return;
  for (std::size_t i = from; i < to; ++i) stages_[stage].bytes[i] += bytes;
  refresh_stage(stage);
}

void Timeline::add_to_stages(std::uint32_t from, std::uint32_t to, std::int64_t bytes) {
  if (from >= to) return;
  std::uint32_t low = from + leaves_, high = to + leaves_;
  const std::uint32_t first = low, last = high - 1;
  for (; low < high; low /= 2, high /= 2) {
    if (low & 1) highest_[low] += bytes, added_[low++] += bytes;
    if (high & 1) highest_[--high] += bytes, added_[high] += bytes;
  }
  std::uint32_t left = first / 2, right = last / 2;
  for (; left != right; left /= 2, right /= 2) refresh(left), refresh(right);
  // Where the two meet may be one of those changed above: only from its parent on does "as before" say
  // something.
  if (left > 0) refresh(left);
  for (left /= 2; left > 0 && refresh(left);) left /= 2;
}

void Timeline::refresh_stage(std::uint32_t stage) {
  std::uint32_t node = stage + leaves_;
  const auto& bytes = stages_[stage].bytes;
  const std::int64_t highest = *std::max_element(bytes.begin(), bytes.end()) + added_[node];
  if (highest == highest_[node]) return;
  highest_[node] = highest;
  for (node /= 2; node > 0 && refresh(node);) node /= 2;
}

// False: as before, and so are the nodes above.
bool Timeline::refresh(std::uint32_t node) {
  const std::int64_t highest = std::max(highest_[2 * node], highest_[2 * node + 1]) + added_[node];
  if (highest == highest_[node]) return false;
  highest_[node] = highest;
  return true;
}

void Timeline::renumber(std::uint32_t stage, std::size_t from) {
  const auto& runs = stages_[stage].runs;
  for (std::size_t i = from; i < runs.size(); ++i) runs_[runs[i]].index = static_cast<std::uint32_t>(i);
}

std::int64_t Timeline::added_to(std::uint32_t stage) const {
  std::int64_t sum = 0;
  for (std::uint32_t node = stage + leaves_; node > 0; node /= 2) sum += added_[node];
  return sum;
}

std::int64_t Timeline::bytes_at(RunId run) const {
  const Run& at = runs_[run];
  return stages_[at.stage].bytes[at.index] + added_to(at.stage);
}

std::int64_t Timeline::peak_of_stages(std::uint32_t from, std::uint32_t to) const {
  if (from >= to) return kLeastBytes;
  std::uint32_t low = from + leaves_, high = to - 1 + leaves_;  // both inclusive
  std::int64_t left = highest_[low], right = highest_[high];
  while (low / 2 != high / 2) {
    if (!(low & 1)) left = std::max(left, highest_[low + 1]);
    if (high & 1) right = std::max(right, highest_[high - 1]);
    low /= 2, high /= 2;
    left += added_[low], right += added_[high];
  }
  std::int64_t most = std::max(left, right);
  for (low /= 2; low > 0; low /= 2) most += added_[low];
  return most;
}

std::int64_t Timeline::peak_between(RunId after, RunId before) const {
  const Run& a = runs_[after];
  const Run& b = runs_[before];
  const auto highest_in = [&](std::uint32_t stage, std::size_t from, std::size_t to) {
    if (from >= to) return kLeastBytes;
    const std::int64_t* bytes = stages_[stage].bytes.data();
    return *std::max_element(bytes + from, bytes + to) + added_to(stage);
  };
  if (a.stage == b.stage) return highest_in(a.stage, a.index + 1, b.index);
  return std::max({highest_in(a.stage, a.index + 1, stages_[a.stage].runs.size()),
                   peak_of_stages(a.stage + 1, b.stage), highest_in(b.stage, 0, b.index)});
}

RunId Timeline::peak_run() const {
  std::uint32_t node = 1;
  while (node < leaves_) node = highest_[2 * node] >= highest_[2 * node + 1] ? 2 * node : 2 * node + 1;
  const Stage& stage = stages_[node - leaves_];
  return stage.runs[static_cast<std::size_t>(std::max_element(stage.bytes.begin(), stage.bytes.end()) -
                                             stage.bytes.begin())];
}

void Timeline::find_kept_over(RunId run, std::int64_t least_bytes, ValueIndex from, std::size_t most,
                              std::vector<ValueIndex>& found) const {
  found.clear();
  const std::uint32_t stage = runs_[run].stage;
  const auto look = [&](ValueIndex first, ValueIndex last) {
    for (ValueIndex value = first; value < last && found.size() < most; ++value) {
      if ((first_stage_[value] > stage) | (last_stage_[value] < stage) |
          (droppable_bytes_[value] < least_bytes))
        continue;
      const auto& list = events_[value];
      const std::size_t i = event_at(value, run);
      if (i > 0 && i < list.size() && !list[i].write && list[i].run != run) found.push_back(value);
    }
  };
  look(from, static_cast<ValueIndex>(events_.size()));
  look(0, from);
}

}  // namespace refrain::planner
