// refrain: the command line. Chooses the subcommand and turns errors into one line and an exit code; nothing
// else.
#include <fmt/format.h>

#include <cstdio>
#include <vector>

#include "cli/commands.hpp"
#include "options/options.hpp"

namespace {

using namespace refrain::cli;

struct Command {
  CLI::App* app;
  Action action;
};

// CLI11's own sentence, and a suggestion where a known word is near.
std::string explain(const CLI::ParseError& error, const CLI::App& app, int argc, char** argv) {
  std::string message = error.what();
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  if (argc > 1 && argv[1][0] != '-' && std::find(names.begin(), names.end(), argv[1]) == names.end()) {
    message = fmt::format("unknown command {}", argv[1]);
    const std::string_view guess = refrain::options::nearest(argv[1], known);
    message += guess.empty() ? "; refrain --help lists them" : fmt::format("; did you mean {}?", guess);
  }
  return message;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "refrain runs CUDA programs that need more device memory than they may have: it evicts tensors and "
      "computes them again, bit for bit.",
      "refrain");
  app.set_version_flag("--version", "refrain " REFRAIN_VERSION);
  app.require_subcommand(1);
  std::vector<Command> commands;
  for (const auto& add : {add_run, add_report}) {
    Action action = add(app);
    commands.push_back({app.get_subcommands([](const CLI::App*) { return true; }).back(), std::move(action)});
  }
  try {
    app.parse(argc, argv);
    for (const Command& command : commands) {
      if (command.app->parsed()) return command.action();
    }
  } catch (const UsageError& error) {
    fmt::print(stderr, "refrain: {}\n", error.what());
    return error.exit_code();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))
      return app.exit(error);  // --help, --version
    fmt::print(stderr, "refrain: {}\n", explain(error, app, argc, argv));
    return commands.front().app->parsed() ? kOwnFailure : kBadInput;
  }
  return kBadInput;
}
