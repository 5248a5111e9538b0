// Gathering runs and closing their gaps. It must never lose a byte of a may-set, nor add one to a must-set.
#include "access/byte_set.hpp"

#include <algorithm>
#include <utility>

namespace refrain::access {
namespace {

// Positive strides, smallest first, nothing that does not repeat.
Repeats tidy(Range& run, Repeats repeats) {
  for (Repeat& repeat : repeats) {
    if (repeat.count <= 1 || repeat.stride_bytes == 0) repeat = {};
    if (repeat.stride_bytes >= 0) continue;
    const std::int64_t back = repeat.stride_bytes * (repeat.count - 1);
    run.begin += back;
    run.end += back;
    repeat.stride_bytes = -repeat.stride_bytes;
  }
  const auto in_order = [&](std::size_t i, std::size_t j) {
    const bool swapped = repeats[i].count <= 1 || (repeats[j].count > 1 && repeats[j] < repeats[i]);
    if (swapped) std::swap(repeats[i], repeats[j]);
  };
  in_order(0, 1);
  in_order(1, 2);
  in_order(0, 1);
  return repeats;
}

constexpr std::uint64_t kMostOnTheWay = 1u << 20;  // runs, before neighbours are merged: 16 MiB

Repeats without_first(const Repeats& repeats) {
  return {repeats[1], repeats[2], Repeat{}};
}

Range hull(const Range& run, const Repeats& repeats) {
  Range out = run;
  for (const Repeat& repeat : repeats) out.end += repeat.stride_bytes * (repeat.count - 1);
  return out;
}

}  // namespace

void merge(std::vector<Range>& ranges) {
  if (ranges.empty()) return;
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::size_t last = 0;
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].begin <= ranges[last].end) {
      ranges[last].end = std::max(ranges[last].end, ranges[i].end);
    } else {
      ranges[++last] = ranges[i];
    }
  }
  ranges.resize(last + 1);
}

void ByteSet::add(Range run, Repeats repeats) {
  repeats = tidy(run, repeats);
  while (repeats[0].count > 1 && repeats[0].stride_bytes <= run.end - run.begin) {
    run.end += repeats[0].stride_bytes * (repeats[0].count - 1);
    repeats = without_first(repeats);
  }
  Runs& runs = runs_[repeats];
  if (!runs.list.empty()) {
    Range& last = runs.list.back();
    if (run.begin >= last.begin && run.begin <= last.end) {
      last.end = std::max(last.end, run.end);
      return;
    }
  }
  runs.list.push_back(run);
  if (runs.list.size() < runs.compact_at) return;
  merge(runs.list);
  runs.compact_at = std::max<std::size_t>(1024, runs.list.size() * 2);
}

std::vector<Range> ByteSet::ranges(bool may, std::size_t most) const {
  std::map<Repeats, std::vector<Range>> open;
  std::vector<Range> done;
  for (const auto& [repeats, runs] : runs_) open[repeats] = runs.list;
  bool whole = false;
  Range all{};
  const auto too_many = [&](const Range& run, const Repeats& repeats) {
    const Range held = hull(run, repeats);
    all = whole ? Range{std::min(all.begin, held.begin), std::max(all.end, held.end)} : held;
    whole = true;
  };
  // Shapes that repeat most first: what remains of them joins the shapes that repeat less.
  while (!open.empty()) {
    const auto deepest = std::max_element(open.begin(), open.end(), [](const auto& a, const auto& b) {
      const auto depth = [](const Repeats& repeats) {
        return std::count_if(repeats.begin(), repeats.end(), [](const Repeat& r) { return r.count > 1; });
      };
      return depth(a.first) < depth(b.first);
    });
    const Repeats repeats = deepest->first;
    std::vector<Range> list = std::move(deepest->second);
    open.erase(deepest);
    merge(list);
    const Repeat first = repeats[0];
    if (first.count <= 1) {
      done.insert(done.end(), list.begin(), list.end());
      continue;
    }
    const bool many = list.size() * static_cast<std::uint64_t>(first.count) > kMostOnTheWay;
    std::vector<Range>& rest = open[without_first(repeats)];
    for (const Range& run : list) {
      if (first.stride_bytes <= run.end - run.begin) {
        rest.push_back({run.begin, run.end + first.stride_bytes * (first.count - 1)});
      } else if (many) {
        too_many(run, repeats);
      } else {
        for (std::int64_t i = 0; i < first.count; ++i) {
          rest.push_back({run.begin + i * first.stride_bytes, run.end + i * first.stride_bytes});
        }
      }
    }
  }
  if (may && whole) done.push_back(all);
  merge(done);
  if (done.size() > most) {
    if (!may) return {};
    return {{done.front().begin, done.back().end}};
  }
  return done;
}

}  // namespace refrain::access
