// refrain inspect: what the kernels of a file read and write. Reading only; no device, no driver.
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <regex>

#include "access/demangle.hpp"
#include "cli/commands.hpp"
#include "cli/kernel_list.hpp"

namespace refrain::cli {
namespace {

struct Request {
  std::string path;
  std::string pattern;
  std::string json_path;
  bool all_architectures = false;
};

std::string cut(std::string text, std::size_t columns) {
  constexpr std::string_view kDots = "...";
  if (text.size() > columns) text.replace(columns - kDots.size(), std::string::npos, kDots);
  return text;
}

// "0 8": offsets of the parameters for which it holds.
std::string offsets(const ListedKernel& kernel, bool ListedParameter::*fact) {
  std::string text;
  for (const ListedParameter& parameter : kernel.parameters) {
    if (parameter.*fact) text += fmt::format("{}{}", text.empty() ? "" : " ", parameter.offset_bytes);
  }
  return text;
}

void print_table(const std::vector<ListedKernel>& kernels, bool architectures) {
  constexpr std::size_t kNameColumns = 42, kListColumns = 12, kColumns = 100;
  const auto line = [&](const std::string& name, const std::string& parameters, const std::string& read,
                        const std::string& written, const std::string& whole, const char* replayable) {
    fmt::print("{:<{}} {:>6}  {:<{}} {:<{}} {:<{}} {}\n", cut(name, kNameColumns), kNameColumns, parameters,
               cut(read, kListColumns), kListColumns, cut(written, kListColumns), kListColumns,
               cut(whole, kListColumns), kListColumns, replayable);
  };
  line("kernel", "params", "read", "written", "whole", "replayable");
  std::size_t replayable = 0, without_ptx = 0;
  for (const ListedKernel& kernel : kernels) {
    replayable += kernel.replayable ? 1 : 0;
    without_ptx += kernel.sm == 0 ? 1 : 0;
    std::string name = access::demangled(kernel.name);
    if (architectures && kernel.sm != 0) {
      const std::string suffix = fmt::format(" sm_{}", kernel.sm);
      name = cut(std::move(name), kNameColumns - suffix.size()) + suffix;
    }
    const bool known = kernel.sm != 0;
    line(name, known ? std::to_string(kernel.parameters.size()) : "?",
         known ? offsets(kernel, &ListedParameter::read) : "?",
         known ? offsets(kernel, &ListedParameter::written) : "?",
         known ? offsets(kernel, &ListedParameter::whole_overwrite) : "?", kernel.replayable ? "yes" : "no");
    if (!kernel.replayable) fmt::print("{}\n", cut("    " + kernel.reason, kColumns));
  }
  fmt::print("{} kernels, {} replayable, {} without PTX\n", kernels.size(), replayable, without_ptx);
  fmt::print("read, written, whole (certainly overwritten): offsets in the parameter block, in bytes\n");
}

nlohmann::ordered_json json_of(const ListedKernel& kernel) {
  nlohmann::ordered_json out = {{"name", kernel.name}, {"parameters", nlohmann::ordered_json::array()}};
  for (const ListedParameter& parameter : kernel.parameters) {
    out["parameters"].push_back({{"offset", parameter.offset_bytes},
                                 {"size", parameter.bytes},
                                 {"pointer", parameter.pointer},
                                 {"read", parameter.read},
                                 {"written", parameter.written},
                                 {"whole_overwrite", parameter.whole_overwrite},
                                 {"atomic", parameter.atomic}});
  }
  out["replayable"] = kernel.replayable;
  out["reason"] = kernel.replayable ? nlohmann::ordered_json() : nlohmann::ordered_json(kernel.reason);
  return out;
}

// One kernel a line: a tree of all of a large library's would be larger than the library.
void write_json(std::ostream& out, const std::vector<ListedKernel>& kernels) {
  out << "{\"kernels\":[";
  const char* separator = "\n";
  for (const ListedKernel& kernel : kernels) {
    out << separator
        << json_of(kernel).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    separator = ",\n";
  }
  out << "\n]}\n";
}

// On a terminal, once it has taken a while; gone when it is done.
class Progress {
 public:
  ~Progress() {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }
  void operator()(double part) {
    constexpr auto kAWhile = std::chrono::seconds(2);
    constexpr auto kBetween = std::chrono::milliseconds(200);
    const auto now = std::chrono::steady_clock::now();
    if (!terminal_ || now - begin_ < kAWhile || now - last_ < kBetween) return;
    fmt::print(stderr, "\rrefrain: inspecting, {:.0f} %", part * 100);
    std::fflush(stderr);
    last_ = now;
    shown_ = true;
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_{};
};

std::function<bool(const std::string&)> filter_of(const std::string& pattern) {
  if (pattern.empty()) return [](const std::string&) { return true; };
  try {
    const std::regex regex(pattern);
    return [regex](const std::string& name) {
      return std::regex_search(name, regex) || std::regex_search(access::demangled(name), regex);
    };
  } catch (const std::regex_error& error) {
    throw UsageError(kBadInput,
                     fmt::format("--kernel={} is no regular expression: {}", pattern, error.what()));
  }
}

int inspect(const Request& request) {
  std::vector<ListedKernel> kernels;
  {
    Progress progress;
    kernels = list_kernels(
        {.path = request.path,
         .all_architectures = request.all_architectures,
         .wanted = filter_of(request.pattern),
         .progress = [&](double part) { progress(part); },
         .warn =
             [&](const std::string& text) { fmt::print(stderr, "refrain: {}: {}\n", request.path, text); }});
  }
  if (request.json_path.empty()) {
    print_table(kernels, request.all_architectures);
  } else if (request.json_path == "-") {
    write_json(std::cout, kernels);
    std::cout.flush();
  } else {
    std::ofstream out(request.json_path);
    write_json(out, kernels);
    if (!out.flush()) throw UsageError(kBadInput, fmt::format("{} cannot be written", request.json_path));
  }
  return 0;
}

}  // namespace

Action add_inspect(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("inspect",
                         "List what the kernels of a program, library, fat binary or PTX file "
                         "read and write, and whether they can be replayed");
  const auto request = std::make_shared<Request>();
  command->add_option("file", request->path, "the file")->required();
  command->add_option("--kernel", request->pattern,
                      "only kernels whose mangled or demangled name has a match for this regular expression");
  command->add_option("--json", request->json_path,
                      "write JSON to this file, or to standard output for -, instead of the table");
  command->add_flag("--all-architectures", request->all_architectures,
                    "the PTX of every architecture, not of each kernel's newest alone");
  command->footer(
      "Needs no GPU and no driver. Offsets are what a manifest (REFRAIN_MANIFEST) is written in.");
  return [request] { return inspect(*request); };
}

}  // namespace refrain::cli
