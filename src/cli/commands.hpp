// The subcommands. Each adds itself to the application and returns what runs when it was chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace refrain::cli {

// Bad input: one line for the user, and the exit code.
class UsageError : public std::runtime_error {
 public:
  UsageError(int exit_code, const std::string& message)
      : std::runtime_error(message), exit_code_(exit_code) {}
  int exit_code() const noexcept { return exit_code_; }

 private:
  int exit_code_;
};

inline constexpr int kBadInput = 2;
// What env(1), timeout(1) and nohup(1) use where their own codes must not look like the program's.
inline constexpr int kOwnFailure = 125;
inline constexpr int kNotExecutable = 126;
inline constexpr int kNotFound = 127;

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
