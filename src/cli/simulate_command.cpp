// refrain simulate: what a cap would cost, from a log of what ran. Reading, and one run of the simulator for
// each policy and budget; what a run is, is src/simulate.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "cli/commands.hpp"
#include "cli/progress.hpp"
#include "cli/simulate_request.hpp"
#include "refrain/bytes.hpp"
#include "report/advice.hpp"
#include "report/simulation_table.hpp"
#include "simulate/dtr_log.hpp"
#include "simulate/growth.hpp"
#include "simulate/iteration.hpp"
#include "simulate/planned.hpp"
#include "simulate/record.hpp"
#include "simulate/simulation.hpp"
#include "simulate/static_scheme.hpp"

namespace refrain::cli {
namespace {

namespace fs = std::filesystem;

// Where a plan is followed, what is found must not depend on the machine: so many looks at the progress of a
// search stand for a second of it.
constexpr double kLooksASecond = 20'000;

struct Log {
  simulate::OperatorLog operators;  // of a published log only
  simulate::Trace trace;
};

Log read(const SimulateRequest& request) {
  std::ifstream file(request.log);
  if (!file || fs::is_directory(request.log))
    throw UsageError(kBadInput,
                     fmt::format("log {} cannot be read: no such file, or no permission", request.log));
  try {
    Log log;
    if (request.format == "dtr") {
      log.operators = simulate::read_dtr_log(file, request.log);
      log.trace = simulate::lower(log.operators);
    } else {
      log.trace = simulate::read_record(file, request.log);
    }
    return log;
  } catch (const simulate::LogError& error) {
    throw UsageError(kBadInput, error.what());
  }
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  if (!out.flush()) throw UsageError(kBadInput, fmt::format("{} cannot be written", path));
}

void write(const SimulateRequest& request, const std::string& text, const nlohmann::ordered_json& json) {
  if (request.json_path == "-") {
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{}", text);
  if (!request.json_path.empty()) write_file(request.json_path, json.dump(2) + "\n");
}

// Of this process: how busy the machine is does not change what is found.
double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

struct Subject {
  std::string model;
  Log log;
  simulate::TraceTotals totals;
  planner::Iteration iteration;        // where something is on paper only
  std::vector<std::uint32_t> names;    // of its ops
  std::vector<std::uint32_t> buffers;  // of its values
};

void make_plannable(const std::string& name, Subject& subject) {
  subject.iteration = simulate::iteration_of(subject.log.trace, &subject.names, &subject.buffers);
  const std::string problem = planner::problem_of(subject.iteration);
  if (!problem.empty())
    throw UsageError(kBadInput, fmt::format("{}: it cannot be planned: {}; accepted are logs in which each "
                                            "value is written before it is read",
                                            name, problem));
}

Subject subject_of(const SimulateRequest& request) {
  Subject subject{.model = fs::path(request.log).stem().string(),
                  .log = read(request),
                  .totals = {},
                  .iteration = {},
                  .names = {},
                  .buffers = {}};
  subject.totals = simulate::totals_of(subject.log.trace);
  if (subject.totals.peak_bytes == 0 || subject.totals.compute_ns == 0)
    throw UsageError(kBadInput,
                     fmt::format("{}: nothing in it takes memory and time; accepted are logs in which "
                                 "something does",
                                 request.log));
  if ((is_planned(request) && request.format == "dtr") || !schemes_of(request).empty())
    make_plannable(request.log, subject);
  return subject;
}

simulate::SimulationSettings settings_of(const SimulateRequest& request, const Subject& subject,
                                         std::uint64_t cap_bytes) {
  return {.engine = {.cap_bytes = cap_bytes, .granularity_bytes = subject.log.trace.page_bytes},
          .times = request.call_ns.empty() ? simulate::DeviceTimes{} : parse_call_ns(request.call_ns),
          .planning = nullptr,
          .directions = nullptr};
}

simulate::Result run(const SimulateRequest& request, const Subject& subject, std::string_view policy,
                     std::uint64_t cap_bytes) {
  const double plan_seconds = parse_plan_seconds(request.plan_seconds);
  simulate::SimulationSettings settings = settings_of(request, subject, cap_bytes);
  if (policy == kPlanned && request.format == "trace") {
    guide::CountedPlanning planning({.improving = static_cast<std::uint64_t>(plan_seconds * kLooksASecond)});
    settings.planning = &planning;
    return simulate::simulate(subject.log.trace, settings);
  }
  if (policy == kPlanned) {
    // Advice tries more than ten caps that may have no plan, each for as long as this.
    const double first_seconds = request.advise ? std::max(1.0, plan_seconds) : 10;
    return simulate::run_planned(subject.iteration, {.cap_bytes = cap_bytes,
                                                     .seconds = processor_seconds,
                                                     .first_plan_seconds = first_seconds,
                                                     .improvement_seconds = plan_seconds,
                                                     .base_ns = subject.totals.compute_ns});
  }
  const auto place = std::find(engine::kPolicyNames.begin(), engine::kPolicyNames.end(), policy);
  const auto kind = static_cast<engine::PolicyKind>(place - engine::kPolicyNames.begin());
  if (request.runtime == "published")
    return simulate::run_published(
        subject.log.operators,
        {.policy = kind, .deallocation = deallocation_of(request), .budget_bytes = cap_bytes});
  settings.engine.policy = kind;
  return simulate::simulate(subject.log.trace, settings);
}

// None with the published runtime, whose logs of operators are not scaled.
report::MaybeBatches batches_of(const SimulateRequest& request, const Subject& subject, double max_overhead,
                                Progress& progress) {
  if (request.runtime == "published" ||
      !planner::problem_of(simulate::iteration_of(subject.log.trace)).empty())
    return std::nullopt;
  const std::vector<bool> grows = simulate::growing_buffers(subject.log.trace);
  const auto peak_bytes = [&](double factor) {
    return simulate::totals_of(simulate::scaled(subject.log.trace, grows, factor)).peak_bytes;
  };
  const std::uint64_t peak = subject.totals.peak_bytes;
  const std::uint64_t memory_bytes = request.limits.empty() ? peak : caps_of(request, peak)[0].bytes;
  simulate::Batches batches =
      simulate::find_batches(memory_bytes, max_overhead, peak_bytes, [&](double factor) {
        progress.step(fmt::format("{} {} batch {:.2f}", subject.model, request.policies[0], factor));
        Subject larger{.model = subject.model,
                       .log = {.operators = {}, .trace = simulate::scaled(subject.log.trace, grows, factor)},
                       .totals = {},
                       .iteration = {},
                       .names = {},
                       .buffers = {}};
        larger.totals = simulate::totals_of(larger.log.trace);
        if (is_planned(request) && request.format == "dtr")
          larger.iteration = simulate::iteration_of(larger.log.trace);
        return run(request, larger, request.policies[0], memory_bytes);
      });
  batches.growing_part = static_cast<double>(peak_bytes(2) - peak) / static_cast<double>(peak);
  return batches;
}

void advise(const SimulateRequest& request, const Subject& subject) {
  const report::AdviceHead head{.model = subject.model, .policy = request.policies[0]};
  const double max_overhead = request.max_overhead.empty() ? 0.1 : parse_overhead(request.max_overhead);
  constexpr std::size_t kUsualRuns = 70;  // twentieths of caps, halvings, ten more twice; batches
  Progress progress(kUsualRuns);
  const simulate::Advice advice =
      simulate::advise(subject.totals.peak_bytes, max_overhead, [&](std::uint64_t cap_bytes) {
        progress.step(fmt::format("{} {} {}", head.model, head.policy, format_bytes(cap_bytes)));
        return run(request, subject, head.policy, cap_bytes);
      });
  const report::MaybeBatches batches = batches_of(request, subject, max_overhead, progress);
  progress.finish();
  write(request, report::to_text(head, advice, batches), report::to_json(head, advice, batches));
  if (!request.svg_path.empty()) write_file(request.svg_path, report::to_svg(head, advice, batches));
}

// Only asked for by "all": left out where it cannot be computed, with a line.
void add_scheme(const SimulateRequest& request, const Subject& subject, planner::Scheme scheme,
                std::vector<report::SimulationRow>& rows) {
  const std::string name(planner::kSchemeNames[static_cast<std::size_t>(scheme)]);
  const simulate::SchemeRun found = simulate::run_scheme(
      subject.iteration, subject.names, scheme_settings(request, scheme, subject.log.trace.names),
      processor_seconds, subject.totals.compute_ns);
  if (!found.refusal.empty()) {
    const std::string line =
        fmt::format("--policy={} cannot be computed for {}: {}", name, request.log, found.refusal);
    if (std::find(request.policies.begin(), request.policies.end(), name) != request.policies.end())
      throw UsageError(kBadInput, line);
    fmt::print(stderr, "refrain: {}\n", line);
    return;
  }
  rows.push_back({.model = subject.model,
                  .policy = name,
                  .budget_ratio = static_cast<double>(found.result.peak_bytes) /
                                  static_cast<double>(subject.totals.peak_bytes),
                  .limit_bytes = found.result.peak_bytes,
                  .has_device_time = false,
                  .result = found.result});
  if (request.runtime != "engine") return;
  // In as much memory, rounded up to pages: the engine counts whole ones.
  const simulate::Directions directions{
      .iteration = subject.iteration, .buffers = subject.buffers, .schedule = found.schedule};
  simulate::SimulationSettings settings = settings_of(request, subject, found.result.peak_bytes);
  settings.directions = &directions;
  report::SimulationRow row = rows.back();
  row.result = simulate::simulate(subject.log.trace, settings);
  row.has_device_time = !request.call_ns.empty();
  rows.push_back(std::move(row));
}

int simulate_log(SimulateRequest& request) {
  fill_defaults(request);
  check(request);
  const Subject subject = subject_of(request);
  if (request.advise) {
    advise(request, subject);
    return 0;
  }
  std::vector<std::string_view> names;
  for (const engine::PolicyKind policy : policies_of(request))
    names.push_back(engine::kPolicyNames[static_cast<std::size_t>(policy)]);
  if (is_planned(request)) names.push_back(kPlanned);
  const std::vector<Cap> caps = caps_of(request, subject.totals.peak_bytes);
  std::vector<report::SimulationRow> rows;
  for (const planner::Scheme scheme : schemes_of(request)) add_scheme(request, subject, scheme, rows);
  Progress progress(names.size() * caps.size());
  for (const std::string_view name : names) {
    for (const Cap& cap : caps) {
      report::SimulationRow row{.model = subject.model,
                                .policy = std::string(name),
                                .budget_ratio = cap.ratio,
                                .limit_bytes = cap.bytes,
                                .has_device_time = false,
                                .result = {}};
      progress.step(fmt::format("{} {} {:.3f}", row.model, row.policy, row.budget_ratio));
      row.result = run(request, subject, name, cap.bytes);
      row.has_device_time =
          !request.call_ns.empty() && row.result.account != simulate::Result::Account::kPaper;
      rows.push_back(row);
    }
  }
  progress.finish();
  write(request, report::to_text(rows), report::to_json(rows));
  return 0;
}

}  // namespace

Action add_simulate(CLI::App& app) {
  CLI::App* command = app.add_subcommand("simulate", "Say what a cap would cost, from a log of what ran");
  const auto request = std::make_shared<SimulateRequest>();
  add_options(*command, *request);
  return [request] { return simulate_log(*request); };
}

}  // namespace refrain::cli
