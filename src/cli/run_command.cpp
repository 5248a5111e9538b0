// refrain run: check everything, set the environment, start the program, say how it ended.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "access/manifest.hpp"
#include "cli/child.hpp"
#include "cli/commands.hpp"
#include "cli/frameworks.hpp"
#include "cli/objectives.hpp"
#include "cli/output_folder.hpp"
#include "cli/program_file.hpp"
#include "cli/status_line.hpp"
#include "cli/surroundings.hpp"
#include "options/options.hpp"
#include "refrain/bytes.hpp"
#include "report/summary.hpp"
#include "trace/reader.hpp"
#include "trace/writer.hpp"

namespace refrain::cli {
namespace {

namespace fs = std::filesystem;

struct Request {
  std::string device = "auto";
  std::map<std::string, std::string> flags;  // environment name -> text
  Objectives objectives;
  bool measure = false;
  bool no_log = false;
  bool quiet = false;
  bool dry_run = false;
  bool no_adapt = false;
};

// Flags over environment over defaults. Throws on the first thing that is wrong.
options::Options settle(const Request& request) {
  options::FromEnvironment given = options::from_environment(environ);
  if (!given.errors.empty()) throw UsageError(kOwnFailure, given.errors.front());
  for (const options::Description& row : options::descriptions()) {
    const auto it = request.flags.find(std::string(row.environment));
    if (it == request.flags.end()) continue;
    const std::string error =
        options::set(given.options, row.environment, it->second, options::Source::kFlag, row.flag);
    if (!error.empty()) throw UsageError(kOwnFailure, error);
  }
  const std::vector<std::string> conflicts = options::conflicts(given.options);
  if (!conflicts.empty()) throw UsageError(kOwnFailure, conflicts.front());
  return given.options;
}

// what: "log", "record", "metrics" or "summary".
void check_folder(const std::string& what, const std::string& path) {
  check_folder_of(path, what + " " + path, kOwnFailure);
}

void check_output(const char* what, const std::string& pattern, bool force, const std::string& program) {
  if (pattern.empty()) return;
  const std::string path = trace::expand_path(pattern, program);
  if (fs::exists(path)) {
    if (!fs::is_regular_file(path))
      throw UsageError(kOwnFailure, fmt::format("{} {} exists and is no file; name another", what, path));
    if (!force)
      throw UsageError(kOwnFailure,
                       fmt::format("{} {} exists; overwrite it with -f, or name another", what, path));
    if (::access(path.c_str(), W_OK) != 0)
      throw UsageError(kOwnFailure,
                       fmt::format("{} {} cannot be written: {}", what, path, std::strerror(errno)));
    return;
  }
  check_folder(what, path);
}

void check_outputs(const options::Options& options, const std::string& program) {
  const bool force = options.force.value;
  check_output("log", options.log.value, force, program);
  if (!options.log.value.empty() && options.log_size.value.bytes != 0)
    check_output("log", trace::rotated_path(trace::expand_path(options.log.value, program)), force, program);
  check_output("record", options.record.value, force, program);
  if (!options.metrics.value.empty())
    check_folder("metrics", trace::expand_path(options.metrics.value, program));
  const std::string& summary = options.summary.value;
  if (summary != "stderr" && summary != "off") check_output("summary", summary, force, program);
}

// auto: as the terminal is. Otherwise the folder, which the program may come to from another one.
void settle_status(options::Options& options, bool quiet) {
  std::string& value = options.status.value;
  if (value == "auto" && (quiet || isatty(STDERR_FILENO) != 1)) value = "off";
  if (value == "auto" || value == "off") return;
  if (!fs::is_directory(value) || ::access(value.c_str(), W_OK) != 0)
    throw UsageError(kOwnFailure,
                     fmt::format("--status={} is not understood; accepted: auto, off, or a folder "
                                 "that can be written to",
                                 value));
  value = options.status.text = fs::absolute(value).string();
}

// All mistakes, one line each. The program may go to another folder before it comes to the library.
void check_manifest(options::Options& options) {
  std::string& path = options.manifest.value;
  if (path.empty()) return;
  const access::ParsedManifest parsed = access::read_manifest(path);
  if (!parsed.errors.empty())
    throw UsageError(kBadInput, fmt::format("{}", fmt::join(parsed.errors, "\nrefrain: ")));
  path = options.manifest.text = fs::absolute(path).string();
  options.manifest.source = options::Source::kFlag;
}

std::map<std::string, std::string> variables_of(const options::Options& options, const Libraries& libraries,
                                                bool simulated) {
  std::map<std::string, std::string> variables;
#define OPTION(type, member, environment, flag, default_text, help) \
  if (options.member.source != options::Source::kDefault) variables[environment] = options.member.text;
#include "options/options.def"
#undef OPTION
  add_preload(variables, libraries, simulated);
  return variables;
}

// What the user has set stays as it is.
void adapt(std::map<std::string, std::string>& variables, const ProgramFile& program, bool quiet) {
  for (const Adaptation& adaptation : adaptations_for(program)) {
    if (std::getenv(adaptation.variable.c_str())) continue;
    variables[adaptation.variable] = adaptation.value;
    if (quiet) continue;
    fmt::print(
        stderr,
        "refrain: {} found: {}={} is set, so that each tensor is an allocation of its own (--no-adapt)\n",
        adaptation.framework, adaptation.variable, adaptation.value);
  }
}

// The program's own peak, from a run without a limit whose output nobody sees.
std::uint64_t measure_peak(const std::string& path, const std::vector<std::string>& words,
                           std::map<std::string, std::string> variables) {
  const fs::path log = fs::temp_directory_path() / fmt::format("refrain-measure-{}.jsonl", getpid());
  variables["REFRAIN_LIMIT"] = "off";
  variables["REFRAIN_LOG"] = log.string();
  variables["REFRAIN_FORCE"] = "1";
  variables["REFRAIN_METRICS"] = variables["REFRAIN_RECORD"] = "";
  variables["REFRAIN_STATUS"] = "off";
  variables["REFRAIN_SUMMARY"] = "off";
  const ChildResult result = run_child(path, words, environment_with(variables), true);
  std::ifstream file(log);
  std::uint64_t peak_bytes = 0;
  try {
    peak_bytes = report::from_log(file, log.string()).totals.peak_bytes;
  } catch (const trace::Error&) {
    peak_bytes = 0;  // it made no CUDA call; said below
  }
  std::error_code ignored;
  fs::remove(log, ignored);
  if (result.exit_code != 0)
    throw UsageError(kOwnFailure,
                     fmt::format("the run that measures the peak ended with code {}", result.exit_code));
  if (peak_bytes == 0)
    throw UsageError(kOwnFailure, "the run that measures the peak allocated no device memory");
  return peak_bytes;
}

// One word for a POSIX shell, whatever is in it.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void print_dry_run(const std::map<std::string, std::string>& variables,
                   const std::vector<std::string>& words) {
  std::string line;
  for (const auto& [name, value] : variables) line += fmt::format("{}={} ", name, quoted(value));
  for (const std::string& word : words) line += quoted(word) + " ";
  line.pop_back();
  fmt::print("{}\n", line);
}

// What the library can no longer say when the program did not reach its end.
void report_death(const ChildResult& result, const options::Options& options, const std::string& program) {
  fmt::print(stderr, "refrain: killed - the program ended by signal {} ({})\n", result.signal,
             strsignal(result.signal));
  if (options.log.value.empty() || options.log.value.find("%p") != std::string::npos) return;
  const std::string path = trace::expand_path(options.log.value, program);
  if (fs::exists(path)) fmt::print(stderr, "      next: refrain report {}\n", path);
}

int run(const Request& request, const std::vector<std::string>& words) {
  if (words.empty())
    throw UsageError(kOwnFailure, "no program given: refrain run [options] -- program [arguments]");
  options::Options options = settle(request);
  if (request.no_log) {
    options.log = {};
  } else if (options.log.source == options::Source::kDefault) {
    options::set(options, "REFRAIN_LOG", "refrain.%e.%p.%t.jsonl", options::Source::kFlag, "--log");
  }
  settle_objectives(request.objectives, options);
  const ProgramFile program = inspect_program(words[0]);
  const bool simulated = request.device == "sim" || (request.device == "auto" && !has_real_driver());
  if (request.device == "cuda" && !has_real_driver()) {
    throw UsageError(
        kOwnFailure,
        "no CUDA driver here (libcuda.so.1 is not found); --device sim runs on the software device");
  }
  const Libraries libraries = find_libraries();
  check_manifest(options);
  check_program(program, simulated);
  const std::string name = words[0].substr(words[0].rfind('/') + 1);
  check_outputs(options, name);
  settle_status(options, request.quiet);
  std::map<std::string, std::string> variables = variables_of(options, libraries, simulated);
  if (!request.no_adapt) adapt(variables, program, request.quiet);
  std::optional<std::uint64_t> known_limit_bytes;
  const options::Limit& limit = options.limit.value.any;
  if (!options.limit.value.is_set()) known_limit_bytes = engine::kNoCap;
  if (limit.kind == options::Limit::Kind::kBytes) known_limit_bytes = limit.bytes;
  if (request.measure) {
    if (limit.kind != options::Limit::Kind::kPercent) {
      throw UsageError(kOwnFailure, "--measure needs a limit in percent: --limit 50% --measure");
    }
    const std::uint64_t peak_bytes = measure_peak(program.path, words, variables);
    const auto limit_bytes =
        static_cast<std::uint64_t>(std::floor(static_cast<double>(peak_bytes) * limit.percent / 100));
    if (!request.quiet)
      fmt::print(stderr, "refrain: measured a peak of {}; {} of it is {}\n", format_bytes(peak_bytes),
                 options.limit.text, format_bytes(limit_bytes));
    variables["REFRAIN_LIMIT"] = fmt::format("{}B", limit_bytes);
    known_limit_bytes = limit_bytes;
  }
  check_objectives(request.objectives, options, known_limit_bytes, request.quiet);
  if (request.quiet) {
    variables["REFRAIN_VERBOSE"] = "0";
    variables["REFRAIN_SUMMARY"] = "off";
  }
  if (request.dry_run) {
    print_dry_run(variables, words);
    return 0;
  }
  const Totals totals(request.objectives, variables);
  std::optional<StatusLine> line;
  if (options.status.value == "auto")
    variables["REFRAIN_STATUS"] = line.emplace(STDERR_FILENO).folder().string();
  const ChildResult result = run_child(program.path, words, environment_with(variables), false,
                                       line ? std::function([&] { line->renew(); }) : nullptr);
  line.reset();
  if (request.objectives.any() && result.signal == 0 && !request.quiet)
    fmt::print(stderr, "{}\n", totals.verdict());
  if (result.signal != 0 && !request.quiet)
    report_death(result, options, words[0].substr(words[0].rfind('/') + 1));
  return result.exit_code;
}

}  // namespace

