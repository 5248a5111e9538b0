// What the engine tells the session: lines of the log and the record, and words for the terminal. Must not
// change anything that the engine decides.
#include <fmt/format.h>

#include <utility>

#include "preload/session.hpp"
#include "refrain/bytes.hpp"

namespace refrain::preload {

std::string Session::name_of(const std::optional<engine::Payload>& payload) const {
  return payload ? std::string(runtime_->name_of(*payload)) : std::string();
}

std::uint64_t Session::held_bytes() const {
  return runtime_->engine()->memory().held_bytes();
}
std::uint64_t Session::away_bytes() const {
  return runtime_->engine()->away_bytes();
}

void Session::on_buffer(engine::BufferId buffer, engine::Bytes bytes, bool stays) {
  if (record_.is_open())
    record_.buffer(buffer, bytes, runtime_->engine()->memory().buffer(buffer).extent_bytes - bytes, stays);
  renew_metrics(false);
}

void Session::on_free(engine::BufferId buffer) {
  record_.free(buffer);
  renew_metrics(false);
}

void Session::on_op(std::span<const engine::BufferUse> uses, bool replayable, std::uint32_t cost_class,
                    engine::Payload payload) {
  if (!record_.is_open()) return;
  if (replayable && record_.is_new(cost_class))
    record_.name(cost_class, std::string(runtime_->name_of(payload)));
  record_.op(uses, replayable, cost_class);
}

void Session::on_barrier() {
  record_.barrier();
}

void Session::on_cost(std::uint32_t cost_class, double ns) {
  record_.cost(cost_class, ns);
}

void Session::on_evict(const engine::Eviction& e) {
  log_.write(event::Evict{.buffer = e.buffer.index,
                          .bytes = e.bytes,
                          .need_bytes = e.need_bytes,
                          .free_bytes = e.free_bytes,
                          .score = e.score,
                          .runner_up_score = e.runner_up_score,
                          .candidates = e.candidates,
                          .idle_ns = whole_ns(e.idle_ns),
                          .leave = e.leave == engine::Leave::kOffload ? "offload"
                                   : e.on_probation                   ? "probation"
                                                                      : "drop",
                          .copied_bytes = e.copied_bytes,
                          .op = name_of(e.payload),
                          .held_bytes = held_bytes(),
                          .away_bytes = away_bytes()});
  renew_metrics(false);
}

// Rounded so that the events add up to what the end says.
std::uint64_t Session::next_ns(double ns) {
  replayed_ns_ += ns;
  const std::uint64_t told = std::exchange(told_ns_, whole_ns(replayed_ns_));
  return told_ns_ - told;
}

void Session::on_rematerialise(const engine::Rematerialisation& r) {
  log_.write(event::Rematerialise{.buffer = r.buffer.index,
                                  .bytes = r.bytes,
                                  .ops = r.ops,
                                  .cost_ns = next_ns(r.cost_ns),
                                  .from_host = r.from_host ? 1u : 0u,
                                  .compared = r.compared ? 1u : 0u,
                                  .op = name_of(r.payload),
                                  .held_bytes = held_bytes(),
                                  .away_bytes = away_bytes()});
  renew_metrics(false);
}

void Session::on_save(const engine::Saved& saved) {
  constexpr const char* kMeans[] = {"aside", "offload", "recompute"};
  log_.write(event::Save{.buffer = saved.buffer.index,
                         .bytes = saved.bytes,
                         .means = kMeans[static_cast<std::size_t>(saved.means)],
                         .dependents = saved.dependents});
}

void Session::on_mismatch(const engine::Mismatch& m) {
  const std::string op =
      m.kernel == engine::kNoKernel ? "a copy from the host" : runtime_->describe(m.payload);
  const auto hex = [](const engine::Digest& digest) {
    return fmt::format("{:016x}{:016x}", digest.high, digest.low);
  };
  const event::Mismatch mismatch{.buffer = m.buffer.index,
                                 .bytes = m.bytes,
                                 .op = op,
                                 .expected = hex(m.expected),
                                 .found = hex(m.found),
                                 .repaired = m.repaired ? 1u : 0u};
  log_.write(mismatch);
  say(m.repaired ? 1 : 0,
      fmt::format(
          "{}: {} computed again differ from what they were; {}", op, format_bytes(m.bytes),
          m.repaired ? "put right from the copy on the host, and the kernel is never replayed again"
          : options_.on_mismatch.value == engine::OnMismatch::kFail
              ? "there is no copy of them: the program gets an error (REFRAIN_ON_MISMATCH)"
              : "there is no copy of them: the program goes on with WRONG BYTES (REFRAIN_ON_MISMATCH)"));
}

void Session::on_thrash(const engine::Thrashing& t) {
  log_.write(event::Thrash{.replayed_ns = whole_ns(t.replayed_ns), .program_ns = whole_ns(t.program_ns)});
  say(1, fmt::format(
             "recomputation takes {:.0f} % of the device's time: raise the limit, or give REFRAIN_OFFLOAD "
             "room (REFRAIN_HOST_LIMIT); policy {} (REFRAIN_ON_THRASH)",
             100 * t.replayed_ns / (t.replayed_ns + t.program_ns), options_.on_thrash.text));
}

void Session::on_out_of_memory(const engine::OutOfMemory& report) {
  log_.write(event::Oom{.asked_bytes = report.asked_bytes,
                        .used_bytes = report.used_bytes,
                        .limit_bytes = report.cap_bytes,
                        .evictable_bytes = report.evictable_bytes,
                        .pinned_bytes = report.pinned_bytes,
                        .host_bytes = report.host_bytes});
  say(1, fmt::format("out of memory: asked {}, in use {}, limit {}, evictable {}, pinned {} (needed by this "
                     "very op, or never "
                     "evicted: docs/limits.md); raise the limit",
                     format_bytes(report.asked_bytes), format_bytes(report.used_bytes),
                     format_bytes(report.cap_bytes), format_bytes(report.evictable_bytes),
                     format_bytes(report.pinned_bytes)));
}

}  // namespace refrain::preload
