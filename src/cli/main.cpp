// refrain: the command line. Chooses the subcommand and turns errors into one line and an exit code; nothing
// else.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <system_error>
#include <vector>

#include "cli/commands.hpp"
#include "options/options.hpp"

namespace {

using namespace refrain::cli;

struct Command {
  CLI::App* app;
  Action action;
};

// One line: CLI11's own sentence where it is clear, ours where a suggestion helps.
std::string explain(const CLI::ParseError& error, const CLI::App& app,
                    const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  if (!words.empty() && words[0][0] != '-' &&
      std::find(names.begin(), names.end(), words[0]) == names.end()) {
    const std::vector<std::string_view> known(names.begin(), names.end());
    const std::string_view guess = refrain::options::nearest(words[0], known);
    return fmt::format(
        "unknown command {}{}", words[0],
        guess.empty() ? "; refrain --help lists them" : fmt::format("; did you mean {}?", guess));
  }
  for (const CLI::App* command : app.get_subcommands()) {
    const std::vector<std::string> left = command->remaining();
    if (left.empty()) continue;
    const std::string name = left[0].substr(0, left[0].find('='));
    const std::string guess = suggestion(*command, name);
    return fmt::format(
        "unknown option {}{}", name,
        guess.empty() ? fmt::format("; refrain {} --help lists them", command->get_name()) : guess);
  }
  std::string message = error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  return message;
}

}  // namespace

// What went to standard output may not have arrived: a full disk shows when the rest of it is written.
int checked_end(int code, bool is_run) {
  std::cout.flush();
  if (std::cout && std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  fmt::print(stderr, "refrain: standard output cannot be written\n");
  if (code != 0) return code;
  return is_run ? refrain::cli::kOwnFailure : refrain::cli::kBadInput;
}

int main(int argc, char** argv) {
  CLI::App app(
      "refrain runs CUDA programs that need more device memory than they may have: it evicts tensors and "
      "computes them "
      "again, bit for bit.",
      "refrain");
  app.set_version_flag("--version", "refrain " REFRAIN_VERSION);
  app.require_subcommand(1);
  std::vector<std::string> program;
  std::vector<Command> commands;
  commands.push_back({nullptr, add_run(app, program)});
  commands.push_back({nullptr, add_report(app)});
  commands.push_back({nullptr, add_inspect(app)});
  commands.push_back({nullptr, add_check(app, program)});
  commands.push_back({nullptr, add_simulate(app)});
  const std::vector<CLI::App*> added = app.get_subcommands([](const CLI::App*) { return true; });
  for (std::size_t i = 0; i < commands.size(); ++i) commands[i].app = added[i];

  std::vector<std::string> words(argv + 1, argv + argc);
  const bool is_run = !words.empty() && (words[0] == "run" || words[0] == "check");
  if (is_run) program = take_program(*commands[words[0] == "run" ? 0 : 3].app, words);
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app.parse(reversed);
    for (const Command& command : commands) {
      if (command.app->parsed()) return checked_end(command.action(), is_run);
    }
  } catch (const UsageError& error) {
    fmt::print(stderr, "refrain: {}\n", error.what());
    return error.exit_code();
  } catch (const std::system_error& error) {  // a folder that may not be looked into, a disk that is full
    fmt::print(stderr, "refrain: {}\n", error.what());
    return is_run ? kOwnFailure : kBadInput;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))
      return checked_end(app.exit(error), is_run);  // --help, --version
    fmt::print(stderr, "refrain: {}\n", explain(error, app, words));
    return is_run ? kOwnFailure : kBadInput;
  }
  return kBadInput;
}
