// What is wrong with what the user asked for, and the exit codes. Without the parser of command lines, which
// takes long to compile.
#pragma once

#include <stdexcept>
#include <string>

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

}  // namespace refrain::cli
