// refrain check: would it work here, and with this program? Runs the program once, without a limit, unless
// told not to; changes nothing.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <fstream>

#include "access/demangle.hpp"
#include "cli/child.hpp"
#include "cli/commands.hpp"
#include "cli/kernel_list.hpp"
#include "cli/surroundings.hpp"
#include "report/account.hpp"
#include "trace/reader.hpp"

namespace refrain::cli {
namespace {

namespace fs = std::filesystem;

struct Request {
  std::string device = "auto";
  bool no_run = false;
};

void row(const char* name, const std::string& value) {
  fmt::print("{:<12} {}\n", name, value);
}

// By the driver's own word; nothing of CUDA is linked into this program.
std::string describe_driver() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return "no CUDA driver on this machine (libcuda.so.1 is not found): the software device stands in";
  const auto call = [&]<class... Args>(const char* name, Args... arguments) {
    const auto function = reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
    return function ? function(arguments...) : -1;
  };
  int version = 0;
  int devices = 0;
  if (const int error = call("cuInit", 0u); error != 0)
    return fmt::format("a CUDA driver that does not start (cuInit gives {})", error);
  call("cuDriverGetVersion", &version);
  call("cuDeviceGetCount", &devices);
  std::string out = fmt::format("CUDA {}.{}, {} device{}", version / 1000, version % 1000 / 10, devices,
                                devices == 1 ? "" : "s");
  for (int i = 0; i < devices; ++i) {
    char name[128] = {};
    int virtual_memory = 0;
    constexpr int kVirtualMemoryManagement = 102;  // CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
    call("cuDeviceGetName", static_cast<char*>(name), static_cast<int>(sizeof name), i);
    call("cuDeviceGetAttribute", &virtual_memory, kVirtualMemoryManagement, i);
    out += fmt::format("\n{:<12}   {}: {}{}", "", i, name,
                       virtual_memory != 0 ? "" : " (no virtual memory management: cannot be managed)");
  }
  return out;
}

void check_kernels(const std::string& path) {
  std::vector<ListedKernel> kernels;
  try {
    kernels = list_kernels({.path = path,
                            .all_architectures = false,
                            .wanted = [](const std::string&) { return true; },
                            .progress = {},
                            .warn = [](const std::string&) {}});
  } catch (const UsageError&) {
    row("kernels", "none in the program's own file (a script, or they come from libraries)");
    return;
  }
  std::size_t replayable = 0;
  for (const ListedKernel& kernel : kernels) replayable += kernel.replayable ? 1 : 0;
  row("kernels", fmt::format("{} in the program's file, {} can be replayed", kernels.size(), replayable));
  constexpr std::size_t kShown = 10;
  std::size_t shown = 0;
  for (const ListedKernel& kernel : kernels) {
    if (kernel.replayable || shown++ >= kShown) continue;
    fmt::print("{:<12}   not: {}: {}\n", "", access::demangled(kernel.name), kernel.reason);
  }
  if (shown > kShown) fmt::print("{:<12}   and {} more: refrain inspect {}\n", "", shown - kShown, path);
}

// Runs it as `refrain run` would, but without a limit. Returns whether refrain was reached.
bool check_run(const std::string& path, const std::vector<std::string>& words, const Libraries& libraries,
               bool simulated) {
  const fs::path log = fs::temp_directory_path() / fmt::format("refrain-check-{}.jsonl", getpid());
  std::map<std::string, std::string> variables{{"REFRAIN_LIMIT", "off"}, {"REFRAIN_LOG", log.string()},
                                               {"REFRAIN_FORCE", "1"},   {"REFRAIN_SUMMARY", "off"},
                                               {"REFRAIN_VERBOSE", "0"}, {"REFRAIN_METRICS", ""},
                                               {"REFRAIN_RECORD", ""}};
  add_preload(variables, libraries, simulated);
  const ChildResult result = run_child(path, words, environment_with(variables), true);
  std::ifstream file(log);
  std::error_code ignored;
  row("run", result.signal != 0 ? fmt::format("ended by signal {}", result.signal)
                                : fmt::format("ended with code {}", result.exit_code));
  try {
    const report::Account account = report::read_account(file, log.string());
    fs::remove(log, ignored);
    const event::End& t = account.summary().totals;
    const bool active = t.lookups > 0;
    row("refrain",
        active ? fmt::format("active: {} driver functions looked up, {} of them hooked", t.lookups, t.hooks)
               : "not reached: the program looked up no driver function");
    row("launches",
        fmt::format("{}, {} of them of kernels that cannot be replayed", t.launches, t.unreplayable));
    row("calls", fmt::format("{} that could not be followed", t.barriers));
    row("not managed", fmt::format("{} bytes of the program's device memory", t.unmanaged_bytes));
    for (const report::Told& told : account.notes()) fmt::print("{:<12}   {}\n", "", told.text);
    return active;
  } catch (const trace::Error&) {
    fs::remove(log, ignored);
    row("refrain", "not reached: the program made no CUDA call");
    return false;
  }
}

int check(const Request& request, const std::vector<std::string>& words) {
  row("refrain", REFRAIN_VERSION);
  const Libraries libraries = find_libraries();
  row("library", libraries.preload);
  row("driver", describe_driver());
  const bool simulated = request.device == "sim" || (request.device == "auto" && !has_real_driver());
  row("device", simulated ? "the software device, in " + libraries.simgpu_folder : "the driver's");
  if (words.empty()) return 0;
  const ProgramFile program = inspect_program(words[0]);
  row("program", program.path);
  check_program(program, simulated);
  if (program.has_device_code) {
    row("runtime",
        program.needs_shared_cudart ? "CUDA's, shared: on any device" : "CUDA's, linked in: on a real GPU");
  }
  check_kernels(program.path);
  if (request.no_run) return 0;
  return check_run(program.path, words, libraries, simulated) ? 0 : 1;
}

}  // namespace

Action add_check(CLI::App& app, const std::vector<std::string>& program) {
  CLI::App* command = app.add_subcommand("check", "Say whether refrain would work here, and with a program");
  const auto request = std::make_shared<Request>();
  command
      ->add_option("--device", request->device,
                   "sim: the software device; cuda: a real driver; auto: a real one where there is one")
      ->check(CLI::IsMember({"auto", "sim", "cuda"}))
      ->capture_default_str();
  command->add_flag("--no-run", request->no_run, "look at the program's file only");
  command->footer(
      "Then a program and its arguments, which is run once, without a limit and unseen.\n"
      "Exit code: 0 it works; 1 the program ran, but refrain was not reached; 125 to 127 as refrain run.");
  return [request, &program] { return check(*request, program); };
}

}  // namespace refrain::cli
