// One question to the interpreter that is going to run. Must not change how it runs.
#include "cli/frameworks.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>

namespace refrain::cli {
namespace {

struct Known {
  const char* module;
  const char* framework;
  const char* variable;
  const char* value;
};
// From each framework's documentation of its allocator.
constexpr Known kKnown[] = {
    {"torch", "PyTorch", "PYTORCH_NO_CUDA_MEMORY_CACHING", "1"},
    {"tensorflow", "TensorFlow", "TF_GPU_ALLOCATOR", "cuda_malloc_async"},
    {"jax", "JAX", "XLA_PYTHON_CLIENT_ALLOCATOR", "platform"},
};

bool is_python(const std::string& path) {
  return path.substr(path.rfind('/') + 1).starts_with("python");
}

// The interpreter in the first line of a script ("#!/usr/bin/env python3", "#!/usr/bin/python3 -u"); empty:
// none.
std::vector<std::string> interpreter_of(const ProgramFile& program) {
  if (is_python(program.path)) return {program.path};
  if (program.is_elf) return {};
  std::ifstream file(program.path);
  std::string first;
  if (!std::getline(file, first) || !first.starts_with("#!")) return {};
  std::vector<std::string> words;
  for (std::size_t at = 2; at < first.size();) {
    const std::size_t begin = first.find_first_not_of(" \t\r", at);
    if (begin == std::string::npos) break;
    const std::size_t end = std::min(first.find_first_of(" \t\r", begin), first.size());
    words.push_back(first.substr(begin, end - begin));
    at = end;
  }
  if (words.size() == 2 && words[0].ends_with("/env") && is_python(words[1]))
    return {"/usr/bin/env", words[1]};
  if (!words.empty() && is_python(words[0])) return {words[0]};
  return {};
}

// What the command writes to standard output; empty if it fails.
std::string output_of(const std::vector<std::string>& command) {
  int ends[2] = {};
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ::close(ends[1]);
  std::string out;
  std::array<char, 4096> buffer{};
  for (ssize_t got; child > 0 && (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
    out.append(buffer.data(), static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  const bool well =
      child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return well ? out : std::string();
}

}  // namespace

std::vector<Adaptation> adaptations_for(const ProgramFile& program) {
  std::vector<std::string> command = interpreter_of(program);
  if (command.empty()) return {};
  std::string modules;
  for (const Known& known : kKnown)
    modules += std::string(modules.empty() ? "" : ",") + "'" + known.module + "'";
  command.insert(command.end(), {"-c", "import importlib.util as u\nfor m in (" + modules +
                                           "):\n    if u.find_spec(m): print(m)"});
  const std::string found = "\n" + output_of(command);
  std::vector<Adaptation> out;
  for (const Known& known : kKnown) {
    if (found.find("\n" + std::string(known.module) + "\n") != std::string::npos)
      out.push_back({known.framework, known.variable, known.value});
  }
  return out;
}

}  // namespace refrain::cli
