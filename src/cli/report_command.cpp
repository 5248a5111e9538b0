// refrain report: what logs say. Reads logs, and writes only the files that it was asked for.
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include "cli/commands.hpp"
#include "report/account.hpp"
#include "report/json.hpp"
#include "report/metrics.hpp"
#include "report/page.hpp"
#include "report/perfetto.hpp"
#include "report/text.hpp"
#include "trace/reader.hpp"

namespace refrain::cli {
namespace {

namespace fs = std::filesystem;

struct Request {
  std::vector<std::string> logs;
  std::string html;
  std::string perfetto;
  std::string prometheus;
  std::string json;
  std::string diff;

  bool writes() const { return !(html.empty() && perfetto.empty() && prometheus.empty() && json.empty()); }
};

// A file that is there whole or not at all: written beside its place, and moved there at the end; a link
// stays one. A device or a pipe is written as it is: moving a file there would replace it. "-" is standard
// output.
class Output {
 public:
  explicit Output(std::string path) : path_(std::move(path)) {
    if (path_ == "-") return;
    std::error_code ignored;
    const fs::path target = fs::weakly_canonical(path_, ignored);
    place_ = target.empty() ? path_ : target.string();
    if (fs::exists(place_, ignored) && !fs::is_regular_file(place_, ignored)) {
      file_.open(place_, std::ios::binary);
      if (!file_) throw UsageError(kBadInput, fmt::format("{} cannot be written", path_));
      return;
    }
    beside_ = fmt::format("{}.{}.part", place_, getpid());
    file_.open(beside_, std::ios::binary);
    if (!file_) throw UsageError(kBadInput, fmt::format("{} cannot be written", path_));
  }
  ~Output() {
    std::error_code ignored;
    if (!beside_.empty()) fs::remove(beside_, ignored);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  std::ostream& stream() { return path_ == "-" ? std::cout : file_; }
  void finish() {
    std::error_code error;
    if (path_ == "-") {
      std::cout.flush();
      return;
    }
    file_.close();
    if (file_ && !beside_.empty()) fs::rename(beside_, place_, error);
    if (!file_ || error) throw UsageError(kBadInput, fmt::format("{} cannot be written", path_));
    beside_.clear();
  }

 private:
  std::string path_;
  std::string place_;  // path_ without links
  std::string beside_;
  std::ofstream file_;
};

void write(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  Output out(path);
  out.stream() << text;
  out.finish();
}

// A line on the terminal for logs that take a while.
class Progress {
 public:
  Progress(std::string name, std::uint64_t bytes) : name_(std::move(name)), bytes_(bytes) {
    constexpr std::uint64_t kWorthALine = 16 << 20;
    shown_ = bytes > kWorthALine && isatty(STDERR_FILENO) == 1;
  }
  ~Progress() {
    if (shown_ && percent_ >= 0) fmt::print(stderr, "\r\033[K");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void at(std::uint64_t bytes) {
    if (!shown_) return;
    const int percent = static_cast<int>(bytes * 100 / bytes_);
    if (percent == percent_) return;
    percent_ = percent;
    fmt::print(stderr, "\rrefrain: reading {} {} %", name_, percent);
    std::fflush(stderr);
  }

 private:
  std::string name_;
  std::uint64_t bytes_;
  bool shown_ = false;
  int percent_ = -1;
};

report::Account read(const std::string& path, report::PerfettoWriter* perfetto) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  const std::uintmax_t bytes = fs::is_regular_file(path, error) ? fs::file_size(path, error) : 0;
  if (!file || fs::is_directory(path, error))
    throw UsageError(kBadInput, fmt::format("log {} cannot be read: no such file, or no permission", path));
  Progress progress(path, bytes);
  try {
    return report::read_account(file, path, [&](const trace::Line& line, std::uint64_t at) {
      progress.at(at);
      if (perfetto) perfetto->add(line);
    });
  } catch (const trace::Error& error_in_log) {
    throw UsageError(kBadInput, fmt::format("{}: {}", path, error_in_log.what()));
  }
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return fs::equivalent(a, b, error) && !error;
}

void check(const Request& request) {
  if (request.logs.size() > 1 && !request.perfetto.empty())
    throw UsageError(kBadInput, "--perfetto takes one log: a trace has one axis of time");
  if (request.logs.size() > 1 && !request.diff.empty())
    throw UsageError(kBadInput, "--diff compares one log with another: refrain report LOG --diff LOG");
  if (!request.diff.empty() && request.writes())
    throw UsageError(kBadInput,
                     "--diff is text only, and goes with none of --html, --perfetto, --prometheus, --json");
  for (std::size_t i = 0; i < request.logs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (same_file(request.logs[i], request.logs[j]))
        throw UsageError(kBadInput, fmt::format("log {} is given twice", request.logs[i]));
    }
  }
  std::vector<std::string> outputs;
  for (const std::string& path : {request.html, request.perfetto, request.prometheus, request.json}) {
    if (path.empty()) continue;
    std::error_code ignored;
    const std::string place =
        path == "-" ? path : fs::weakly_canonical(fs::absolute(path, ignored), ignored).string();
    if (std::find(outputs.begin(), outputs.end(), place) != outputs.end())
      throw UsageError(kBadInput, fmt::format("two reports cannot both be written to {}", path));
    outputs.push_back(place);
    for (const std::string& log : request.logs) {
      if (path != "-" && same_file(path, log))
        throw UsageError(kBadInput, fmt::format("the report would overwrite its own log {}", log));
    }
  }
}

report::Labels labels_of(const report::Account& account) {
  report::Labels labels;
  const auto add = [&](const char* name) {
    const auto it = account.header().find(name);
    if (it != account.header().end())
      labels.emplace_back(name, it->is_string() ? it->get<std::string>() : it->dump());
  };
  add("host");
  add("pid");
  const std::string command = report::command_of(account.header());
  const std::string first = command.substr(0, command.find(' '));
  labels.emplace_back("program", first.substr(first.rfind('/') + 1));
  return labels;
}

int report_logs(const Request& request) {
  check(request);
  std::vector<report::Account> accounts;
  {
    std::optional<Output> trace_file;
    std::optional<report::PerfettoWriter> perfetto;
    if (!request.perfetto.empty()) {
      trace_file.emplace(request.perfetto);
      perfetto.emplace(trace_file->stream());
    }
    for (const std::string& log : request.logs)
      accounts.push_back(read(log, perfetto ? &*perfetto : nullptr));
    if (perfetto) {
      perfetto->finish();
      trace_file->finish();
    }
  }
  if (!request.html.empty()) write(request.html, report::to_page(accounts));
  if (!request.prometheus.empty()) {
    std::vector<report::Sample> samples;
    for (const report::Account& account : accounts)
      samples.push_back({labels_of(account), account.summary().totals});
    write(request.prometheus, report::to_metrics(samples));
  }
  if (!request.json.empty()) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const report::Account& account : accounts) all.push_back(report::to_json(account));
    using Json = nlohmann::ordered_json;
    write(request.json,
          (accounts.size() == 1 ? all[0] : all).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  if (request.writes()) return 0;
  if (!request.diff.empty()) {
    fmt::print("{}", report::diff_text(accounts[0], read(request.diff, nullptr)));
  } else if (accounts.size() > 1) {
    fmt::print("{}", report::overview_text(accounts));
  } else {
    fmt::print("{}", report::to_text(accounts[0]));
  }
  return 0;
}

}  // namespace

Action add_report(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("report", "Explain a run from its log, or a job from the logs of its ranks");
  const auto request = std::make_shared<Request>();
  command->add_option("log", request->logs, "the log; several are the ranks of one job")->required();
  command->add_option("--html", request->html,
                      "write a page for a browser to this file: one file, no network");
  command->add_option("--perfetto", request->perfetto,
                      "write a trace for ui.perfetto.dev or chrome://tracing to this file");
  command->add_option(
      "--prometheus", request->prometheus,
      "write the totals as Prometheus text to this file, for a node exporter's textfile directory");
  command->add_option("--json", request->json, "write JSON to this file");
  command->add_option("--diff", request->diff, "compare the run with that of this later log");
  command->footer("- stands for standard output. Without any of these the report is text.");
  return [request] { return report_logs(*request); };
}

}  // namespace refrain::cli
