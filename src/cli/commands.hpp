// The subcommands. Each adds itself to the application and returns what runs when it was chosen.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/usage_error.hpp"

namespace CLI {
class App;
}

namespace refrain::cli {

using Action = std::function<int()>;  // returns the exit code; may throw UsageError

// program: filled after parsing has begun, before the action runs.
Action add_run(CLI::App& app, const std::vector<std::string>& program);
Action add_check(CLI::App& app, const std::vector<std::string>& program);
// Takes the program and its arguments off the end of the words of `refrain run` or `check`: what follows
// "--", or the first word that is neither an option nor an option's value. CLI11 gets the rest.
std::vector<std::string> take_program(const CLI::App& run, std::vector<std::string>& words);
// "; did you mean --limit?", or an empty string.
std::string suggestion(const CLI::App& command, const std::string& option);
Action add_report(CLI::App& app);
Action add_inspect(CLI::App& app);
Action add_simulate(CLI::App& app);

}  // namespace refrain::cli
