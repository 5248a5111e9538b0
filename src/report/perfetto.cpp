// Events of the log as events of a trace. Must not wait for the end to write.
#include "report/perfetto.hpp"

#include "report/text.hpp"

namespace refrain::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kProcess = 1;
constexpr int kEvictions = 1;  // tracks
constexpr int kReplays = 2;
constexpr int kIncidents = 3;

double us(std::uint64_t ns) {
  return static_cast<double>(ns) / 1e3;
}

Json base(const char* phase, const std::string& name, int track, std::uint64_t t_ns) {
  return {{"ph", phase}, {"name", name}, {"pid", kProcess}, {"tid", track}, {"ts", us(t_ns)}};
}

template <class Event>
Json fields_of(const Event& event) {
  Json out;
  event::visit(event, [&](std::string_view name, const auto& field) { out[std::string(name)] = field; });
  return out;
}

Json mark(const std::string& name, int track, std::uint64_t t_ns, Json arguments) {
  Json out = base("i", name, track, t_ns);
  out["s"] = "t";
  out["args"] = std::move(arguments);
  return out;
}

std::string title(const std::string& op) {
  return op.empty() ? "a copy from the host" : title_of(op);
}

}  // namespace

PerfettoWriter::PerfettoWriter(std::ostream& out) : out_(out) {
  out_ << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  const std::pair<int, const char*> tracks[] = {
      {kEvictions, "evictions"}, {kReplays, "brought back (device time)"}, {kIncidents, "incidents"}};
  for (const auto& [track, name] : tracks) {
    write({{"ph", "M"},
           {"name", "thread_name"},
           {"pid", kProcess},
           {"tid", track},
           {"args", {{"name", name}}}});
  }
}

void PerfettoWriter::write(const Json& event) {
  if (!first_) out_ << ",\n";
  first_ = false;
  out_ << event.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void PerfettoWriter::add(const trace::Line& line) {
  const auto levels = [&](std::uint64_t held_bytes, std::uint64_t away_bytes) {
    if (held_bytes == 0) return;
    Json counter = base("C", "memory", 0, line.t_ns);
    counter["args"] = {{"held", held_bytes}, {"evicted", away_bytes}};
    write(counter);
  };
  if (const auto* evict = std::get_if<event::Evict>(&line.event)) {
    write(mark("evict", kEvictions, line.t_ns, fields_of(*evict)));
    levels(evict->held_bytes, evict->away_bytes);
  } else if (const auto* back = std::get_if<event::Rematerialise>(&line.event)) {
    Json slice = base("X", title(back->op), kReplays, line.t_ns);
    slice["dur"] = us(back->cost_ns);
    slice["args"] = fields_of(*back);
    write(slice);
    levels(back->held_bytes, back->away_bytes);
  } else if (const auto* oom = std::get_if<event::Oom>(&line.event)) {
    write(mark("out of memory", kIncidents, line.t_ns, fields_of(*oom)));
  } else if (const auto* mismatch = std::get_if<event::Mismatch>(&line.event)) {
    write(mark("mismatch", kIncidents, line.t_ns, fields_of(*mismatch)));
  } else if (const auto* thrash = std::get_if<event::Thrash>(&line.event)) {
    write(mark("thrashing", kIncidents, line.t_ns, fields_of(*thrash)));
  } else if (const auto* note = std::get_if<event::Note>(&line.event)) {
    write(mark("note", kIncidents, line.t_ns, fields_of(*note)));
  }
}

void PerfettoWriter::finish() {
  out_ << "\n]}\n";
}

}  // namespace refrain::report
