// refrain simulate: what a cap would cost, from a log of what ran. Reading, and one run of the simulator for
// each policy and budget; what a run is, is src/simulate.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "cli/commands.hpp"
#include "cli/progress.hpp"
#include "refrain/bytes.hpp"
#include "report/advice.hpp"
#include "report/simulation_table.hpp"
#include "simulate/dtr_log.hpp"
#include "simulate/iteration.hpp"
#include "simulate/planned.hpp"
#include "simulate/published.hpp"
#include "simulate/record.hpp"
#include "simulate/simulation.hpp"

namespace refrain::cli {
namespace {

namespace fs = std::filesystem;

struct Request {
  std::string log;
  std::string format = "trace";
  std::vector<std::string> budgets;
  std::vector<std::string> limits;
  std::vector<std::string> policies = {"dtr"};
  std::string deallocation = "eager";
  std::string runtime = "engine";
  std::string plan_seconds = "2";
  std::string json_path;
  bool advise = false;
  std::string max_overhead;  // empty: 10%
  std::string svg_path;
};

constexpr const char* kPlanned = "planned";
// Where a plan is followed, what is found must not depend on the machine: so many looks at the progress of a
// search stand for a second of it.
constexpr double kLooksASecond = 20'000;

struct Cap {
  double ratio;
  std::uint64_t bytes;
};

double parse_budget(const std::string& text) {
  std::size_t used = 0;
  double ratio = 0;
  try {
    ratio = std::stod(text, &used);
  } catch (const std::logic_error&) {
    used = 0;
  }
  if (used == 0 || used != text.size() || !(ratio > 0) || ratio > 1) {
    throw UsageError(kBadInput,
                     fmt::format("--budget={} is not understood; accepted: above 0, at most 1, of what the "
                                 "run takes where nothing limits it: 0.5",
                                 text));
  }
  return ratio;
}

std::vector<Cap> caps_of(const Request& request, std::uint64_t peak_bytes) {
  std::vector<Cap> caps;
  const auto peak = static_cast<double>(peak_bytes);
  for (const std::string& text : request.budgets) {
    const double ratio = parse_budget(text);
    caps.push_back({ratio, static_cast<std::uint64_t>(std::floor(peak * ratio))});
  }
  for (const std::string& text : request.limits) {
    const std::optional<std::uint64_t> bytes = parse_bytes(text);
    if (!bytes || *bytes == 0)
      throw UsageError(kBadInput,
                       fmt::format("--limit={} is not understood; accepted: {}", text, kByteForms));
    caps.push_back({static_cast<double>(*bytes) / peak, *bytes});
  }
  if (!caps.empty()) return caps;
  for (int tenths = 10; tenths > 0; --tenths) {
    const double ratio = tenths / 10.0;
    caps.push_back({ratio, static_cast<std::uint64_t>(std::floor(peak * ratio))});
  }
  return caps;
}

std::vector<engine::PolicyKind> policies_of(const Request& request) {
  std::vector<engine::PolicyKind> policies;
  for (std::size_t i = 0; i < engine::kPolicyNames.size(); ++i) {
    for (const std::string& name : request.policies) {
      if (name != "all" && name != engine::kPolicyNames[i]) continue;
      policies.push_back(static_cast<engine::PolicyKind>(i));
      break;
    }
  }
  return policies;
}

// With all: where its rule of deallocation is the one asked for.
bool is_planned(const Request& request) {
  return std::any_of(request.policies.begin(), request.policies.end(), [&](const std::string& name) {
    return name == kPlanned || (name == "all" && request.deallocation == "eager");
  });
}

simulate::Deallocation deallocation_of(const Request& request) {
  if (request.deallocation == "banish") return simulate::Deallocation::kBanish;
  if (request.deallocation == "ignore") return simulate::Deallocation::kIgnore;
  return simulate::Deallocation::kEager;
}

// 0 or more and finite, nothing left over.
std::optional<double> parse_number(std::string_view text) {
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool all = error == std::errc() && rest == text.data() + text.size();
  return all && number >= 0 && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

// As a part: 0.1 of "10%".
double parse_overhead(std::string_view text) {
  const std::optional<double> percent =
      text.ends_with('%') ? parse_number(text.substr(0, text.size() - 1)) : std::nullopt;
  if (!percent)
    throw UsageError(kBadInput,
                     fmt::format("--max-overhead={} is not understood; accepted: compute beyond what the run "
                                 "takes where nothing limits it, 0% or more: 10%",
                                 text));
  return *percent / 100;
}

double parse_plan_seconds(std::string_view text) {
  const std::optional<double> seconds = parse_number(text);
  if (!seconds)
    throw UsageError(
        kBadInput, fmt::format("--plan-seconds={} is not understood; accepted: 0 or more seconds: 2", text));
  return *seconds;
}

// Nothing that is there is touched before all is known to be in order.
void check_writable(const std::string& path) {
  if (path.empty() || path == "-") return;
  fs::path folder = fs::path(path).parent_path();
  if (folder.empty()) folder = ".";
  if (fs::is_directory(path))
    throw UsageError(kBadInput,
                     fmt::format("{} cannot be written: it is a folder; accepted is a file", path));
  if (!fs::is_directory(folder) || ::access(folder.c_str(), W_OK) != 0)
    throw UsageError(kBadInput, fmt::format("{} cannot be written: folder {} {}", path, folder.string(),
                                            fs::is_directory(folder) ? "is not writable" : "does not exist"));
}

void check_advice(const Request& request) {
  if (!request.advise) {
    const char* const option = !request.max_overhead.empty() ? "--max-overhead" : "--svg";
    if (!request.max_overhead.empty() || !request.svg_path.empty())
      throw UsageError(kBadInput, fmt::format("{} belongs to advice; accepted with --advise", option));
    return;
  }
  if (!request.budgets.empty() || !request.limits.empty())
    throw UsageError(kBadInput, "--advise chooses the caps itself; accepted without --budget and --limit");
  if (request.policies.size() != 1 || request.policies[0] == "all")
    throw UsageError(kBadInput, "--advise is about one policy; accepted: --policy with one name, not all");
  if (!request.max_overhead.empty()) parse_overhead(request.max_overhead);
}

void check(const Request& request, const std::vector<engine::PolicyKind>& policies) {
  check_advice(request);
  if (request.runtime == "engine" && request.deallocation != "eager")
    throw UsageError(kBadInput,
                     fmt::format("--deallocation={} is a rule of the published runtime; accepted with "
                                 "--runtime engine is eager",
                                 request.deallocation));
  if (is_planned(request) && request.deallocation != "eager")
    throw UsageError(
        kBadInput, fmt::format("--policy=planned keeps nothing that is not read again, and --deallocation={} "
                               "would; accepted with it is eager",
                               request.deallocation));
  parse_plan_seconds(request.plan_seconds);
  if (request.runtime == "published" && request.format != "dtr")
    throw UsageError(kBadInput,
                     "--runtime=published needs tensors and their views; accepted is --format dtr");
  for (const engine::PolicyKind policy : policies) {
    if (simulate::is_defined(policy, deallocation_of(request))) continue;
    throw UsageError(kBadInput,
                     fmt::format("--policy={} is not defined where storages are banished; accepted: dtr, "
                                 "dtr_local, lru, size, random",
                                 engine::kPolicyNames[static_cast<std::size_t>(policy)]));
  }
  check_writable(request.json_path);
  check_writable(request.svg_path);
}

struct Log {
  simulate::OperatorLog operators;  // of a published log only
  simulate::Trace trace;
};

Log read(const Request& request) {
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

void write(const Request& request, const std::string& text, const nlohmann::ordered_json& json) {
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

planner::Iteration plannable(const std::string& name, const simulate::Trace& trace) {
  planner::Iteration iteration = simulate::iteration_of(trace);
  const std::string problem = planner::problem_of(iteration);
  if (!problem.empty())
    throw UsageError(kBadInput, fmt::format("{}: it cannot be planned: {}; accepted are logs in which each "
                                            "value is written before it is read",
                                            name, problem));
  return iteration;
}

struct Subject {
  std::string model;
  Log log;
  simulate::TraceTotals totals;
  planner::Iteration iteration;  // where something is planned
};

Subject subject_of(const Request& request) {
  Subject subject{
      .model = fs::path(request.log).stem().string(), .log = read(request), .totals = {}, .iteration = {}};
  subject.totals = simulate::totals_of(subject.log.trace);
  if (subject.totals.peak_bytes == 0 || subject.totals.compute_ns == 0)
    throw UsageError(kBadInput,
                     fmt::format("{}: nothing in it takes memory and time; accepted are logs in which "
                                 "something does",
                                 request.log));
  if (is_planned(request)) subject.iteration = plannable(request.log, subject.log.trace);
  return subject;
}

simulate::Result run(const Request& request, const Subject& subject, std::string_view policy,
                     std::uint64_t cap_bytes) {
  const double plan_seconds = parse_plan_seconds(request.plan_seconds);
  if (policy == kPlanned && request.format == "trace") {
    guide::CountedPlanning planning({.improving = static_cast<std::uint64_t>(plan_seconds * kLooksASecond)});
    return simulate::simulate(
        subject.log.trace,
        {.engine = {.cap_bytes = cap_bytes, .granularity_bytes = 1}, .times = {}, .planning = &planning});
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
  return simulate::simulate(subject.log.trace,
                            {.engine = {.cap_bytes = cap_bytes, .granularity_bytes = 1, .policy = kind},
                             .times = {},
                             .planning = nullptr});
}

void advise(const Request& request, const Subject& subject) {
  const report::AdviceHead head{.model = subject.model, .policy = request.policies[0]};
  const double max_overhead = request.max_overhead.empty() ? 0.1 : parse_overhead(request.max_overhead);
  constexpr std::size_t kUsualCaps = 50;  // twentieths, halvings, and ten more twice
  Progress progress(kUsualCaps);
  const simulate::Advice advice =
      simulate::advise(subject.totals.peak_bytes, max_overhead, [&](std::uint64_t cap_bytes) {
        progress.step(fmt::format("{} {} {}", head.model, head.policy, format_bytes(cap_bytes)));
        return run(request, subject, head.policy, cap_bytes);
      });
  progress.finish();
  write(request, report::to_text(head, advice), report::to_json(head, advice));
  if (!request.svg_path.empty()) write_file(request.svg_path, report::to_svg(head, advice));
}

int simulate_log(const Request& request) {
  const std::vector<engine::PolicyKind> policies = policies_of(request);
  check(request, policies);
  const Subject subject = subject_of(request);
  if (request.advise) {
    advise(request, subject);
    return 0;
  }
  std::vector<std::string_view> names;
  for (const engine::PolicyKind policy : policies)
    names.push_back(engine::kPolicyNames[static_cast<std::size_t>(policy)]);
  if (is_planned(request)) names.push_back(kPlanned);
  const std::vector<Cap> caps = caps_of(request, subject.totals.peak_bytes);
  std::vector<report::SimulationRow> rows;
  Progress progress(names.size() * caps.size());
  for (const std::string_view name : names) {
    for (const Cap& cap : caps) {
      report::SimulationRow row{.model = subject.model,
                                .policy = std::string(name),
                                .budget_ratio = cap.ratio,
                                .limit_bytes = cap.bytes,
                                .result = {}};
      progress.step(fmt::format("{} {} {:.3f}", row.model, row.policy, row.budget_ratio));
      row.result = run(request, subject, name, cap.bytes);
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
  const auto request = std::make_shared<Request>();
  std::vector<std::string> policies(engine::kPolicyNames.begin(), engine::kPolicyNames.end());
  policies.insert(policies.end(), {kPlanned, "all"});
  command->add_option("log", request->log, "the log")->required();
  command
      ->add_option("--format", request->format,
                   "trace: what refrain run --record wrote; dtr: a log published with DTR")
      ->check(CLI::IsMember({"trace", "dtr"}))
      ->capture_default_str();
  command->add_option("--budget", request->budgets,
                      "parts of the memory that the run takes where nothing limits it: 0.5; without this and "
                      "--limit: 1.0, 0.9 and so on to 0.1");
  command->add_option("--limit", request->limits, "the same as sizes: 8GiB, 512MiB");
  command
      ->add_option(
          "--policy", request->policies,
          "what is evicted first; planned: a plan of the iteration that repeats is followed (of a log "
          "published "
          "with DTR: the plan's own account on paper; choice: planning time by op); all: each of them")
      ->check(CLI::IsMember(policies))
      ->capture_default_str();
  command
      ->add_option("--deallocation", request->deallocation,
                   "what becomes of memory that the program frees: eager: given up, and computed again where "
                   "needed; banish: given up for ever; ignore: nothing")
      ->check(CLI::IsMember({"eager", "banish", "ignore"}))
      ->capture_default_str();
  command
      ->add_option("--runtime", request->runtime,
                   "engine: refrain's own, the one that runs programs; published: that of the DTR authors' "
                   "simulator, rule by rule")
      ->check(CLI::IsMember({"engine", "published"}))
      ->capture_default_str();
  command
      ->add_option(
          "--plan-seconds", request->plan_seconds,
          "processor time for improving each plan of --policy planned, or the looks at its progress that "
          "usually fit into it where the plan is followed; 0: the first plan only")
      ->capture_default_str();
  command->add_flag(
      "--advise", request->advise,
      "the curve of overhead against the cap for one policy, its knee, and the lowest caps that "
      "work, instead of rows");
  command->add_option("--max-overhead", request->max_overhead,
                      "with --advise: what the lowest cap may cost, default 10%");
  command->add_option("--svg", request->svg_path, "with --advise: draw the curve into this file");
  command->add_option("--json", request->json_path, "write JSON to this file, or to standard output for -");
  return [request] { return simulate_log(*request); };
}

}  // namespace refrain::cli
