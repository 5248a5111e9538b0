// Sums over a trace. Must not judge what a runtime would do with it.
#include "simulate/trace.hpp"

#include <algorithm>

namespace refrain::simulate {

TraceTotals totals_of(const Trace& trace) {
  TraceTotals totals;
  std::vector<bool> live(trace.buffers.size());
  std::uint64_t live_bytes = 0;
  for (const TraceStep& step : trace.steps) {
    if (step.kind == TraceStep::Kind::kFree) {
      if (live[step.index]) live_bytes -= trace.buffers[step.index].bytes;
      live[step.index] = false;
      continue;
    }
    if (step.kind != TraceStep::Kind::kOp) continue;
    const TraceOp& op = trace.ops[step.index];
    totals.compute_ns += op.cost_ns;
    std::uint64_t touched_bytes = 0;
    for (const TraceUse& use : trace.uses(op)) {
      touched_bytes += trace.buffers[use.buffer].bytes;
      if (live[use.buffer]) continue;
      live[use.buffer] = true;
      live_bytes += trace.buffers[use.buffer].bytes;
    }
    totals.peak_bytes = std::max(totals.peak_bytes, live_bytes);
    totals.largest_op_bytes = std::max(totals.largest_op_bytes, touched_bytes);
  }
  return totals;
}

}  // namespace refrain::simulate
