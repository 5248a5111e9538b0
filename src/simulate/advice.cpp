// See advice.hpp.
#include "simulate/advice.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

namespace refrain::simulate {
namespace {

using Holds = std::function<bool(const CurvePoint&)>;

constexpr int kCoarseSteps = 20;

class Search {
 public:
  Search(std::uint64_t peak_bytes, const std::function<Result(std::uint64_t)>& run)
      : peak_bytes_(peak_bytes), run_(run) {}

  void go_down() {
    for (int step = kCoarseSteps; step > 0; --step) {
      const double ratio = static_cast<double>(step) / kCoarseSteps;
      const auto cap = static_cast<std::uint64_t>(std::floor(static_cast<double>(peak_bytes_) * ratio));
      if (cap == 0) return;
      curve_.push_back(attempt(cap));
      if (!works(curve_.back())) return;
    }
  }

  std::optional<CurvePoint> lowest(const Holds& holds) {
    std::optional<CurvePoint> found;
    for (const auto& [cap, point] : tried_)
      if (!found && holds(point)) found = point;
    if (!found) return found;
    const auto place = tried_.find(found->cap_bytes);
    halve(holds, place == tried_.begin() ? 0 : std::prev(place)->first, *found);
    go_on(holds, *found);
    if (std::none_of(curve_.begin(), curve_.end(),
                     [&](const CurvePoint& point) { return point.cap_bytes == found->cap_bytes; }))
      curve_.push_back(*found);
    return found;
  }

  static bool works(const CurvePoint& point) { return point.outcome == Outcome::kOk; }
  static std::uint64_t lower(std::uint64_t cap_bytes, int tries) {
    return static_cast<std::uint64_t>(std::floor(static_cast<double>(cap_bytes) * std::pow(0.99, tries)));
  }
  std::vector<CurvePoint> take() {
    std::sort(curve_.begin(), curve_.end(),
              [](const CurvePoint& a, const CurvePoint& b) { return a.cap_bytes > b.cap_bytes; });
    return std::move(curve_);
  }

 private:
  std::uint64_t step_bytes() const {
    return std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(static_cast<double>(peak_bytes_) * kAdviceStep));
  }

  void halve(const Holds& holds, std::uint64_t failing, CurvePoint& found) {
    while (found.cap_bytes - failing > step_bytes()) {
      const CurvePoint middle = attempt(failing + (found.cap_bytes - failing) / 2);
      if (holds(middle))
        found = middle;
      else
        failing = middle.cap_bytes;
    }
  }

  void go_on(const Holds& holds, CurvePoint& found) {
    for (int tries = 1; tries <= kMoreTries && found.cap_bytes > step_bytes(); ++tries) {
      const CurvePoint point = attempt(std::max<std::uint64_t>(1, lower(found.cap_bytes, tries)));
      if (!holds(point) || point.cap_bytes == found.cap_bytes) continue;
      found = point;
      tries = 0;
    }
  }

  CurvePoint attempt(std::uint64_t cap_bytes) {
    const auto [place, fresh] = tried_.try_emplace(cap_bytes);
    if (!fresh) return place->second;
    const Result result = run_(cap_bytes);
    CurvePoint& point = place->second;
    point.cap_bytes = cap_bytes;
    point.outcome = result.outcome;
    if (works(point)) point.overhead = result.total_over_base() - 1;
    return point;
  }

  std::uint64_t peak_bytes_;
  const std::function<Result(std::uint64_t)>& run_;
  std::map<std::uint64_t, CurvePoint> tried_;
  std::vector<CurvePoint> curve_;
};

std::optional<CurvePoint> knee_of(const std::vector<CurvePoint>& curve) {
  std::vector<CurvePoint> working;
  std::copy_if(curve.begin(), curve.end(), std::back_inserter(working), Search::works);
  if (working.size() < 3) return std::nullopt;
  const CurvePoint &first = working.front(), &last = working.back();
  const double caps = static_cast<double>(first.cap_bytes - last.cap_bytes);
  const double rise = last.overhead - first.overhead;
  if (rise <= 0) return std::nullopt;
  std::optional<CurvePoint> knee;
  double farthest = 1e-9;  // rounding is no knee
  for (const CurvePoint& point : working) {
    const double x = static_cast<double>(first.cap_bytes - point.cap_bytes) / caps;
    const double below = x - (point.overhead - first.overhead) / rise;
    if (below <= farthest) continue;
    farthest = below;
    knee = point;
  }
  return knee;
}

}  // namespace

Advice advise(std::uint64_t peak_bytes, double max_overhead,
              const std::function<Result(std::uint64_t cap_bytes)>& run) {
  Advice advice;
  advice.peak_bytes = peak_bytes;
  advice.max_overhead = max_overhead;
  Search search(peak_bytes, run);
  search.go_down();
  advice.lowest = search.lowest(Search::works);
  if (advice.lowest) advice.none_works_from_bytes = Search::lower(advice.lowest->cap_bytes, kMoreTries);
  advice.lowest_within = search.lowest(
      [&](const CurvePoint& point) { return Search::works(point) && point.overhead <= max_overhead; });
  advice.curve = search.take();
  advice.knee = knee_of(advice.curve);
  return advice;
}

}  // namespace refrain::simulate
