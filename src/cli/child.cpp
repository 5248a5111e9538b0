// fork, exec, wait. Must leave the child nothing of ours but its environment.
#include "cli/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "cli/usage_error.hpp"

namespace refrain::cli {
namespace {

volatile sig_atomic_t g_child = 0;

void pass_on(int signal) {
  if (g_child > 0) kill(g_child, signal);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

// Where the kernel has no pidfd (before Linux 5.3), or there is nothing to do, it returns at once.
void do_until_it_ends(pid_t pid, const std::function<void()>& meanwhile) {
  constexpr int kInterval_ms = 500;
  const int ended = meanwhile ? static_cast<int>(syscall(SYS_pidfd_open, pid, 0)) : -1;
  if (ended < 0) return;
  pollfd wait{.fd = ended, .events = POLLIN, .revents = 0};
  while (poll(&wait, 1, kInterval_ms) <= 0) meanwhile();
  close(ended);
}

}  // namespace

ChildResult run_child(const std::string& path, const std::vector<std::string>& argv,
                      const std::vector<std::string>& environment, bool quiet,
                      const std::function<void()>& meanwhile) {
  const std::vector<char*> arguments = pointers(argv);
  const std::vector<char*> variables = pointers(environment);
  constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
  sigset_t passed_on;
  sigset_t before;
  sigemptyset(&passed_on);
  for (const int signal : kPassedOn) sigaddset(&passed_on, signal);
  // A signal that arrives between fork and the child's number must not be lost.
  sigprocmask(SIG_BLOCK, &passed_on, &before);
  // Whoever started us may ignore it, and then no child can be waited for.
  signal(SIGCHLD, SIG_DFL);
  const pid_t pid = fork();
  if (pid < 0) throw UsageError(kOwnFailure, fmt::format("fork failed: {}", std::strerror(errno)));
  if (pid == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (quiet) {
      const int nowhere = open("/dev/null", O_WRONLY);
      if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
    }
    execve(path.c_str(), arguments.data(), variables.data());
    const std::string message =
        fmt::format("refrain: {} cannot be executed: {}{}\n", path, std::strerror(errno),
                    errno == ENOEXEC ? "; begin it with #!, or name its interpreter first" : "");
    if (write(STDERR_FILENO, message.data(), message.size()) < 0) _exit(kOwnFailure);
    _exit(errno == ENOENT ? kNotFound : kNotExecutable);
  }
  g_child = pid;
  struct sigaction action {};
  action.sa_handler = pass_on;
  for (const int signal : kPassedOn) sigaction(signal, &action, nullptr);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  do_until_it_ends(pid, meanwhile);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR)
      throw UsageError(kOwnFailure, fmt::format("waiting for the program failed: {}", std::strerror(errno)));
  }
  g_child = 0;
  ChildResult result;
  result.pid = pid;
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.exit_code = result.signal ? 128 + result.signal : WEXITSTATUS(status);
  return result;
}

}  // namespace refrain::cli
