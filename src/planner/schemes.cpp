// See schemes.hpp. Steps on their own: what is lost in each, and bringing it back when it is read.
#include "planner/schemes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "planner/chain_walk.hpp"
#include "planner/order.hpp"
#include "planner/segments.hpp"

namespace refrain::planner {
namespace {

constexpr std::uint32_t kAlone = UINT32_MAX;
constexpr std::size_t kLongestChain = 512;  // the table of revolve grows with its square

class Scheduler {
 public:
  Scheduler(const Iteration& iteration, std::span<const std::uint32_t> names, const SchemeSettings& settings)
      : iteration_(iteration),
        names_(names),
        settings_(settings),
        uses_(iteration),
        sequence_(sequence_of(iteration, names)),
        losses_(iteration, uses_),
        segment_of_(iteration.ops.size(), kAlone),
        order_(iteration) {}

  SchemeSchedule run() {
    std::string refusal = "nothing of a forward pass is read again after it";
    std::int64_t most_stashed = 0;
    for (const Step& step : steps_of(iteration_, names_, uses_)) {
      const Forward forward(iteration_, uses_, step);
      const std::string problem = forward.stashed_bytes() > 0 ? prepare(forward) : std::string();
      if (forward.stashed_bytes() > most_stashed) refusal = problem;
      most_stashed = std::max(most_stashed, forward.stashed_bytes());
      carry_out(forward);
    }
    if (!refusal.empty()) return {.schedule = {}, .refusal = refusal};
    return {.schedule = order_.schedule(), .refusal = {}};
  }

 private:
  std::string prepare(const Forward& forward) {
    segments_.clear();
    switch (settings_.scheme) {
      case Scheme::kFull: return divide(forward, with_gaps(forward, blocks_of(forward)));
      case Scheme::kBlocks: return divide(forward, blocks_of(forward));
      case Scheme::kSqrt: return divide_evenly(forward);
      case Scheme::kSelective: return lose_cheap(forward);
      case Scheme::kRevolve: return make_chain(forward);
    }
    return {};
  }

  std::vector<Segment> blocks_of(const Forward& forward) const {
    if (settings_.block_count > 0) return even_segments(forward, settings_.block_count);
    if (settings_.block_names.empty()) return repeated_blocks(forward, sequence_);
    std::vector<bool> begins;
    for (const std::uint32_t name : names_) begins.push_back(settings_.block_names[name]);
    return marked_blocks(forward, begins);
  }

  static std::vector<Segment> with_gaps(const Forward& forward, const std::vector<Segment>& blocks) {
    std::vector<Segment> all;
    OpIndex at = forward.step().begin;
    for (const Segment& block : blocks) {
      if (block.begin > at) all.push_back({at, block.begin});
      all.push_back(block);
      at = block.end;
    }
    if (!all.empty() && at < forward.step().turn) all.push_back({at, forward.step().turn});
    return all;
  }

  std::string divide(const Forward& forward, std::vector<Segment> segments) {
    segments_ = std::move(segments);
    if (segments_.empty())
      return settings_.block_names.empty()
                 ? "no ops of the forward pass repeat as blocks that would save a tenth of what it keeps"
                 : "no op of the forward pass has such a name";
    for (std::uint32_t i = 0; i < segments_.size(); ++i) {
      for (OpIndex op = segments_[i].begin; op < segments_[i].end; ++op) {
        segment_of_[op] = i;
        for (const ValueIndex value : iteration_.ops[op].writes)
          if (forward.may_go(value) && forward.last_reader_in_pass(value) < segments_[i].end)
            losses_.lose(value);
      }
    }
    return {};
  }

