// See observed.hpp.
#include "guide/observed.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace refrain::guide {
namespace {

// early: in the first of the two periods, which begins at `begin`; late: one period later.
bool same_part(const Known& early, const Known& late, std::uint64_t begin, std::size_t length) {
  if ((early.number == 0) != (late.number == 0)) return false;
  if (early.number == late.number) return true;
  if (early.slot == late.slot && early.op + length == late.op) return true;
  return early.op < begin && late.op >= begin;
}

class Builder {
 public:
  Builder(const History& history, std::uint64_t first, std::size_t length, const Prices& prices)
      : history_(history), first_(first), length_(length), prices_(prices) {}

  Observed run() {
    for (std::uint64_t op = first_; op < first_ + length_; ++op) add(history_.at(op));
    keep_what_is_read_later();
    history_.visit_leaves([&](const Known& leaf, Bytes bytes) {
      if (leaf.op < first_ && !by_number_.contains(leaf.number)) out_.other_leaf_bytes += bytes;
    });
    return std::move(out_);
  }

 private:
  void add(const Record& record) {
    planner::Op op;
    op.cost_ns = op.recompute_ns = std::llround(std::max(0.0, prices_.op_ns(record.cost_class)));
    op.replayable = record.replayable;
    Observed::Op known{.shape = record.shape, .uses = {}};
    for (const RecordedUse& use : record.uses) {
      Observed::Use& names = known.uses.emplace_back();
      if (use.input.number == 0) continue;
      names.input = input(use);
      op.reads.push_back(names.input);
      // What is changed in place where it cannot be computed again cannot be computed again either; nor, in
      // the engine, what others have read before it is changed.
      const bool changed =
          use.use.written && (kept_in_place_[names.input] || (use.use.read && is_read_[names.input]));
      if (changed) op.replayable = false;
      is_read_[names.input] = true;
    }
    for (std::size_t i = 0; i < record.uses.size(); ++i) {
      const RecordedUse& use = record.uses[i];
      if (!use.use.written) continue;
      Observed::Use& names = known.uses[i];
      // The memory of what is always there serves its next version: it is counted once.
      const bool in_place = names.input != kNoValue && kept_in_place_[names.input];
      const planner::ValueIndex made = new_value(in_place ? 0 : use.bytes, false);
      kept_in_place_[made] = in_place;
      if (!in_place) out_.iteration.values[made].restore_ns = restore_ns(use.bytes, op.replayable);
      if (!in_place) op.recompute_ns += std::llround(prices_.mapping_ns);
      op.writes.push_back(made);
      if (use.use.undefined) continue;
      names.output = made;
      by_number_[use.output] = made;
      // It stays for as long as the program has it.
      if (!op.replayable && history_.current(use.use.buffer).number == use.output)
        out_.iteration.values[made].wanted = true;
    }
    out_.iteration.ops.push_back(std::move(op));
    out_.ops.push_back(std::move(known));
  }

  // Out and back: the next iteration makes another one.
  std::int64_t restore_ns(Bytes bytes, bool replayable) const {
    const bool may = prices_.offload == engine::Offload::kAuto ||
                     (prices_.offload == engine::Offload::kLeaves && !replayable);
    return may ? std::llround(2 * prices_.transfer(bytes) + prices_.mapping_ns) : planner::kNoRestore;
  }

  planner::ValueIndex input(const RecordedUse& use) {
    const auto found = by_number_.find(use.input.number);
    if (found != by_number_.end()) return found->second;
    const planner::ValueIndex constant = new_value(use.bytes, true);
    kept_in_place_[constant] = true;
    by_number_.emplace(use.input.number, constant);
    constants_.push_back(use.input);
    return constant;
  }

  planner::ValueIndex new_value(Bytes bytes, bool constant) {
    out_.iteration.values.push_back({.bytes = static_cast<std::int64_t>(bytes),
                                     .constant = constant,
                                     .freed_after = static_cast<planner::OpIndex>(length_)});
    kept_in_place_.push_back(false);
    is_read_.push_back(false);
    return static_cast<planner::ValueIndex>(out_.iteration.values.size() - 1);
  }

  // By an op after this iteration, or in it, of what the iteration before it made in the same place.
  void keep_what_is_read_later() {
    for (std::uint64_t op = first_ + length_; op < history_.end(); ++op) {
      for (const RecordedUse& use : history_.at(op).uses) {
        const auto made = use.input.number == 0 ? by_number_.end() : by_number_.find(use.input.number);
        if (made != by_number_.end()) out_.iteration.values[made->second].wanted = true;
      }
    }
    for (const Known& constant : constants_) {
      if (constant.op >= first_ || constant.op + length_ < first_) continue;
      const Observed::Op& op = out_.ops[constant.op + length_ - first_];
      const planner::ValueIndex made =
          constant.slot < op.uses.size() ? op.uses[constant.slot].output : kNoValue;
      if (made != kNoValue) out_.iteration.values[made].wanted = true;
    }
  }

  const History& history_;
  const std::uint64_t first_;
  const std::size_t length_;
  const Prices& prices_;
  Observed out_;
  std::unordered_map<std::uint64_t, planner::ValueIndex> by_number_;
  std::vector<Known> constants_;
  std::vector<bool> kept_in_place_;  // by value: a constant, or made of one in its place
  std::vector<bool> is_read_;        // by value: by an op so far
};

}  // namespace

bool repeats(const History& history, std::size_t length) {
  const std::uint64_t end = history.end();
  if (history.first() + 2 * length > end) return false;
  if (history.at(end - 1).live_bytes != history.at(end - 1 - length).live_bytes) return false;
  for (std::uint64_t op = end - length; op < end; ++op) {
    const Record& early = history.at(op - length);
    const Record& late = history.at(op);
    if (early.shape != late.shape || early.uses.size() != late.uses.size()) return false;
    for (std::size_t i = 0; i < late.uses.size(); ++i) {
      if (!same_part(early.uses[i].input, late.uses[i].input, end - 2 * length, length)) return false;
    }
  }
  return true;
}

std::uint64_t boundary(const History& history, std::size_t length) {
  const std::uint64_t begin = history.end() - 2 * length;
  const std::uint64_t last = begin + length;  // an iteration that begins there is just over
  struct Handed {
    std::uint64_t from, to;  // boundaries that it is handed over
    Bytes bytes;
  };
  std::unordered_map<std::uint64_t, Handed> handed;
  for (std::uint64_t op = begin; op < history.end(); ++op) {
    for (const RecordedUse& use : history.at(op).uses) {
      if (use.input.number == 0) continue;
      Handed& h =
          handed.try_emplace(use.input.number, Handed{std::max(begin, use.input.op + 1), op, use.bytes})
              .first->second;
      h.to = op;
    }
  }
  std::vector<std::int64_t> change(2 * length + 1);
  for (const auto& [number, h] : handed) {
    if (h.from > h.to) continue;
    change[h.from - begin] += static_cast<std::int64_t>(h.bytes);
    change[h.to + 1 - begin] -= static_cast<std::int64_t>(h.bytes);
  }
  std::uint64_t best = last;
  std::int64_t bytes = 0;
  std::int64_t least = INT64_MAX;
  for (std::uint64_t at = begin; at <= last; ++at) {
    bytes += change[at - begin];
    if (bytes > least) continue;
    least = bytes;
    best = at;
  }
  return best;
}

Observed observe(const History& history, std::uint64_t first, std::size_t length, const Prices& prices) {
  return Builder(history, first, length, prices).run();
}

}  // namespace refrain::guide
