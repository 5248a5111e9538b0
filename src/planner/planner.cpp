// See planner.hpp. First plans, and simulated annealing from the best of them: changes (change.cpp) are kept
// if the outcome is not much worse.
#include "planner/planner.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace refrain::planner {
namespace {

// All measured on the published logs (docs/planning.md).
constexpr double kFirstShare = 0.3;  // of the excess, dropped at one look at the prices
constexpr double kFirstPrice = 0.1;  // of the mean compute time per byte of the peak
// Temperatures, in mean costs of a recomputation.
constexpr double kHot = 0.2, kReheated = 2.0, kCold = 0.002;
constexpr double kRestMoves = 200;  // for each recomputation, until nothing better is found
constexpr int kMostCoolings = 3;
constexpr double kNoise = 3.0;
// Of keeping, against the price of a single drop: over its time it takes many drops to make room.
constexpr double kWeights[] = {10, 3, 1, 30};
constexpr double kLowestWeight = 1, kLowWeight = 3, kHighestWeight = 30;
constexpr unsigned kTrialBits = 6;  // up to 2^5 trials
constexpr unsigned kFewTrialBits = 4;
constexpr std::size_t kFirstRounds = 500, kLoweringRounds = 1000;
constexpr double kStep = 0.9;      // how far the cap is lowered at once
constexpr int kSmallerSteps = 10;  // failures in a row, then a large one is tried again
constexpr int kMovesBetweenSteps = 320;
// First plans by chance: for this part of the time, and so many.
constexpr double kBeginning = 0.1;
constexpr int kMostBeginnings = 100;
constexpr std::size_t kBeginningRounds = 3000;
constexpr double kBeginningNoise = 1.0;

}  // namespace

Planner::Planner(const Iteration& iteration, std::int64_t cap_bytes, std::uint32_t seed,
                 std::function<bool()> stopped)
    : iteration_(iteration),
      random_(seed),
      editor_(iteration, cap_bytes),
      repair_(editor_, random_, std::move(stopped)),
      trial_bits_(kTrialBits) {
  for (const Op& op : iteration.ops) base_ns_ += op.cost_ns;
  const std::int64_t peak = std::max<std::int64_t>(1, editor_.timeline().peak_bytes());
  first_price_ = kFirstPrice * static_cast<double>(base_ns_) / static_cast<double>(peak);
  editor_.set_ns_per_byte(first_price_);
}

bool Planner::start(const Progress& progress) {
  const std::int64_t goal = editor_.cap_bytes();
  if (least_bytes(iteration_) > goal) return false;
  if (!start_at_once()) {
    trial_bits_ = kFewTrialBits;
    if (!lower_the_cap(goal, progress)) return false;
    trial_bits_ = kTrialBits;
    fill(editor_.timeline().recomputations().size());
  }
  best_ns_ = INT64_MAX;
  keep_if_best();
  return true;
}

// From nothing recomputed to the cap, at several weights of keeping; the timeline is that of the best
// outcome.
bool Planner::start_at_once() {
  double best_weight = 0;
  std::int64_t best_ns = INT64_MAX;
  const auto attempt = [&](double weight) {
    editor_.undo(0);
    editor_.set_ns_per_byte(first_price_);
    editor_.set_keep_weight(weight);
    if (!repair_({.limit_ns = base_ns_, .most_rounds = kFirstRounds, .share = kFirstShare})) return false;
    fill(editor_.timeline().recomputations().size());
    return true;
  };
  for (double weight : kWeights) {
    const Random before = random_;
    if (!attempt(weight) || editor_.timeline().recomputed_ns() >= best_ns) continue;
    best_ns = editor_.timeline().recomputed_ns();
    best_weight = weight;
    best_random_ = before;
  }
  editor_.undo(0);
  editor_.set_ns_per_byte(first_price_);
  if (best_weight == 0) return false;
  random_ = best_random_;
  return attempt(best_weight);
}

