// See batches.hpp.
#include "simulate/batches.hpp"

#include <map>

namespace refrain::simulate {
namespace {

// 0: none.
double largest_of(const std::function<bool(double factor)>& holds) {
  double good = 1, bad = 2;
  if (holds(1)) {
    while (bad <= kMostBatch && holds(bad)) {
      good = bad;
      bad *= 2;
    }
    if (bad > kMostBatch) return good;
  } else {
    do {
      bad = good;
      good /= 2;
      if (good < kLeastBatch) return 0;
    } while (!holds(good));
  }
  while (bad - good > kBatchStep * good) {
    const double middle = (good + bad) / 2;
    (holds(middle) ? good : bad) = middle;
  }
  return good;
}

}  // namespace

Batches find_batches(std::uint64_t memory_bytes, double max_overhead,
                     const std::function<std::uint64_t(double factor)>& peak_bytes,
                     const std::function<Result(double factor)>& run) {
  std::map<double, BatchPoint> tried;
  const auto point = [&](double factor) {
    const auto [place, fresh] = tried.try_emplace(factor);
    if (!fresh) return place->second;
    const Result result = run(factor);
    place->second = {.factor = factor, .outcome = result.outcome};
    if (result.outcome == Outcome::kOk) place->second.overhead = result.total_over_base() - 1;
    return place->second;
  };
  const auto works = [&](double factor) { return point(factor).outcome == Outcome::kOk; };
  Batches out;
  out.memory_bytes = memory_bytes;
  out.plain = largest_of([&](double factor) { return peak_bytes(factor) <= memory_bytes; });
  if (const double factor = largest_of(works); factor > 0) out.largest = point(factor);
  const double within =
      largest_of([&](double factor) { return works(factor) && point(factor).overhead <= max_overhead; });
  if (within > 0) out.largest_within = point(within);
  for (const auto& [factor, tried_point] : tried) out.curve.push_back(tried_point);
  return out;
}

}  // namespace refrain::simulate