  std::string divide_evenly(const Forward& forward) {
    const auto count =
        static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(forward.stashing_ops()))));
    std::vector<Segment> segments = even_segments(forward, count);
    segments.pop_back();
    if (segments.empty()) return "the forward pass is too short to be divided";
    return divide(forward, std::move(segments));
  }

  std::string lose_cheap(const Forward& forward) {
    double all_ns = 0, all_bytes = 0;
    for (OpIndex op = forward.step().begin; op < forward.step().turn; ++op) {
      all_ns += static_cast<double>(iteration_.ops[op].recompute_ns);
      all_bytes += moved_bytes(op);
    }
    const double dear_ns_per_byte = all_ns / static_cast<double>(forward.stashed_bytes());
    for (OpIndex op = forward.step().begin; op < forward.step().turn; ++op) {
      double again_ns = 0;
      for (const OpIndex needed : losses_.ops_for(iteration_.ops[op].writes))
        again_ns += static_cast<double>(iteration_.ops[needed].recompute_ns);
      const bool expensive =
          static_cast<double>(iteration_.ops[op].recompute_ns) * all_bytes > all_ns * moved_bytes(op) ||
          again_ns > dear_ns_per_byte * static_cast<double>(forward.stashed_bytes(op));
      for (const ValueIndex value : iteration_.ops[op].writes)
        if (forward.may_go(value) && !(expensive && forward.is_stashed(value))) losses_.lose(value);
    }
    return {};
  }

  double moved_bytes(OpIndex op) const {
    std::int64_t bytes = 0;
    for (const auto* list : {&iteration_.ops[op].reads, &iteration_.ops[op].writes})
      for (const ValueIndex value : *list) bytes += iteration_.values[value].bytes;
    return static_cast<double>(bytes);
  }

  std::string make_chain(const Forward& forward) {
    const Chain chain = chain_of(forward, kLongestChain);
    for (const Segment& segment : chain.segments) {
      std::int64_t bytes = 0;
      for (OpIndex op = segment.begin; op < segment.end; ++op) bytes += forward.stashed_bytes(op);
      if (2 * bytes > forward.stashed_bytes())
        return "it is for chains, and most of what is kept lies where more than one value crosses";
    }
    const std::size_t places =
        settings_.places > 0 ? settings_.places : std::bit_width(chain.segments.size() - 1);
    walk_.emplace(forward, chain, places, losses_);
    return {};
  }

  void carry_out(const Forward& forward) {
    for (OpIndex op = forward.step().begin; op < forward.step().end; ++op) {
      if (op >= forward.step().turn)
        for (const ValueIndex value : iteration_.ops[op].reads)
          if (losses_.is_lost(value)) bring(forward, value);
      order_.run(op);
    }
    walk_.reset();
  }

  void bring(const Forward& forward, ValueIndex value) {
    if (walk_) return walk_->bring(value, order_);
    std::vector<ValueIndex> wanted{value};
    if (const std::uint32_t segment = segment_of_[uses_.producer(value)]; segment != kAlone)
      for (OpIndex op = segments_[segment].begin; op < segments_[segment].end; ++op)
        for (const ValueIndex other : iteration_.ops[op].writes)
          if (losses_.is_lost(other) && forward.is_stashed(other)) wanted.push_back(other);
    for (const OpIndex op : losses_.ops_for(wanted)) {
      order_.recompute(op);
      for (const ValueIndex made : iteration_.ops[op].writes) losses_.regain(made);
    }
  }

  const Iteration& iteration_;
  std::span<const std::uint32_t> names_;
  const SchemeSettings& settings_;
  const Uses uses_;
  const Sequence sequence_;
  Losses losses_;
  std::vector<Segment> segments_;          // of this step; empty where each op is on its own
  std::vector<std::uint32_t> segment_of_;  // by op
  std::optional<ChainWalk> walk_;
  Order order_;
};

}  // namespace

SchemeSchedule schedule_of(const Iteration& iteration, std::span<const std::uint32_t> names,
                           const SchemeSettings& settings) {
  return Scheduler(iteration, names, settings).run();
}

}  // namespace refrain::planner
