// Start, log and end of a session. Must not write to standard output, which is the program's.
#include "preload/session.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <mutex>
#include <thread>
#include <utility>

#include "preload/interpose.hpp"
#if REFRAIN_LIBRARIES
#include "preload/cublas_handles.hpp"
#endif
#include "refrain/bytes.hpp"
#include "refrain/refrain.h"
#include "report/metrics.hpp"
#include "report/summary.hpp"

namespace refrain::preload {
namespace {

void write_to_stderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

Session& Session::instance() {
  static Session* const session = [] {
    auto* const all = new Session;  // never destroyed: hooks are called until the very end
    made.store(all, std::memory_order_release);
    return all;
  }();
  return *session;
}

Session::Session() : process_(getpid()) {
  options::FromEnvironment given = options::from_environment(environ);
  options_ = std::move(given.options);
  if (options_.disable.value) return;
  for (std::string& conflict : options::conflicts(options_)) given.errors.push_back(std::move(conflict));
  for (const std::string& error : given.errors) say(0, "error: " + error);
  if (!given.errors.empty()) {
    refuses_ = options_.strict.value;
    say(0, refuses_ ? "cuInit fails, because REFRAIN_STRICT is on"
                    : "the program runs without refrain and without a limit");
    return;
  }
  std::optional<access::Manifest> manifest = read_manifest();
  if (!manifest) return;
  if (const char* missing = driver_.load([](const char* name) { return driver_function(name); })) {
    say(0, fmt::format("error: this driver has no {}; the program runs without refrain and without a limit",
                       missing));
    return;
  }
  start_log();
  start_record();
  engine::Observer& observer = *this;
  runtime_ = std::make_unique<cuda::Runtime>(driver_, observer, options_, [this](const std::string& text) {
    say(1, text);
    log_.write(event::Note{.text = text});
  });
#if REFRAIN_LIBRARIES
  runtime_->on_context_gone = [](bool alive) { ReplayHandles::instance().context_gone(alive); };
#endif
  announce();
  give_manifest(std::move(*manifest));
  managing_ = true;
  // A forked child has neither our locks in a known state nor a usable context: it passes everything on.
  pthread_atfork(nullptr, nullptr, [] { instance().managing_ = false; });
  std::atexit([] { instance().finish(); });
}

// Empty where there is none, or a bad one. nullopt: it is bad, and that is to be fatal.
std::optional<access::Manifest> Session::read_manifest() {
  if (options_.manifest.value.empty()) return access::Manifest{};
  access::ParsedManifest parsed = access::read_manifest(options_.manifest.value);
  if (parsed.errors.empty()) return std::move(parsed.manifest);
  for (const std::string& error : parsed.errors) say(0, "error: " + error);
  refuses_ = options_.strict.value;
  say(0, refuses_ ? "cuInit fails, because REFRAIN_STRICT is on" : "the program runs without the manifest");
  if (refuses_) return std::nullopt;
  return access::Manifest{};
}

void Session::give_manifest(access::Manifest manifest) {
  const cuda::Kernels::ParamCalls calls{
      reinterpret_cast<decltype(&cuFuncGetParamInfo)>(driver_function("cuFuncGetParamInfo")),
      reinterpret_cast<decltype(&cuKernelGetParamInfo)>(driver_function("cuKernelGetParamInfo"))};
  runtime_->kernels().set_manifest(std::move(manifest), calls, [this](const std::string& line) {
    say(0, line);
    log_.write(event::Note{.text = line});
  });
}

void Session::start_log() {
  const std::vector<std::string> arguments = command_line();
  program_ = arguments.empty() ? "program" : arguments[0].substr(arguments[0].rfind('/') + 1);
  if (!options_.metrics.value.empty())
    metrics_paths_.push_back(trace::expand_path(options_.metrics.value, program_));
  if (options_.status.value != "auto" && options_.status.value != "off")
    metrics_paths_.push_back(fmt::format("{}/{}", options_.status.value, process_));
  if (options_.log.value.empty()) return;
  log_path_ = trace::expand_path(options_.log.value, program_);
  log_.set_most_bytes(options_.log_size.value.bytes);
  const std::string error = log_.open(log_path_, options_.force.value);
  if (!error.empty()) {
    say(0, "error: " + error + "; there is no log");
    log_path_.clear();
    return;
  }
  log_path_ = log_.path();
  nlohmann::ordered_json values;
#define OPTION(type, member, environment, flag, default_text, help) \
  values[#member] = {{"value", options_.member.text}, {"from", options::name_of(options_.member.source)}};
#include "options/options.def"
#undef OPTION
  int version = 0;
  driver_.cuDriverGetVersion(&version);
  log_.write_header({{"name_version", REFRAIN_VERSION},
                     {"argv", arguments},
                     {"pid", process_},
                     {"host", host_name()},
                     {"start", utc_now()},
                     {"driver", version},
                     {"options", values}});
}

void Session::start_record() {
  if (options_.record.value.empty()) return;
  const std::string path = trace::expand_path(options_.record.value, program_);
  const std::string error = record_.open(path, options_.force.value, program_);
  if (!error.empty()) say(0, "error: " + error + "; there is no record");
}

void Session::announce() const {
  const options::Limit& limit = options_.limit.value.any;
  if (!options_.limit.value.is_set() && options_.verbose.value < 2) return;
  std::string text =
      "limit " + (limit.kind == options::Limit::Kind::kBytes     ? format_bytes(limit.bytes)
                  : limit.kind == options::Limit::Kind::kPercent ? options_.limit.text + " of the device"
                                                                 : options_.limit.text);
  text += ", policy " + options_.policy.text;
  if (!log_path_.empty()) text += ", log " + log_path_;
  say(1, text);
#define OPTION(type, member, environment, flag, default_text, help)           \
  say(2, fmt::format("  {} = \"{}\" ({})", environment, options_.member.text, \
                     options::name_of(options_.member.source)));
#include "options/options.def"
#undef OPTION
}

void Session::say(int level, const std::string& text) const {
  if (level <= options_.verbose.value) write_to_stderr("refrain: " + text + "\n");
}

void Session::count_lookup(bool hooked, const char* name) {
  lookups_.fetch_add(1, std::memory_order_relaxed);
  if (!hooked) return;
  hooked_.fetch_add(1, std::memory_order_relaxed);
  if (options_.verbose.value >= 3) say(3, fmt::format("hooked {}", name));
}

event::End Session::totals() const {
  event::End end;
  end.lookups = lookups_;
  end.hooks = hooked_;
  end.exit = "normal";
  end.events = log_.events();
  end.dropped = log_.dropped();
  const cuda::Counters& counters = runtime_->counters();
  end.barriers = counters.barriers;
  end.launches = counters.launches;
  end.unreplayable = counters.unreplayable;
  end.unmanaged_bytes = counters.unmanaged_peak_bytes;
  if (const engine::Engine* engine = runtime_->engine()) {
    const engine::Statistics& statistics = engine->statistics();
    end.evictions = statistics.evictions;
    end.evicted_bytes = statistics.evicted_bytes;
    end.rematerialisations = statistics.rematerialisations;
    end.replayed_ops = statistics.replayed_ops;
    end.offloads = statistics.offloads;
    end.offloaded_bytes = statistics.offloaded_bytes;
    end.restores = statistics.restores;
    end.restored_bytes = statistics.restored_bytes;
    end.host_peak_bytes = engine->host_memory().peak_held_bytes();
    end.compared = statistics.compared;
    end.mismatches = statistics.mismatches;
    end.unrepaired = statistics.unrepaired;
    end.quarantined = engine->trust().quarantined_kernels();
    end.thrashing_windows = statistics.thrashing_windows;
    end.replayed_ns = whole_ns(statistics.replayed_cost_ns);
    end.program_ns = whole_ns(statistics.program_cost_ns);
    end.wanted_bytes = statistics.peak_wanted_bytes;
    end.peak_bytes = engine->memory().peak_held_bytes();
    end.held_bytes = engine->memory().held_bytes();
    end.limit_bytes = runtime_->cap_bytes() == engine::kNoCap ? 0 : runtime_->cap_bytes();
    end.oom = statistics.out_of_memory;
    const guide::Guided guided = runtime_->guided();
    end.costs = runtime_->cost_source();
    end.plans = guided.plans;
    end.planning_ns = whole_ns(guided.planning_ns);
    end.planned_ops = guided.planned_ops;
    end.ops = guided.ops;
    end.plans_given_up = guided.given_up;
    end.plans_left = guided.left;
  }
  return end;
}

void Session::finish() {
  if (getpid() != process_) return;
  ending_ = true;
  // A signal handler may have called exit() in the middle of a call of this very thread: then the lock never
  // comes, and the log ends as that of a killed program does.
  std::unique_lock lock(runtime_->mutex(), std::defer_lock);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (!lock.try_lock()) {
    if (std::chrono::steady_clock::now() > give_up) return;
    std::this_thread::yield();
  }
  runtime_->stop_planning();
  for (const std::string& name : runtime_->kernels().unmatched_entries()) {
    const std::string line = fmt::format("manifest: no kernel that was launched is called {}", name);
    say(1, line);
    log_.write(event::Note{.text = line});
  }
  const event::End end = totals();
  const std::uint64_t t_ns = log_.is_open() ? log_.elapsed_ns() : 0;
  renew_metrics(true);
  log_.end(end);
  if (log_.dropped() != 0)
    say(0, fmt::format("error: {} lines of the log {} could not be written", log_.dropped(), log_path_));
  if (!record_.end()) say(0, "error: the record could not be written to its end");
  if (options_.summary.value == "off") return;
  const std::string text = report::to_text(report::from_totals(end, log_path_, t_ns));
  if (options_.summary.value == "stderr") {
    write_to_stderr(text);
    return;
  }
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (options_.force.value ? O_TRUNC : O_EXCL);
  const int file = ::open(options_.summary.value.c_str(), flags, 0644);
  const bool written =
      file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!written)
    say(0, fmt::format("error: the summary cannot be written to {}: {}", options_.summary.value,
                       std::strerror(errno)));
  if (file >= 0) ::close(file);
}

void Session::renew_metrics(bool last) {
  constexpr std::chrono::seconds kBetween{1};
  if (metrics_paths_.empty()) return;
  const auto now = std::chrono::steady_clock::now();
  if (!last && now - metrics_renewed_ < kBetween) return;
  metrics_renewed_ = now;
  const std::string text = report::to_metrics(
      {{{{"host", host_name()}, {"pid", std::to_string(process_)}, {"program", program_}}, totals()}});
  std::erase_if(metrics_paths_, [&](const std::string& path) { return !replace_metrics(path, text); });
}

// There whole or not at all: whoever collects it must not see half of it. A device or a pipe is written as it
// is: moving a file there would replace it.
bool Session::replace_metrics(const std::string& path, const std::string& text) const {
  struct stat found {};
  const bool special = ::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode);
  const std::string beside = special ? path : fmt::format("{}.{}.part", path, process_);
  const int file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0644);
  const bool written =
      file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (file >= 0) ::close(file);
  if (written && (special || std::rename(beside.c_str(), path.c_str()) == 0)) return true;
  const int reason = errno;
  if (!special) ::unlink(beside.c_str());
  say(0, fmt::format("error: the metrics cannot be written to {}: {}; there are none from here on", path,
                     std::strerror(reason)));
  return false;
}

namespace {

// Whole UTF-8 characters of it.
std::string_view shortened(std::string_view text) {
  if (text.size() <= REFRAIN_LONGEST_NAME) return text;
  std::size_t end = REFRAIN_LONGEST_NAME;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace

bool Session::name_tensor(const void* address, std::string_view name) {
  const std::optional<engine::BufferId> buffer = runtime_->buffer_at(reinterpret_cast<CUdeviceptr>(address));
  if (!buffer) return false;
  const std::lock_guard lock(runtime_->mutex());
  log_.write(event::Name{.buffer = buffer->index, .text = std::string(shortened(name))});
  return true;
}

void Session::mark(std::string_view name) {
  const std::lock_guard lock(runtime_->mutex());
  log_.write(event::Mark{.text = std::string(shortened(name))});
}

event::End Session::statistics() {
  const std::lock_guard lock(runtime_->mutex());
  return totals();
}

}  // namespace refrain::preload