std::vector<std::string> take_program(const CLI::App& run, std::vector<std::string>& words) {
  std::size_t i = 1;  // words[0] is "run"
  while (i < words.size() && words[i] != "--" && words[i].size() > 1 && words[i][0] == '-') {
    const bool joined = words[i].find('=') != std::string::npos;
    const CLI::Option* option = joined ? nullptr : run.get_option_no_throw(words[i]);
    i += option && option->get_items_expected_max() > 0 ? 2 : 1;
  }
  i = std::min(i, words.size());
  std::vector<std::string> program(words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
  if (!program.empty() && program[0] == "--") program.erase(program.begin());
  words.resize(i);
  return program;
}

std::string suggestion(const CLI::App& command, const std::string& option) {
  std::vector<std::string> names;
  for (const CLI::Option* known : command.get_options()) names.push_back("--" + known->get_single_name());
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view guess = options::nearest(option.substr(0, option.find('=')), known);
  return guess.empty() ? std::string() : fmt::format("; did you mean {}?", guess);
}

Action add_run(CLI::App& app, const std::vector<std::string>& program) {
  CLI::App* command = app.add_subcommand("run", "Run a program under a limit of device memory");
  const auto request = std::make_shared<Request>();
  command
      ->add_option("--device", request->device,
                   "sim: the software device; cuda: a real driver; auto: a real one where there is one")
      ->check(CLI::IsMember({"auto", "sim", "cuda"}))
      ->capture_default_str();
  for (const options::Description& row : options::descriptions()) {
    const std::string variable(row.environment);
    const auto store = [request, variable](const std::string& text) { request->flags[variable] = text; };
    std::string names(row.flag);
    if (row.member == "force") names += ",-f";
    if (row.type == "Switch") {
      command->add_flag_callback(
          names, [store] { store("on"); }, std::string(row.help));
    } else {
      command->add_option_function<std::string>(names, store, std::string(row.help))
          ->default_str(std::string(row.default_text));
    }
  }
  add_options(*command, request->objectives);
  command->add_flag("--measure", request->measure,
                    "a limit in percent is of the program's own peak: the program runs twice, first without "
                    "a limit and unseen");
  command->add_flag("--no-log", request->no_log, "no log, whatever REFRAIN_LOG says");
  command->add_flag(
      "--no-adapt", request->no_adapt,
      "set no variable of PyTorch, TensorFlow or JAX, where the program could import one of them");
  command->add_flag("-q,--quiet", request->quiet, "nothing from refrain on standard error");
  command->add_flag_callback(
      "-v", [request] { request->flags["REFRAIN_VERBOSE"] = "2"; }, "the same as --verbose 2");
  command->add_flag("-n,--dry-run", request->dry_run, "print the line that would be run, for a job script");
  command->footer(
      "Then the program and its arguments; -- before them is accepted, never needed.\n"
      "Exit code: the program's; 128 + n for signal n; 125 refrain's own error (2 a bad manifest), 126 not "
      "executable, 127 not found.");
  return [request, &program] { return run(*request, program); };
}

}  // namespace refrain::cli
