// See segments.hpp.
#include "planner/segments.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "planner/repetition.hpp"

namespace refrain::planner {
namespace {

std::vector<Segment> between(const std::vector<OpIndex>& borders) {
  std::vector<Segment> segments;
  for (std::size_t i = 0; i + 1 < borders.size(); ++i) segments.push_back({borders[i], borders[i + 1]});
  return segments;
}

class Blocks {
 public:
  Blocks(const Forward& forward, const Sequence& sequence) : forward_(forward), sequence_(sequence) {}

  std::vector<Segment> run() {
    find(forward_.step().begin, forward_.step().turn);
    return std::move(found_);
  }

 private:
  void find(OpIndex begin, OpIndex end) {
    std::vector<Segment> best;
    std::int64_t least = stashed_bytes({begin, end}) - forward_.stashed_bytes() / 10;
    const std::size_t from = place_of(begin), to = place_of(end);
    const auto keys = std::span(sequence_.keys).subspan(from, to - from);
    for (const auto& [period, all] : shortest_periods(keys)) {
      std::vector<Segment> blocks;
      for (const Repetition& repetition : all)
        for (const Segment& block : between(borders_in(repetition, from))) blocks.push_back(block);
      const std::int64_t bytes = kept_bytes({begin, end}, blocks);
      if (bytes >= least) continue;
      least = bytes;
      best = std::move(blocks);
    }
    if (best.empty()) return;
    std::sort(best.begin(), best.end(), [](const Segment& a, const Segment& b) { return a.begin < b.begin; });
    OpIndex at = begin;
    for (const Segment& block : best) {
      if (block.begin > at) find(at, block.begin);
      found_.push_back(block);
      at = block.end;
    }
    find(at, end);
  }

  std::int64_t stashed_bytes(const Segment& segment) const {
    std::int64_t bytes = 0;
    for (OpIndex op = segment.begin; op < segment.end; ++op) bytes += forward_.stashed_bytes(op);
    return bytes;
  }

  // Of the stash of the range; of the largest block all that is lost comes back at once.
  std::int64_t kept_bytes(const Segment& range, const std::vector<Segment>& blocks) const {
    std::int64_t bytes = stashed_bytes(range), largest = 0;
    for (const Segment& block : blocks) {
      std::int64_t lost = 0;
      for (OpIndex op = block.begin; op < block.end; ++op)
        for (const ValueIndex value : forward_.iteration().ops[op].writes)
          if (forward_.is_stashed(value) && forward_.last_reader_in_pass(value) < block.end)
            lost += forward_.iteration().values[value].bytes;
      bytes -= lost;
      largest = std::max(largest, lost);
    }
    return bytes + largest;
  }

  // Without those that are several times a shorter one.
  static std::map<std::size_t, std::vector<Repetition>> shortest_periods(
      std::span<const std::uint64_t> keys) {
    std::map<std::size_t, std::vector<Repetition>> by_period;
    for (const Repetition& repetition : repetitions(keys)) by_period[repetition.period].push_back(repetition);
    for (auto& [period, all] : by_period) {
      std::erase_if(all, [&, period = period](const Repetition& repetition) {
        return std::any_of(by_period.begin(), by_period.find(period), [&](const auto& shorter) {
          return period % shorter.first == 0 &&
                 std::any_of(shorter.second.begin(), shorter.second.end(), [&](const Repetition& other) {
                   return other.begin <= repetition.begin && other.end >= repetition.end;
                 });
        });
      });
    }
    return by_period;
  }

  std::size_t place_of(OpIndex op) const {
    return static_cast<std::size_t>(std::lower_bound(sequence_.ops.begin(), sequence_.ops.end(), op) -
                                    sequence_.ops.begin());
  }

