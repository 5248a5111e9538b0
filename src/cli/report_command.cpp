// refrain report: what a log says. Reading only.
#include <fmt/format.h>

#include <fstream>
#include <iostream>

#include "cli/commands.hpp"
#include "report/summary.hpp"
#include "trace/reader.hpp"

namespace refrain::cli {
namespace {

int report(const std::string& path, const std::string& json_path) {
  std::ifstream file(path);
  if (!file)
    throw UsageError(kBadInput, fmt::format("log {} cannot be read: no such file, or no permission", path));
  report::Summary summary;
  try {
    summary = report::from_log(file, "");
  } catch (const trace::Error& error) {
    throw UsageError(kBadInput, fmt::format("{}: {}", path, error.what()));
  }
  if (json_path.empty()) {
    fmt::print("{}", report::to_text(summary));
  } else if (json_path == "-") {
    fmt::print("{}\n", report::to_json(summary).dump(2));
  } else {
    std::ofstream out(json_path);
    out << report::to_json(summary).dump(2) << '\n';
    if (!out.flush()) throw UsageError(kBadInput, fmt::format("{} cannot be written", json_path));
  }
  return 0;
}

}  // namespace

Action add_report(CLI::App& app) {
  CLI::App* command = app.add_subcommand("report", "Explain a run from its log");
  const auto path = std::make_shared<std::string>();
  const auto json_path = std::make_shared<std::string>();
  command->add_option("log", *path, "the log")->required();
  command->add_option("--json", *json_path, "write JSON to this file, or to standard output for -");
  return [path, json_path] { return report(*path, *json_path); };
}

}  // namespace refrain::cli
