// Plans the published logs at every budget and prints each cell: the first plan and the plan at the end of
// the time, against the best published heuristic and the lower bound. Every figure has been through
// check_schedule.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>

#include "planner/check.hpp"
#include "planner/planner.hpp"
#include "simulate/dtr_log.hpp"
#include "simulate/iteration.hpp"

namespace {

using refrain::planner::Iteration;

// Of this process's own time: how busy the machine is does not matter.
double seconds_since(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

struct Settings {
  std::string data;
  std::vector<std::string> models{"inceptionv4", "lstm",           "resnet32", "transformer",
                                  "treelstm",    "tv_densenet121", "unet",     "unroll_gan"};
  std::vector<std::string> budgets{"1.0", "0.9", "0.8", "0.7", "0.6", "0.5", "0.4", "0.3", "0.2", "0.1"};
  double seconds = 2;
  double patience = 60;
  std::uint32_t seed = 1;
};

// From a CSV file: by (model, budget), the lowest number in a column, of the rows that are ok.
std::map<std::pair<std::string, std::string>, double> lowest(const std::string& path, std::size_t budget,
                                                             std::size_t status, std::size_t column) {
  std::map<std::pair<std::string, std::string>, double> found;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream in(line);
    for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
    if (cells.size() <= column || (status != 0 && cells[status] != "ok") || cells[column] == "inf") continue;
    const auto [place, fresh] = found.try_emplace({cells[0], cells[budget]}, std::stod(cells[column]));
    if (!fresh) place->second = std::min(place->second, std::stod(cells[column]));
  }
  return found;
}

struct Cell {
  bool solved = false;
  double first = 0, last = 0, first_ms = 0;  // total over base compute
  std::string problem;
};

Cell plan(const Iteration& iteration, double budget, const Settings& settings) {
  using namespace refrain::planner;
  const auto cap =
      static_cast<std::int64_t>(std::floor(budget * static_cast<double>(unplanned_peak_bytes(iteration))));
  std::int64_t base_ns = 0;
  for (const Op& op : iteration.ops) base_ns += op.cost_ns;
  const auto checked = [&](const Planner& planner, Cell& cell) {
    const Checked result = check_schedule(iteration, planner.schedule(), cap);
    if (!result.problem.empty()) cell.problem = result.problem;
    return static_cast<double>(result.total_ns) / static_cast<double>(base_ns);
  };
  Cell cell;
  const std::clock_t start = std::clock();
  Planner planner(iteration, cap, settings.seed);
  cell.solved = planner.start([&] { return seconds_since(start) / settings.patience; });
  cell.first_ms = seconds_since(start) * 1e3;
  if (!cell.solved) return cell;
  cell.first = checked(planner, cell);
  const double left = settings.seconds - seconds_since(start);
  const std::clock_t middle = std::clock();
  if (left > 0) planner.improve([&] { return seconds_since(middle) / left; });
  cell.last = checked(planner, cell);
  return cell;
}

std::string number(bool there, double value) {
  return there ? fmt::format("{:.4f}", value) : "-";
}

void print_grid(const Settings& settings) {
  const auto published = lowest(settings.data + "/simrd-scores.csv", 2, 3, 4);
  const auto floors = lowest(settings.data + "/floors.csv", 1, 0, 2);
  double log_first = 0, log_last = 0, log_floor = 0;
  int both = 0;
  fmt::print(
      "| model | budget | first plan | ms | after {:g} s | best published | ours/published | floor |\n",
      settings.seconds);
  fmt::print("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const std::string& model : settings.models) {
    std::ifstream file(settings.data + "/" + model + ".log");
    const Iteration iteration = refrain::simulate::iteration_of(
        refrain::simulate::lower(refrain::simulate::read_dtr_log(file, model + ".log")));
    for (const std::string& budget : settings.budgets) {
      const Cell cell = plan(iteration, std::stod(budget), settings);
      if (!cell.problem.empty()) throw std::runtime_error(model + " at " + budget + ": " + cell.problem);
      const auto best = published.find({model, budget});
      const auto floor = floors.find({model, budget});
      const bool compare = cell.solved && best != published.end() && best->second > 1;
      const double ratio = compare ? (cell.last - 1) / (best->second - 1) : 0;
      fmt::print("| {} | {} | {} | {:.0f} | {} | {} | {} | {} |\n", model, budget,
                 number(cell.solved, cell.first), cell.first_ms, number(cell.solved, cell.last),
                 number(best != published.end(), best == published.end() ? 0 : best->second),
                 compare ? fmt::format("{:.3f}", ratio) : "-",
                 number(floor != floors.end(), floor == floors.end() ? 0 : floor->second));
      std::fflush(stdout);
      if (!compare || std::stod(budget) > 0.5) continue;
      log_first += std::log((cell.first - 1) / (best->second - 1));
      log_last += std::log(ratio);
      log_floor += std::log((cell.last - 1) / (floor->second - 1));
      ++both;
    }
  }
  if (both == 0) return;
  fmt::print(
      "\nExtra compute against the best published, geometric mean over {} cells at 0.5 and below: first plan "
      "{:.3f}, "
      "after {:g} s {:.3f}. Against the lower bound: {:.2f}.\n",
      both, std::exp(log_first / both), settings.seconds, std::exp(log_last / both),
      std::exp(log_floor / both));
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Plans the published DTR logs at every budget and prints the table.");
  app.add_option("data", settings.data, "Folder of the logs and scores")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--models", settings.models, "Which")->delimiter(',');
  app.add_option("--budgets", settings.budgets, "Ratios of the peak without a plan, as written in the scores")
      ->delimiter(',');
  app.add_option("--seconds", settings.seconds, "Of processor time, for each cell");
  app.add_option("--patience", settings.patience, "Seconds of processor time for a first plan");
  app.add_option("--seed", settings.seed, "Of the search");
  CLI11_PARSE(app, argc, argv);
  try {
    print_grid(settings);
  } catch (const std::exception& error) {
    fmt::print(stderr, "planner_grid: {}\n", error.what());
    return 2;
  }
}