// Step by step, with a search for a better plan in between: at a low cap what is cheap at first ends nowhere.
bool Planner::lower_the_cap(std::int64_t goal_bytes, const Progress& progress) {
  double step = kStep;
  int failures = 0;
  editor_.set_cap_bytes(editor_.timeline().peak_bytes());
  while (editor_.cap_bytes() > goal_bytes) {
    if (progress() >= 1) return false;
    editor_.forget();
    const std::int64_t before = editor_.cap_bytes();
    editor_.set_cap_bytes(
        std::max(goal_bytes, static_cast<std::int64_t>(static_cast<double>(before) * step)));
    RepairEffort effort{.most_rounds = kLoweringRounds, .share = failures == 0 ? kFirstShare : 0};
    effort.limit_ns = editor_.timeline().recomputed_ns() * 5 / 4 + base_ns_ / 20 * (1 + failures);
    if (failures > 0) effort.noise = kNoise, effort.trials = std::size_t{1} << random_() % trial_bits_;
    editor_.set_keep_weight(random_weight(kLowWeight, kHighestWeight));
    if (repair_(effort)) {
      fill(editor_.timeline().recomputations().size());
      step = std::max(kStep, step * step);
      failures = 0;
    } else {
      editor_.undo(0);
      editor_.set_cap_bytes(before);
      step = ++failures % kSmallerSteps == 0 ? std::sqrt(kStep) : std::sqrt(step);
    }
    int moves = failures == 0 ? kMovesBetweenSteps / 10 * 9 : 0;
    anneal([&] { return ++moves > kMovesBetweenSteps ? 1.0 : 0.5; }, {0, 1, kHot});
  }
  return true;
}

// Where there is time to come to rest, it is heated again: there may be a better place to rest.
void Planner::improve(const Progress& progress) {
  constexpr double kProbe = 0.05;
  begin_anew([&] { return progress() / kBeginning; });
  const double begun = progress(), probed = begun + kProbe;
  const auto moves = static_cast<double>(anneal(progress, {begun, probed, kHot}));
  const double rest = kRestMoves * static_cast<double>(editor_.timeline().recomputations().size());
  const double rests = moves * (1 - probed) / kProbe / std::max(rest, 1.0);
  const int coolings = static_cast<int>(std::clamp<double>(rests, 1, kMostCoolings));
  for (int i = 0; i < coolings; ++i) {
    const auto until = [&](int done) { return probed + (1 - probed) * done / coolings; };
    anneal(progress, {until(i), until(i + 1), i == 0 ? kHot : kReheated});
  }
}

// First plans by chance: some are far better, and the search does not get from every one to every other.
void Planner::begin_anew(const Progress& progress) {
  if (best_ns_ == 0) return;
  double best_price = editor_.ns_per_byte();
  for (int count = 0; count < kMostBeginnings && progress() < 1; ++count) {
    editor_.forget();
    editor_.clear();
    editor_.set_ns_per_byte(first_price_);
    editor_.set_keep_weight(random_weight(kLowestWeight, kHighestWeight));
    RepairEffort effort{.limit_ns = best_ns_ + best_ns_ / 4, .most_rounds = kBeginningRounds};
    effort.stop = [&] { return progress() >= 1; };
    if (random_() % 2 == 0) effort.share = kFirstShare;
    if (random_() % 2 == 0)
      effort.noise = kBeginningNoise, effort.trials = std::size_t{1} << random_() % kFewTrialBits;
    if (!repair_(effort)) continue;
    fill(editor_.timeline().recomputations().size());
    if (editor_.timeline().recomputed_ns() < best_ns_) best_price = editor_.ns_per_byte();
    keep_if_best();
  }
  editor_.take_up(best_);
  editor_.set_ns_per_byte(best_price);
}

