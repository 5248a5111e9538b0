// See static_scheme.hpp.
#include "simulate/static_scheme.hpp"

#include <algorithm>

#include "simulate/on_paper.hpp"

namespace refrain::simulate {
namespace {

constexpr double kMostTotalOverBase = 2;  // as in the simulated runs

}  // namespace

SchemeRun run_scheme(const planner::Iteration& iteration, std::span<const std::uint32_t> names,
                     const planner::SchemeSettings& settings, const std::function<double()>& seconds,
                     double base_ns) {
  SchemeRun out;
  out.result.base_ns = base_ns;
  out.result.account = Result::Account::kPaper;
  const double began = seconds();
  planner::SchemeSchedule found = planner::schedule_of(iteration, names, settings);
  const double took_ns = (seconds() - began) * 1e9;
  out.result.decisions.add(took_ns / static_cast<double>(std::max<std::size_t>(iteration.ops.size(), 1)));
  out.refusal = std::move(found.refusal);
  if (out.refusal.empty()) add_account(iteration, found.schedule, kMostTotalOverBase, out.result);
  out.schedule = std::move(found.schedule);
  return out;
}

}  // namespace refrain::simulate
