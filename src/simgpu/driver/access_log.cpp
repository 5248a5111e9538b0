// Lines of JSON, written as launches end. docs/simgpu.md says what is in them.
#include "simgpu/driver/access_log.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <unordered_set>

#include "simgpu/driver/device.hpp"
#include "simgpu/driver/module.hpp"
#include "simgpu/driver/settings.hpp"

namespace refrain::simgpu::driver {
namespace {

// FNV-1a of 64 bits.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// Opened at the first line, and flushed with each: the process may end in any way.
class AccessLog {
 public:
  // rest: what is added to a line, but does not make it another.
  void write_once(std::string line, std::string_view rest = {}) {
    if (failed_ || !seen_.insert(hash_of(line)).second) return;
    line += rest;
    const std::string path = expand_path(settings().accesses_path);
    if (file_ == nullptr) file_ = std::fopen(path.c_str(), "w");
    failed_ = file_ == nullptr || std::fwrite(line.data(), 1, line.size(), file_) != line.size() ||
              std::fflush(file_) != 0;
    if (failed_) say(fmt::format("SIMGPU_ACCESSES: cannot write {}", path));
  }

 private:
  std::FILE* file_ = nullptr;
  bool failed_ = false;
  std::unordered_set<std::uint64_t> seen_;
};

AccessLog& access_log() {
  static auto* log = new AccessLog;  // never destroyed: launches may end while the process does
  return *log;
}

using Ranges = std::vector<ByteRange>;

void append_ranges(std::string& line, const char* key, const Ranges& ranges) {
  auto out = std::back_inserter(line);
  fmt::format_to(out, ", \"{}\": [", key);
  const char* separator = "";
  for (const ByteRange& range : ranges) {
    fmt::format_to(out, "{}[{}, {}]", separator, range.begin, range.end - range.begin);
    separator = ", ";
  }
  line += ']';
}

struct Touched {
  Ranges allocations, variables;
};

const GlobalVariable* variable_at(const Module& code, DeviceAddress address) {
  for (const GlobalVariable& variable : code.globals()) {
    if (address - variable.address < variable.bytes) return &variable;
  }
  return nullptr;
}

// What the ranges lie in. Those of the heap of device code are taken out of the record.
Touched find_touched(const Device& device, const Module& code, AccessRecord& record) {
  ByteSet all;
  all.add(record.reads);
  all.add(record.writes);
  Touched out;
  DeviceAddress looked_until = 0;
  for (const ByteRange& range : all.ranges()) {
    for (DeviceAddress at = std::max(range.begin, looked_until); at < range.end; at = looked_until) {
      const auto found = device.memory.range_of(at);
      looked_until = found ? found->base + found->bytes : range.end;
      if (!found) continue;
      if (found->on_heap) {
        record.heap.add(found->base, found->bytes);
      } else {
        (variable_at(code, at) != nullptr ? out.variables : out.allocations)
            .push_back({found->base, looked_until});
      }
    }
  }
  for (ByteSet* set : {&record.reads, &record.writes, &record.updates, &record.float_updates}) {
    set->remove(record.heap);
  }
  return out;
}

void append_hex(std::string& line, std::span<const std::byte> bytes) {
  line += '"';
  for (const std::byte byte : bytes)
    fmt::format_to(std::back_inserter(line), "{:02x}", static_cast<unsigned>(byte));
  line += '"';
}

// Short runs that the launch read and did not write: they hold what it found there. Others may have been
// written since, but not by what the program has put in order.
void append_held(std::string& line, const Device& device, const AccessRecord& record) {
  constexpr std::uint64_t kMostBytes = 4096;
  ByteSet only_read;
  only_read.add(record.reads);
  only_read.remove(record.writes);
  line += ", \"held\": [";
  const char* separator = "";
  for (const ByteRange& range : only_read.ranges()) {
    const std::uint64_t bytes = range.end - range.begin;
    const std::byte* at =
        bytes > kMostBytes ? nullptr : device.memory.translate(range.begin, bytes, Access::kRead);
    if (at == nullptr) continue;
    fmt::format_to(std::back_inserter(line), "{}[{}, ", separator, range.begin);
    append_hex(line, {at, bytes});
    line += ']';
    separator = ", ";
  }
  line += ']';
}

void append_variables(std::string& line, const Module& code, const Ranges& variables) {
  line += ", \"variables\": [";
  const char* separator = "";
  for (const ByteRange& range : variables) {
    const GlobalVariable& variable = *variable_at(code, range.begin);
    fmt::format_to(std::back_inserter(line), R"({}{{"base": {}, "bytes": {}, "name": "{}", "constant": {}}})",
                   separator, variable.address, variable.bytes, variable.name, variable.constant);
    separator = ", ";
  }
  line += ']';
}

}  // namespace

std::string log_module(const Source& source) {
  if (settings().accesses_path.empty() || source.native != nullptr) return {};
  std::string all;
  for (const std::string& text : source.ptx) all += text;
  const std::string id = fmt::format("{:016x}", hash_of(all));
  nlohmann::json line{{"module", id}, {"ptx", source.ptx}};
  if (source.ptx.size() == 1) line["ptx"] = source.ptx.front();
  access_log().write_once(line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n");
  return id;
}

std::unique_ptr<AccessRecord> begin_record() {
  return settings().accesses_path.empty() ? nullptr : std::make_unique<AccessRecord>();
}

void log_launch(const Device& device, const KernelLaunch& launch, AccessRecord& record) {
  const std::string& module_id = launch.function->library->module_id;
  const Touched touched = find_touched(device, *launch.code, record);
  const LaunchShape& shape = launch.shape;
  std::string line =
      fmt::format(R"({{"kernel": "{}", "grid": [{}, {}, {}], "block": [{}, {}, {}], "shared": {})",
                  launch.kernel->name(), shape.grid.x, shape.grid.y, shape.grid.z, shape.block.x,
                  shape.block.y, shape.block.z, shape.dynamic_shared_bytes);
  line += module_id.empty() ? R"(, "native": true)" : fmt::format(R"(, "module": "{}")", module_id);
  line += ", \"params\": ";
  append_hex(line, launch.params);
  append_ranges(line, "allocations", touched.allocations);
  append_variables(line, *launch.code, touched.variables);
  append_ranges(line, "reads", record.reads.ranges());
  append_ranges(line, "writes", record.writes.ranges());
  append_ranges(line, "integer_atomics", record.updates.ranges());
  append_ranges(line, "float_atomics", record.float_updates.ranges());
  line += fmt::format(R"(, "heap": {}, "printed": {})", !record.heap.empty(), record.printed);
  std::string held;
  append_held(held, device, record);
  access_log().write_once(std::move(line), held + "}\n");
}

}  // namespace refrain::simgpu::driver
