// See guide.hpp.
#include "guide/guide.hpp"

#include <algorithm>
#include <utility>

namespace refrain::guide {
namespace {

// What pages of different sizes, and copies of old versions, may need beside what the plan counts.
constexpr std::int64_t kMarginDivisor = 64;
// Of what an iteration costs without a plan: so much more is worse; so many times in a row, the plan goes.
constexpr double kWorse = 1.02;
constexpr int kMostWorse = 2;

}  // namespace

// What bringing values back has cost so far, as far as it is counted.
double Guide::spent_ns(const engine::Engine& engine) const {
  const engine::Statistics& s = engine.statistics();
  const engine::TransferCost& transfer = engine.transfer_cost();
  return s.replayed_cost_ns + static_cast<double>(s.offloads + s.restores) * transfer.fixed_ns +
         static_cast<double>(s.offloaded_bytes + s.restored_bytes) * transfer.ns_per_byte +
         mapping_(engine.memory().mapping_calls());
}

void Guide::on_buffer(BufferId buffer, Bytes bytes, bool stays) {
  history_.buffer(buffer, bytes, stays);
  observer_.on_buffer(buffer, bytes, stays);
}

void Guide::on_free(BufferId buffer) {
  history_.free(buffer);
  observer_.on_free(buffer);
}

// The plan computes something else from it: by itself the engine would have to make it once more for that.
bool Guide::keeps_freed(BufferId buffer) {
  if (!following_) return false;
  const auto value = value_of_.find(history_.freed(buffer));
  return value != value_of_.end() && bound_[value->second].planned;
}

void Guide::on_cost(std::uint32_t cost_class, double ns) {
  costs_[cost_class] = ns;
  observer_.on_cost(cost_class, ns);
}

void Guide::on_barrier() {
  history_.barrier();
  period_.forget();
  found_length_ = 0;
  leave();
  observer_.on_barrier();
}

void Guide::on_op(std::span<const BufferUse> uses, bool replayable, std::uint32_t cost_class,
                  engine::Payload payload) {
  observer_.on_op(uses, replayable, cost_class, payload);
  ++totals_.ops;
  if (stopped_) return;
  if (!watches_) return history_.pass(uses, replayable);
  const Record& record = history_.op(uses, replayable, cost_class, spent_ns_);
  period_.add(record.shape);
  const bool was_advanced = std::exchange(advanced_, false);
  if (following_ && !was_advanced) advance(record, history_.end() - 1);
  if (following_) {
    bind(record);
  } else {
    // Where the program never gets back to it, the rest is over all the same.
    if (rest_until_ == 0 || history_.end() > rest_until_ + identities_.size()) look_for_period();
    try_to_pick_up();
  }
}

void Guide::stop() {
  stopped_ = true;
  planning_.stop();
  leave();
}

// A longer one than is planned, where that is in use: a loop inside of an iteration repeats too.
void Guide::look_for_period() {
  if (!evicted_ || history_.end() < next_look_) return;
  const std::size_t planned = std::max(observed_.ops.size(), asked_ ? pending_.ops.size() : 0);
  const bool in_use = history_.end() - last_followed_ < 2 * planned || asked_;
  const std::size_t least = in_use ? std::max(planned + 1, kLeastOps) : kLeastOps;
  const std::size_t length = period_.find(least, [this](std::size_t candidate) {
    // Nor for several of them at once.
    if (hopeless_length_ != 0 && candidate % hopeless_length_ == 0) return false;
    next_look_ = history_.end() + candidate / 8;  // each look at the values takes time
    return repeats(history_, candidate);
  });
  if (length == 0) return;
  next_look_ = history_.end() + length;
  found_length_ = length;
  found_first_ = boundary(history_, length);
}

void Guide::ask_for_plan(const engine::Engine& engine) {
  if (found_length_ == 0) return;
  const std::size_t length = std::exchange(found_length_, 0);
  if (found_first_ < history_.first() || times_asked_ == kMostAsked) return;
  const Prices prices{
      .op_ns =
          [this](std::uint32_t cost_class) {
            const auto cost = costs_.find(cost_class);
            return cost == costs_.end() ? 0.0 : cost->second;
          },
      .mapping_ns = mapping_.map_ns + mapping_.unmap_ns,
      .transfer = engine.transfer_cost(),
      .offload = engine.settings().host_cap_bytes > 0 ? engine.settings().offload : engine::Offload::kOff};
  pending_ = observe(history_, found_first_, length, prices);
  if (!planner::problem_of(pending_.iteration).empty()) return;
  const engine::Memory& memory = engine.memory();
  const auto others =
      static_cast<std::int64_t>(memory.external_bytes() + history_.stays_bytes() + pending_.other_leaf_bytes);
  const std::int64_t cap_bytes = static_cast<std::int64_t>(memory.cap_bytes()) - others;
  planning_.begin(pending_.iteration, cap_bytes - cap_bytes / kMarginDivisor);
  asked_ = true;
  ++times_asked_;
  last_followed_ = history_.end();
}

void Guide::take_plan() {
  const bool busy = planning_.busy();  // asked first: what comes in between is taken below
  std::optional<MadePlan> made = planning_.take();
  if (!made) {
    if (asked_ && !busy) {
      hopeless_length_ = pending_.ops.size();
      asked_ = false;
    }
    return;
  }
  ++totals_.plans;
  totals_.planning_ns += made->took_ns;
  if (!std::exchange(asked_, false)) {
    better_ = std::move(made->schedule);
    return;
  }
  leave();
  observed_ = std::exchange(pending_, {});
  identities_.clear();
  for (const Observed::Op& op : observed_.ops) identities_.push_back(op.shape);
  better_.reset();
  compares_ = false;
  worse_ = 0;
  rest_until_ = 0;
  until_rest_ = kFirstRest;
  next_rest_ = kFirstRest * kRestGrowth;
  follower_ = std::make_unique<planner::Follower>(std::move(made->schedule), identities_);
}

void Guide::begin_iteration(std::uint64_t first_op) {
  if (better_) {
    follower_ = std::make_unique<planner::Follower>(*std::exchange(better_, std::nullopt), identities_);
    worse_ = 0;
  }
  follower_->restart();
  began_spent_ns_ = spent_ns_;
  bound_.assign(observed_.iteration.values.size(), {});
  value_of_.clear();
  began_op_ = first_op;
}

// Where the last ops were the first of the iteration.
void Guide::try_to_pick_up() {
  if (!follower_) return;
  const std::size_t opening = std::min(kOpening, identities_.size());
  if (history_.end() - history_.first() < opening) return;
  const std::uint64_t first = history_.end() - opening;
  if (first < rest_until_) return;
  for (std::size_t i = 0; i < opening; ++i)
    if (history_.at(first + i).shape != identities_[i]) return;
  todo_.clear();
  compare_with_before(first);
  rest_until_ = 0;
  begin_iteration(first);
  following_ = true;
  for (std::uint64_t op = first; op < history_.end() && advance(history_.at(op), op); ++op)
    bind(history_.at(op));
}

// The iteration before, if none of it was planned. Until there is such a one, plans are believed.
void Guide::compare_with_before(std::uint64_t first_op) {
  const std::uint64_t length = identities_.size();
  if (first_op < history_.first() + length || last_planned_ > first_op - length) return;
  before_ns_ = history_.at(first_op).spent_ns - history_.at(first_op - length).spent_ns;
  compares_ = true;
}

// A whole one has just ended.
void Guide::judge_iteration(std::uint64_t end_op) {
  const double took_ns = spent_ns_ - began_spent_ns_;
  worse_ = compares_ && took_ns > before_ns_ * kWorse ? worse_ + 1 : 0;
  if (worse_ == kMostWorse) return give_up_plan();
  if (--until_rest_ > 0) return;
  until_rest_ = std::exchange(next_rest_, next_rest_ * kRestGrowth);
  rest_until_ = end_op + kRestIterations * identities_.size();
  leave();
}

void Guide::give_up_plan() {
  ++totals_.given_up;
  hopeless_length_ = identities_.size();
  planning_.stop();
  leave();
  follower_.reset();
}

// It is the op that the plan expects, on the values that it expects. What an iteration starts from is
// whatever its first reader finds, if it is older than the iteration.
bool Guide::expected(const Record& record) {
  const Observed::Op& op = observed_.ops[follower_->next_op()];
  if (op.shape != record.shape || op.uses.size() != record.uses.size()) return false;
  for (std::size_t i = 0; i < op.uses.size(); ++i) {
    const RecordedUse& use = record.uses[i];
    const planner::ValueIndex value = op.uses[i].input;
    if ((value == kNoValue) != (use.input.number == 0)) return false;
    if (value == kNoValue) continue;
    Bound& bound = bound_[value];
    if (bound.number == 0) {
      if (!observed_.iteration.values[value].constant || use.input.op >= began_op_) return false;
      bound = {.buffer = use.use.buffer, .number = use.input.number};
    } else if (bound.number != use.input.number) {
      return false;
    }
  }
  return true;
}

// false: the plan is left.
bool Guide::advance(const Record& record, std::uint64_t op) {
  if (follower_->next_op() == identities_.size()) {
    judge_iteration(op);
    if (!following_) return false;
    begin_iteration(op);
  }
  if (!expected(record)) {
    if (follower_->next_op() != 0) ++totals_.left;
    leave();
    return false;
  }
  const auto actions = follower_->before(record.shape);
  if (!actions) {
    leave();
    return false;
  }
  note(*actions);
  ++totals_.planned_ops;
  last_followed_ = last_planned_ = op;
  return true;
}

void Guide::bind(const Record& record) {
  const Observed::Op& op = observed_.ops[follower_->next_op() - 1];
  for (std::size_t i = 0; i < op.uses.size(); ++i) {
    const planner::ValueIndex value = op.uses[i].output;
    if (value == kNoValue) continue;
    bound_[value] = {.buffer = record.uses[i].use.buffer, .number = record.uses[i].output, .planned = true};
    value_of_[record.uses[i].output] = value;
  }
  note(follower_->after());
}

void Guide::leave() {
  if (!following_) return;
  following_ = false;
  advanced_ = false;
  todo_.clear();
  forget_advice_ = true;
}

void Guide::note(std::span<const planner::Action> actions) {
  for (const planner::Action action : actions) {
    const auto add = [&](planner::ValueIndex value) {
      bound_[value].planned = !action.drops();
      todo_.push_back({.kind = action.kind, .value = bound_[value]});
    };
    if (action.kind != planner::Action::Kind::kRecompute) {
      add(action.index);
    } else {
      for (const planner::ValueIndex value : observed_.iteration.ops[action.index].writes) add(value);
    }
  }
}

// What the program can still read; on the way to it the engine makes the rest. Nothing is dropped before the
// room is needed: then it is the first to go.
engine::Status Guide::carry_out(engine::Engine& engine) {
  wanted_.clear();
  for (const Todo& todo : todo_) {
    const BufferId buffer = todo.value.buffer;
    const std::uint64_t number = todo.value.number;
    if (number == 0) continue;
    const bool drops = planner::Action{.kind = todo.kind}.drops();
    const bool to_host = todo.kind == planner::Action::Kind::kOffload;
    if (drops && history_.freed(buffer) == number) engine.let_go(buffer, to_host);
    if (history_.current(buffer).number != number) continue;
    if (drops) {
      std::erase(wanted_, buffer);
      engine.let_go(buffer, to_host);
    } else {
      wanted_.push_back(buffer);
    }
  }
  todo_.clear();
  if (wanted_.empty()) return engine::Status::kOk;
  const engine::Status status = engine.bring_back(wanted_);
  return status == engine::Status::kCorrupt ? status : engine::Status::kOk;
}

engine::Status Guide::before(engine::Engine& engine, std::span<const BufferUse> uses, bool replayable,
                             std::uint32_t cost_class) {
  if (stopped_) return engine::Status::kOk;
  if (!watches_) {
    const engine::Memory& memory = engine.memory();
    watches_ = evicted_ || memory.held_bytes() > memory.cap_bytes() / kWatchedDivisor;
    if (!watches_) return engine::Status::kOk;
  }
  spent_ns_ = spent_ns(engine);
  if (advanced_) leave();  // the op before was not issued after all
  ask_for_plan(engine);
  take_plan();
  if (following_) advanced_ = advance(history_.describe(uses, replayable, cost_class), history_.end());
  if (std::exchange(forget_advice_, false)) engine.forget_let_go();
  return following_ ? carry_out(engine) : engine::Status::kOk;
}

}  // namespace refrain::guide