  // offset: in the sequence, of what the repetition was found in.
  std::vector<OpIndex> borders_in(const Repetition& repetition, std::size_t offset) const {
    std::vector<OpIndex> best;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t phase = 0; phase < repetition.period; ++phase) {
      std::vector<OpIndex> borders;
      double bytes = 0;
      for (std::size_t at = repetition.begin + phase; at <= repetition.end; at += repetition.period) {
        borders.push_back(std::min(sequence_.ops[offset + at], forward_.step().turn));
        bytes += static_cast<double>(forward_.crossing_bytes(borders.back()));
      }
      // Of a border at either end of the pass nothing is known.
      const auto inner = std::count_if(borders.begin(), borders.end(), [&](OpIndex at) {
        return at != forward_.step().begin && at != forward_.step().turn;
      });
      const double average = bytes / static_cast<double>(std::max<std::ptrdiff_t>(inner, 1));
      if (average > least || (average == least && borders.size() <= best.size())) continue;
      least = average;
      best = borders;
    }
    return best;
  }

  const Forward& forward_;
  const Sequence& sequence_;
  std::vector<Segment> found_;
};

}  // namespace

std::vector<Segment> even_segments(const Forward& forward, std::size_t count) {
  const OpIndex begin = forward.step().begin, turn = forward.step().turn;
  std::vector<double> stashed{0};  // before each op of the pass
  for (OpIndex op = begin; op < turn; ++op)
    stashed.push_back(stashed.back() + static_cast<double>(forward.stashed_bytes(op)));
  const double part = stashed.back() / static_cast<double>(count);
  std::vector<OpIndex> borders{begin};
  for (std::size_t i = 1; i < count; ++i) {
    const double goal = part * static_cast<double>(i);
    const auto place = [&](double bytes) {
      return begin +
             static_cast<OpIndex>(std::lower_bound(stashed.begin(), stashed.end(), bytes) - stashed.begin());
    };
    OpIndex best = std::max(place(goal), borders.back() + 1);  // where none is within half a part
    const auto rank = [&](OpIndex at) {
      return std::pair(forward.crossing_bytes(at), std::abs(stashed[at - begin] - goal));
    };
    const OpIndex first = std::max(place(goal - part / 2), borders.back() + 1);
    for (OpIndex at = first; at < turn && stashed[at - begin] <= goal + part / 2; ++at)
      if (stashed[best - begin] > goal + part / 2 || rank(at) < rank(best)) best = at;
    if (best < turn) borders.push_back(best);
  }
  borders.push_back(turn);
  return between(borders);
}

std::vector<Segment> repeated_blocks(const Forward& forward, const Sequence& sequence) {
  return Blocks(forward, sequence).run();
}

std::vector<Segment> marked_blocks(const Forward& forward, const std::vector<bool>& begins) {
  std::vector<OpIndex> borders;
  for (OpIndex op = forward.step().begin; op < forward.step().turn; ++op)
    if (begins[op]) borders.push_back(op);
  if (!borders.empty()) borders.push_back(forward.step().turn);
  return between(borders);
}

Chain chain_of(const Forward& forward, std::size_t most) {
  const OpIndex begin = forward.step().begin, turn = forward.step().turn;
  std::vector<std::pair<OpIndex, ValueIndex>> places;
  std::vector<ValueIndex> here;
  for (OpIndex at = begin; at < turn; ++at) {
    std::erase_if(here, [&](ValueIndex value) { return forward.last_reader_in_pass(value) < at; });
    if (here.size() == 1 && (places.empty() || places.back().second != here[0]))
      places.emplace_back(at, here[0]);
    for (const ValueIndex value : forward.iteration().ops[at].writes)
      if (forward.may_go(value) && forward.last_reader_in_pass(value) > at) here.push_back(value);
  }
  Chain chain{.segments = {}, .state = {kNoState}};
  const std::size_t stride = places.size() / most + 1;
  std::vector<OpIndex> borders{begin};
  for (std::size_t i = stride - 1; i < places.size(); i += stride) {
    borders.push_back(places[i].first);
    chain.state.push_back(places[i].second);
  }
  borders.push_back(turn);
  chain.segments = between(borders);
  return chain;
}

}  // namespace refrain::planner
