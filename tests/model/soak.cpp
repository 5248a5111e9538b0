// soak --programs N --seed S [--actions A] [--seconds T] [--stop]: random programs of the engine, as many as
// asked. The last line is "programs N failures F seed S"; exit 1 if F > 0. A failure is shrunk and printed.
#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>

#include "actions.hpp"
#include "must.hpp"

namespace refrain::engine::test {

void (*on_wrong)(const char* what) = [](const char*) {};

namespace {

struct Totals {
  std::uint64_t programs = 0;
  std::uint64_t failures = 0;
  std::uint64_t rematerialisations = 0;
  std::uint64_t restores = 0;
  std::uint64_t mismatches = 0;
  std::uint64_t out_of_memory = 0;
  std::uint64_t judged = 0;
  std::uint64_t needless = 0;
};

void report_failure(std::uint64_t seed, std::size_t actions, const std::string& wrong, Totals& totals) {
  if (totals.failures++ >= 3) return;
  const Script shortest = shrink(make_script(seed, actions));
  std::cout << "seed " << seed << ": " << wrong << "; shrunk to " << shortest.actions.size() << " actions ("
            << run_script(shortest).wrong << "):\n"
            << to_text(shortest) << std::flush;
}

}  // namespace
}  // namespace refrain::engine::test

int main(int argc, char** argv) {
  using namespace refrain::engine::test;
  CLI::App app("Random programs of the engine against a reference that has all the memory in the world.");
  std::uint64_t programs = 100'000;
  std::uint64_t seed = 1;
  std::size_t actions = 120;
  std::uint64_t seconds = 0;
  bool stop = false;
  app.add_option("--programs", programs, "how many")->check(CLI::PositiveNumber);
  app.add_option("--seed", seed, "of the first; each next one has the next number");
  app.add_option("--actions", actions, "of each program")->check(CLI::Range(4, 100'000));
  app.add_option("--seconds", seconds, "stop after so many, 0: never");
  app.add_flag("--stop", stop, "at the first failure, without making it shorter");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::cerr << "soak: " << error.what() << "\n";
    return 2;
  }
  Totals totals;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < programs; ++i) {
    const Outcome outcome = run_script(make_script(seed + i, actions));
    ++totals.programs;
    totals.rematerialisations += outcome.rematerialisations;
    totals.restores += outcome.restores;
    totals.mismatches += outcome.mismatches;
    totals.out_of_memory += outcome.out_of_memory;
    totals.judged += outcome.judged;
    totals.needless += outcome.needless;
    if (!outcome.wrong.empty() && stop) {
      std::cout << "seed " << seed + i << ": " << outcome.wrong << std::endl;
      return 1;
    }
    if (!outcome.wrong.empty()) report_failure(seed + i, actions, outcome.wrong, totals);
    if (seconds != 0 && std::chrono::steady_clock::now() - begin > std::chrono::seconds(seconds)) break;
  }
  std::cout << "rematerialisations " << totals.rematerialisations << ", restores " << totals.restores
            << ", mismatches caught " << totals.mismatches << ", out of memory " << totals.out_of_memory
            << ", judged " << totals.judged << ", needless " << totals.needless << "\n";
  std::cout << "programs " << totals.programs << " failures " << totals.failures << " seed " << seed
            << std::endl;
  return totals.failures > 0 ? 1 : 0;
}
