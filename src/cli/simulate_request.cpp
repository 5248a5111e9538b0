// See simulate_request.hpp.
#include "cli/simulate_request.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <regex>

#include "cli/output_folder.hpp"
#include "cli/usage_error.hpp"
#include "refrain/bytes.hpp"

namespace refrain::cli {
namespace fs = std::filesystem;

namespace {

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

}  // namespace

std::vector<Cap> caps_of(const SimulateRequest& request, std::uint64_t peak_bytes) {
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

std::vector<engine::PolicyKind> policies_of(const SimulateRequest& request) {
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

namespace {

// With all: where what is on paper has the rule of deallocation that is asked for.
bool asks_for(const SimulateRequest& request, std::string_view on_paper) {
  return std::any_of(request.policies.begin(), request.policies.end(), [&](const std::string& name) {
    return name == on_paper || (name == "all" && request.deallocation == "eager");
  });
}

}  // namespace

bool is_planned(const SimulateRequest& request) {
  return asks_for(request, kPlanned);
}

std::vector<planner::Scheme> schemes_of(const SimulateRequest& request) {
  std::vector<planner::Scheme> schemes;
  for (std::size_t i = 0; i < planner::kSchemeNames.size(); ++i)
    if (asks_for(request, planner::kSchemeNames[i])) schemes.push_back(static_cast<planner::Scheme>(i));
  return schemes;
}

simulate::Deallocation deallocation_of(const SimulateRequest& request) {
  if (request.deallocation == "banish") return simulate::Deallocation::kBanish;
  if (request.deallocation == "ignore") return simulate::Deallocation::kIgnore;
  return simulate::Deallocation::kEager;
}

namespace {

// 0 or more and finite, nothing left over.
std::optional<double> parse_number(std::string_view text) {
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool all = error == std::errc() && rest == text.data() + text.size();
  return all && number >= 0 && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

}  // namespace

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

simulate::DeviceTimes parse_call_ns(std::string_view text) {
  simulate::DeviceTimes times;
  engine::MappingCost& mapping = times.mapping;
  double* const fields[] = {&mapping.create_ns, &mapping.destroy_ns, &mapping.map_ns,
                            &mapping.unmap_ns,  &times.launch_ns,    &times.node_ns};
  std::string_view left = text;
  for (double* const& field : fields) {
    const std::size_t comma = std::min(left.find(','), left.size());
    const std::optional<double> ns = parse_number(left.substr(0, comma));
    const bool last = &field == std::end(fields) - 1;
    if (!ns || last != (comma == left.size()))
      throw UsageError(
          kBadInput, fmt::format("--call-ns={} is not understood; accepted: six numbers of ns, of 0 or more: "
                                 "create, release, map with access, unmap, launch, node of a graph: "
                                 "29000,23000,38000,26000,3000,1000",
                                 text));
    *field = *ns;
    if (!last) left.remove_prefix(comma + 1);
  }
  return times;
}

double parse_plan_seconds(std::string_view text) {
  const std::optional<double> seconds = parse_number(text);
  if (!seconds)
    throw UsageError(
        kBadInput, fmt::format("--plan-seconds={} is not understood; accepted: 0 or more seconds: 2", text));
  return *seconds;
}

planner::SchemeSettings scheme_settings(const SimulateRequest& request, planner::Scheme scheme,
                                        const std::vector<std::string>& names) {
  planner::SchemeSettings settings{.scheme = scheme, .block_names = {}};
  const std::string& text = request.blocks;
  if (text.empty()) return settings;
  if (text.find_first_not_of("0123456789") == std::string::npos) {
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), settings.block_count);
    if (error == std::errc() && settings.block_count > 0) return settings;
    throw UsageError(kBadInput, fmt::format("--blocks={} is not understood; accepted: 1 or more blocks, or a "
                                            "pattern for the names of ops",
                                            text));
  }
  try {
    const std::regex pattern(text);
    for (const std::string& name : names) settings.block_names.push_back(std::regex_search(name, pattern));
  } catch (const std::regex_error& error) {
    throw UsageError(kBadInput,
                     fmt::format("--blocks={} is not understood ({}); accepted: how many blocks, or "
                                 "a pattern for the names of ops",
                                 text, error.what()));
  }
  return settings;
}

namespace {

// Nothing that is there is touched before all is known to be in order.
void check_writable(const std::string& path) {
  if (path.empty() || path == "-") return;
  if (fs::is_directory(path))
    throw UsageError(kBadInput,
                     fmt::format("{} cannot be written: it is a folder; accepted is a file", path));
  check_folder_of(path, path, kBadInput);
}

void check_advice(const SimulateRequest& request) {
  if (!request.advise) {
    const char* const option = !request.max_overhead.empty() ? "--max-overhead" : "--svg";
    if (!request.max_overhead.empty() || !request.svg_path.empty())
      throw UsageError(kBadInput, fmt::format("{} belongs to advice; accepted with --advise", option));
    return;
  }
  if (!request.budgets.empty() || request.limits.size() > 1)
    throw UsageError(
        kBadInput,
        "--advise chooses the caps itself; accepted without --budget, and with one --limit for the "
        "largest batch");
  caps_of(request, 1);
  if (request.policies.size() != 1 || request.policies[0] == "all")
    throw UsageError(kBadInput, "--advise is about one policy; accepted: --policy with one name, not all");
  if (!request.max_overhead.empty()) parse_overhead(request.max_overhead);
}

void check_on_paper(const SimulateRequest& request) {
  for (const std::string& name : request.policies) {
    const bool scheme = std::find(planner::kSchemeNames.begin(), planner::kSchemeNames.end(), name) !=
                        planner::kSchemeNames.end();
    if ((scheme || name == kPlanned) && request.deallocation != "eager")
      throw UsageError(kBadInput,
                       fmt::format("--policy={} keeps nothing that is not read again, and --deallocation={} "
                                   "would; accepted with it is eager",
                                   name, request.deallocation));
    if (scheme && request.advise)
      throw UsageError(kBadInput,
                       fmt::format("--advise is about caps, and --policy={} has the memory that it "
                                   "takes; accepted are the others",
                                   name));
  }
  parse_plan_seconds(request.plan_seconds);
  if (request.blocks.empty()) return;
  const std::vector<planner::Scheme> schemes = schemes_of(request);
  if (std::none_of(schemes.begin(), schemes.end(), [](planner::Scheme scheme) {
        return scheme == planner::Scheme::kFull || scheme == planner::Scheme::kBlocks;
      }))
    throw UsageError(kBadInput, "--blocks is of two policies; accepted with --policy full and blocks");
  scheme_settings(request, planner::Scheme::kBlocks, {});
}

}  // namespace

void fill_defaults(SimulateRequest& request) {
  if (request.policies.empty()) request.policies = {request.format == "dtr" ? "dtr" : kPlanned};
  if (request.plan_seconds.empty()) request.plan_seconds = request.advise ? "0" : "2";
}

void check(const SimulateRequest& request) {
  check_advice(request);
  if (!request.call_ns.empty()) {
    parse_call_ns(request.call_ns);
    if (request.runtime == "published" || request.advise)
      throw UsageError(
          kBadInput,
          "--call-ns is for rows of the engine; accepted without --runtime published and --advise");
  }
  if (request.runtime == "engine" && request.deallocation != "eager")
    throw UsageError(kBadInput,
                     fmt::format("--deallocation={} is a rule of the published runtime; accepted with "
                                 "--runtime engine is eager",
                                 request.deallocation));
  check_on_paper(request);
  if (request.runtime == "published" && request.format != "dtr")
    throw UsageError(kBadInput,
                     "--runtime=published needs tensors and their views; accepted is --format dtr");
  for (const engine::PolicyKind policy : policies_of(request)) {
    if (simulate::is_defined(policy, deallocation_of(request))) continue;
    throw UsageError(kBadInput,
                     fmt::format("--policy={} is not defined where storages are banished; accepted: dtr, "
                                 "dtr_local, lru, size, random",
                                 engine::kPolicyNames[static_cast<std::size_t>(policy)]));
  }
  check_writable(request.json_path);
  check_writable(request.svg_path);
}

void add_options(CLI::App& command, SimulateRequest& request) {
  std::vector<std::string> policies(engine::kPolicyNames.begin(), engine::kPolicyNames.end());
  policies.insert(policies.end(), planner::kSchemeNames.begin(), planner::kSchemeNames.end());
  policies.insert(policies.end(), {kPlanned, "all"});
  command.add_option("log", request.log, "the log")->required();
  command
      .add_option("--format", request.format,
                  "trace: what refrain run --record wrote; dtr: a log published with DTR")
      ->check(CLI::IsMember({"trace", "dtr"}))
      ->capture_default_str();
  command.add_option("--budget", request.budgets,
                     "parts of the memory that the run takes where nothing limits it: 0.5; without this and "
                     "--limit: 1.0, 0.9 and so on to 0.1");
  command.add_option("--limit", request.limits, "the same as sizes: 8GiB, 512MiB");
  command
      .add_option(
          "--policy", request.policies,
          "what is evicted first; planned: a plan of the iteration that repeats is followed (of a log "
          "published with DTR: the plan's own account on paper; choice: planning time by op); "
          "full, sqrt, blocks, selective, revolve: static schemes, each with the memory that it takes; "
          "all: each of them; without this: planned, of a log published with DTR dtr")
      ->check(CLI::IsMember(policies));
  command.add_option(
      "--blocks", request.blocks,
      "of full and blocks: a pattern, at whose matches among the names of ops blocks begin, or "
      "how many blocks; without it they are found where ops repeat");
  command
      .add_option("--deallocation", request.deallocation,
                  "what becomes of memory that the program frees: eager: given up, and computed again where "
                  "needed; banish: given up for ever; ignore: nothing")
      ->check(CLI::IsMember({"eager", "banish", "ignore"}))
      ->capture_default_str();
  command
      .add_option("--runtime", request.runtime,
                  "engine: refrain's own, the one that runs programs; published: that of the DTR authors' "
                  "simulator, rule by rule")
      ->check(CLI::IsMember({"engine", "published"}))
      ->capture_default_str();
  command.add_option(
      "--plan-seconds", request.plan_seconds,
      "processor time for improving each plan of --policy planned, or the looks at its "
      "progress that usually fit into it where the plan is followed; 0: the first plan only, as "
      "with --advise; without this else 2");
  command.add_option(
      "--call-ns", request.call_ns,
      "what the driver's calls take, in ns: create, release, map with access, unmap, launch, node "
      "of a graph; each run of the engine then also has its device time, with these");
  command.add_flag(
      "--advise", request.advise,
      "the curve of overhead against the cap for one policy, its knee, the lowest caps that work, and "
      "the largest batch in --limit (without it: in what the run takes), instead of rows");
  command.add_option("--max-overhead", request.max_overhead,
                     "with --advise: what the lowest cap and the largest batch may cost, default 10%");
  command.add_option("--svg", request.svg_path, "with --advise: draw the curve into this file");
  command.add_option("--json", request.json_path, "write JSON to this file, or to standard output for -");
}

}  // namespace refrain::cli
