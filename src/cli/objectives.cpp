// See objectives.hpp.
#include "cli/objectives.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/commands.hpp"
#include "cli/simulate_request.hpp"
#include "planner/iteration.hpp"
#include "refrain/bytes.hpp"
#include "report/metrics.hpp"
#include "simulate/iteration.hpp"
#include "simulate/planned.hpp"
#include "simulate/record.hpp"
#include "simulate/simulation.hpp"

namespace refrain::cli {
namespace {

namespace fs = std::filesystem;

std::optional<std::uint64_t> max_limit_of(const Objectives& objectives) {
  if (objectives.max_limit.empty()) return std::nullopt;
  const std::optional<std::uint64_t> bytes = parse_bytes(objectives.max_limit);
  if (!bytes || *bytes == 0)
    throw UsageError(kBadInput, fmt::format("--max-limit={} is not understood; accepted: {}",
                                            objectives.max_limit, kByteForms));
  return bytes;
}

simulate::Trace read(const std::string& path) {
  std::ifstream file(path);
  if (!file || fs::is_directory(path))
    throw UsageError(kBadInput,
                     fmt::format("record {} cannot be read: no such file, or no permission", path));
  try {
    return simulate::read_record(file, path);
  } catch (const simulate::LogError& error) {
    throw UsageError(kBadInput, error.what());
  }
}

// At the progress of a search for a plan: about two seconds of it, on any machine.
constexpr std::uint64_t kLooks = 40'000;

// What a run measures: a launch, and 16 lanes of PCIe 4.0.
constexpr engine::TransferCost kHostCopy = {.fixed_ns = 3000, .ns_per_byte = 0.04};

// Values that go to the host count for nothing as overhead, but have a price when it is decided what goes.
simulate::Result simulated(const simulate::Trace& trace, const options::Options& options,
                           std::uint64_t limit_bytes, double most_total_over_base) {
  const std::string& policy = options.policy.text;
  const auto name = std::find(engine::kPolicyNames.begin(), engine::kPolicyNames.end(), policy);
  const auto kind = name == engine::kPolicyNames.end() ? 0 : name - engine::kPolicyNames.begin();
  guide::CountedPlanning planning({.improving = kLooks});
  const options::HostLimit& host = options.host_limit.value;
  const engine::Bytes host_bytes = host.kind == options::Limit::Kind::kOff     ? 0
                                   : host.kind == options::Limit::Kind::kBytes ? host.bytes
                                                                               : engine::kNoCap;
  return simulate::simulate(trace, {.engine = {.cap_bytes = limit_bytes,
                                               .host_cap_bytes = host_bytes,
                                               .granularity_bytes = trace.page_bytes,
                                               .policy = static_cast<engine::PolicyKind>(kind),
                                               .offload = options.offload.value,
                                               .verify = options.verify.value},
                                    .times = {.host_copy = kHostCopy, .mapping = engine::kAssumedMapping},
                                    .most_total_over_base = most_total_over_base,
                                    .planning = policy == kPlanned ? &planning : nullptr});
}

}  // namespace

void add_options(CLI::App& command, Objectives& objectives) {
  command.add_option(
      "--max-overhead", objectives.max_overhead,
      "an objective: at most so much device time of recomputation, of the program's own: 10%; the "
      "summary says whether it was met");
  command.add_option("--max-limit", objectives.max_limit,
                     "an objective: at most so much device memory: 8GiB; the limit, where none is given");
  command.add_option(
      "--trace", objectives.record,
      "a record of the same program (--record): where it says that the objectives cannot be met, "
      "the program is not started");
}

void settle_objectives(const Objectives& objectives, options::Options& options) {
  if (!objectives.max_overhead.empty()) parse_overhead(objectives.max_overhead);
  if (!objectives.record.empty() && !objectives.any())
    throw UsageError(kBadInput,
                     "--trace is looked at for objectives; accepted with --max-overhead or --max-limit");
  const std::optional<std::uint64_t> most = max_limit_of(objectives);
  if (!most) return;
  const options::DeviceLimit& limits = options.limit.value;
  const auto above = [&](const options::Limit& limit) {
    return limit.kind == options::Limit::Kind::kBytes && limit.bytes > *most;
  };
  const bool one_above = std::any_of(limits.devices.begin(), limits.devices.end(), [&](const auto& device) {
    return above(device.second) || device.second.kind == options::Limit::Kind::kOff;
  });
  if (above(limits.any) || one_above)
    throw UsageError(kBadInput, fmt::format("--limit={} is more than --max-limit={}; accepted: at most that",
                                            options.limit.text, objectives.max_limit));
  if (!limits.is_set())
    options::set(options, "REFRAIN_LIMIT", objectives.max_limit, options::Source::kFlag, "--max-limit");
}

void check_objectives(const Objectives& objectives, const options::Options& options,
                      std::optional<std::uint64_t> limit_bytes, bool quiet) {
  if (!objectives.any()) return;
  const std::optional<std::uint64_t> most = max_limit_of(objectives);
  if (limit_bytes && most && *limit_bytes > *most)
    throw UsageError(kBadInput,
                     fmt::format("the limit is {}, more than --max-limit={}; accepted: at most that",
                                 format_bytes(*limit_bytes), objectives.max_limit));
  if (objectives.record.empty()) {
    if (!quiet)
      fmt::print(stderr,
                 "refrain: objectives are not checked before the run: that takes a record (--trace FILE)\n");
    return;
  }
  if (!limit_bytes)
    throw UsageError(kBadInput,
                     "the limit is not known before the run; accepted with --trace: a size, or a "
                     "percentage with --measure");
  const double most_overhead =
      objectives.max_overhead.empty() ? 1e3 : parse_overhead(objectives.max_overhead);
  const simulate::Result result =
      simulated(read(objectives.record), options, *limit_bytes, 1.01 * (1 + most_overhead));
  const bool fits = result.outcome != simulate::Outcome::kOutOfMemory;
  const bool ended = result.outcome == simulate::Outcome::kOk;
  if (fits && (objectives.max_overhead.empty() || result.base_ns <= 0)) return;
  if (ended && result.total_over_base() - 1 <= most_overhead) return;
  const std::string why = !fits ? "it runs out of memory"
                          : !ended
                              ? fmt::format("its overhead is above {}", objectives.max_overhead)
                              : fmt::format("its overhead is {:.1f} %, above {}",
                                            100 * (result.total_over_base() - 1), objectives.max_overhead);
  throw UsageError(kBadInput,
                   fmt::format("the objectives cannot be met: by {}, in {} with policy {}, {}; which caps "
                               "do: refrain simulate --advise {}",
                               objectives.record, format_bytes(*limit_bytes), options.policy.text, why,
                               objectives.record));
}

Totals::Totals(const Objectives& objectives, std::map<std::string, std::string>& variables)
    : objectives_(objectives) {
  if (!objectives.any()) return;
  std::string& metrics = variables["REFRAIN_METRICS"];
  if (!metrics.empty()) {
    file_ = metrics;
    return;
  }
  if (folder_.emplace("totals").path().empty()) return;  // then it is not known
  metrics = (folder_->path() / "%p").string();
}

std::string Totals::verdict() const {
  std::vector<std::string> files;
  std::error_code error;
  if (!folder_)
    files.push_back(file_);
  else
    for (const auto& entry : fs::directory_iterator(folder_->path(), error))
      files.push_back(entry.path().string());
  double overhead = 0;
  std::uint64_t peak_bytes = 0;
  bool known = false;
  for (const std::string& file : files) {
    std::ifstream in(file);
    const std::map<std::string, std::uint64_t> metrics = report::from_metrics(in);
    const auto replayed = metrics.find("refrain_replayed_ns_total");
    const auto own = metrics.find("refrain_program_ns_total");
    const auto peak = metrics.find("refrain_peak_bytes");
    if (replayed == metrics.end() || own == metrics.end() || peak == metrics.end()) continue;
    known = true;
    if (own->second > 0)
      overhead = std::max(overhead, static_cast<double>(replayed->second) / static_cast<double>(own->second));
    peak_bytes = std::max(peak_bytes, peak->second);
  }
  if (!known) return "refrain: objectives: not known whether met, the program left no totals";
  std::string text;
  bool met = true;
  if (!objectives_.max_overhead.empty()) {
    met &= overhead <= parse_overhead(objectives_.max_overhead);
    text += fmt::format("; overhead {:.1f} %, at most {}", 100 * overhead, objectives_.max_overhead);
  }
  if (const std::optional<std::uint64_t> most = max_limit_of(objectives_)) {
    met &= peak_bytes <= *most;
    text += fmt::format("; held {} at most, of {}", format_bytes(peak_bytes), objectives_.max_limit);
  }
  return fmt::format("refrain: objectives {}{}", met ? "met" : "NOT met", text);
}

}  // namespace refrain::cli