std::int64_t Planner::anneal(const Progress& progress, const Cooling& cooling) {
  const Timeline& timeline = editor_.timeline();
  std::int64_t moves = 0;
  // Whoever stops the search says 1, and no more than that.
  const double end = std::min(cooling.to, 1.0);
  for (double gone = progress(); gone < end && !timeline.recomputations().empty();
       gone = progress(), ++moves) {
    editor_.forget();
    const auto now = static_cast<double>(timeline.recomputed_ns());
    const double mean = now / static_cast<double>(timeline.recomputations().size());
    const double share = std::max(0.0, (gone - cooling.from) / (cooling.to - cooling.from));
    const double temperature = mean * cooling.hot * std::pow(kCold / cooling.hot, share);
    if (change(now - temperature * std::log(uniform(random_) + 1e-12)))
      keep_if_best();
    else
      editor_.undo(0);
  }
  return moves;
}

// Leaves out what the cap has room for; so many recomputations are looked at, expensive ones first.
void Planner::fill(std::size_t tries) {
  const Timeline& timeline = editor_.timeline();
  std::vector<std::pair<double, RunId>> order;
  const auto all = timeline.recomputations();
  for (std::size_t i = 0; i < tries && i < all.size(); ++i) {
    const RunId run = all[tries < all.size() ? random_() % all.size() : i];
    order.emplace_back(-(0.5 + uniform(random_)) * static_cast<double>(timeline.cost_ns(timeline.op_of(run))),
                       run);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [price, run] : order)
    if (timeline.exists(run)) editor_.try_remove(run);
}

void Planner::keep_if_best() {
  const Timeline& timeline = editor_.timeline();
  if (timeline.recomputed_ns() >= best_ns_) return;
  best_ns_ = timeline.recomputed_ns();
  best_peak_bytes_ = timeline.peak_bytes();
  best_.clear();
  for (std::uint32_t stage = 0; stage <= timeline.end(); ++stage)
    for (RunId run : timeline.runs_of(stage)) best_.push_back(timeline.op_of(run));
  best_.pop_back();  // the end
}

Schedule Planner::schedule() const {
  // Backwards: what is read later is kept, all else is dropped where it is read or written last.
  std::vector<bool> read_later;
  for (const Value& value : iteration_.values) read_later.push_back(value.wanted || value.constant);
  std::vector<bool> restored_next(iteration_.values.size());
  std::vector<std::vector<Action>> dropped(best_.size());
  const Timeline& timeline = editor_.timeline();
  for (std::size_t i = best_.size(); i-- > 0;) {
    const auto drop = [&](ValueIndex value) {
      if (!read_later[value])
        dropped[i].push_back({restored_next[value] ? Action::Kind::kOffload : Action::Kind::kDrop, value});
    };
    for (ValueIndex value : timeline.writes(best_[i])) {
      drop(value);
      read_later[value] = false;
      restored_next[value] = timeline.is_restore(best_[i]);
    }
    for (ValueIndex value : timeline.reads(best_[i])) {
      drop(value);
      read_later[value] = true;
    }
  }
  Schedule schedule;
  OpIndex next = 0;
  for (std::size_t i = 0; i < best_.size(); ++i) {
    if (timeline.is_restore(best_[i])) {
      schedule.actions.push_back({Action::Kind::kRestore, timeline.restored_by(best_[i])});
    } else {
      const bool first = best_[i] == next;
      if (first) ++next;
      schedule.actions.push_back({first ? Action::Kind::kRun : Action::Kind::kRecompute, best_[i]});
    }
    schedule.actions.insert(schedule.actions.end(), dropped[i].begin(), dropped[i].end());
  }
  schedule.total_ns = base_ns_ + best_ns_;
  schedule.peak_bytes = best_peak_bytes_;
  return schedule;
}

std::int64_t least_bytes(const Iteration& iteration) {
  std::int64_t constant = 0, wanted = 0, most = 0;
  for (const Value& value : iteration.values) {
    if (value.constant) constant += value.bytes;
    if (value.wanted && !value.constant) wanted += value.bytes;
  }
  for (const Op& op : iteration.ops) {
    std::int64_t bytes = 0;
    for (ValueIndex value : op.reads)
      if (!iteration.values[value].constant) bytes += iteration.values[value].bytes;
    for (ValueIndex value : op.writes) bytes += iteration.values[value].bytes;
    most = std::max(most, bytes);
  }
  return constant + std::max(most, wanted);
}

}  // namespace refrain::planner
