// Must say what the library's own counters would have said of the same events.
#include "report/totals.hpp"

#include <algorithm>

namespace refrain::report {

void add_to_totals(event::End& totals, const trace::Event& event) {
  if (const auto* evict = std::get_if<event::Evict>(&event)) {
    ++totals.evictions;
    totals.evicted_bytes += evict->bytes;
    totals.offloads += evict->copied_bytes != 0 ? 1 : 0;
    totals.offloaded_bytes += evict->copied_bytes;
    totals.peak_bytes = std::max(totals.peak_bytes, evict->held_bytes);
    totals.wanted_bytes = std::max(totals.wanted_bytes, evict->held_bytes + evict->away_bytes);
  } else if (const auto* back = std::get_if<event::Rematerialise>(&event)) {
    ++totals.rematerialisations;
    totals.replayed_ops += back->ops;
    totals.replayed_ns += back->cost_ns;
    totals.compared += back->compared;
    totals.peak_bytes = std::max(totals.peak_bytes, back->held_bytes);
    totals.restores += back->from_host;
    totals.restored_bytes += back->from_host != 0 ? back->bytes : 0;
  } else if (const auto* mismatch = std::get_if<event::Mismatch>(&event)) {
    ++totals.mismatches;
    ++totals.compared;
    totals.unrepaired += mismatch->repaired != 0 ? 0 : 1;
  } else if (std::holds_alternative<event::Thrash>(event)) {
    ++totals.thrashing_windows;
  } else if (const auto* oom = std::get_if<event::Oom>(&event)) {
    ++totals.oom;
    totals.limit_bytes = oom->limit_bytes;
    totals.peak_bytes = std::max(totals.peak_bytes, oom->used_bytes);
  }
}

}  // namespace refrain::report
