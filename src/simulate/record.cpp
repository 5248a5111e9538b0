// Records to traces, strictly. Must not guess: what is not of a known form is an error.
#include "simulate/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "trace/recorder.hpp"

namespace refrain::simulate {
namespace {

using nlohmann::json;

constexpr std::uint32_t kNone = 0xffffffffu;
constexpr std::uint64_t kMaxId = 0xfffffffe;
constexpr const char* kKinds = "accepted are record, class, buffer, stay, free, op, barrier, cost and end";

class Reader : private JsonLines {
 public:
  Reader(std::istream& in, const std::string& name) : JsonLines(in, name, "kind") {}

  Trace run() {
    if (!next() || kind() != "record")
      fail("not a record of refrain; accepted are files of refrain run --record");
    const std::int64_t schema = number("schema", 1, kMaxId);
    if (schema > trace::kRecordSchema)
      fail(fmt::format("record schema {} is newer than this program; accepted are up to {}", schema,
                       trace::kRecordSchema));
    while (next()) {
      if (ended_) fail(fmt::format("{} behind the end; accepted is nothing", kind()));
      line();
    }
    if (!ended_) fail("the record is cut off: it has no end; accepted are records of programs that ended");
    for (TraceOp& op : out_.ops) {
      const auto cost = costs_.find(op.cost_class);
      if (cost != costs_.end()) op.cost_ns = cost->second;
    }
    // Every buffer's own pages are whole ones; whether they are smaller still, nothing says.
    std::uint64_t page_bytes = 0;
    for (const TraceBuffer& buffer : out_.buffers) page_bytes = std::gcd(page_bytes, buffer.bytes);
    out_.page_bytes = std::max<std::uint64_t>(page_bytes, 1);
    return std::move(out_);
  }

 private:
  void line() {
    if (kind() == "op") return op();
    if (kind() == "buffer") return buffer();
    if (kind() == "free") return free();
    if (kind() == "stay") return stay();
    if (kind() == "cost") return cost();
    if (kind() == "class") {
      names_[id("class")] = name_index(text("name"));
      return;
    }
    if (kind() == "barrier") return barrier();
    if (kind() == "end") {
      const auto ops = static_cast<std::uint64_t>(number("ops", 0, kMaxLines));
      if (ops != ops_) fail(fmt::format("ops is {}; accepted is {}, as many as there were", ops, ops_));
      ended_ = true;
      return;
    }
    fail(fmt::format("unknown kind {}; {}", shown(field("kind")), kKinds));
  }

  std::uint32_t id(const char* key) const { return static_cast<std::uint32_t>(number(key, 0, kMaxId)); }

  // Classes of the record, kNone among them, in the order in which they come.
  std::uint32_t dense(std::uint32_t cost_class) {
    return classes_.try_emplace(cost_class, static_cast<std::uint32_t>(classes_.size())).first->second;
  }

  std::uint32_t name_index(const std::string& text) {
    const auto [it, is_new] = by_text_.try_emplace(text, static_cast<std::uint32_t>(out_.names.size()));
    if (is_new) out_.names.push_back(text);
    return it->second;
  }

  // kNone: it has no pages of its own.
  void buffer() {
    const std::uint32_t number_there = id("buffer");
    const auto bytes = static_cast<std::uint64_t>(number("bytes", 0, kMaxBytes));
    const auto shared_bytes =
        has("shared") ? static_cast<std::uint64_t>(number("shared", 0, kMaxBytes)) : std::uint64_t{0};
    std::uint32_t made = kNone;
    if (bytes != 0 || shared_bytes != 0) {
      made = static_cast<std::uint32_t>(out_.buffers.size());
      out_.buffers.push_back({.bytes = bytes, .shared_bytes = shared_bytes});
      out_.steps.push_back({TraceStep::Kind::kAllocate, made});
    }
    if (!live_.emplace(number_there, made).second)
      fail(fmt::format("buffer {} is there already; accepted is one after its free", number_there));
  }

  std::uint32_t live(std::uint64_t number_there) const {
    const auto it = live_.find(static_cast<std::uint32_t>(number_there));
    if (it == live_.end())
      fail(fmt::format("{} names buffer {}, which is not there; accepted are buffers of earlier lines",
                       kind(), number_there));
    return it->second;
  }

  void free() {
    const std::uint32_t gone = live(id("buffer"));
    if (gone != kNone) out_.steps.push_back({TraceStep::Kind::kFree, gone});
    live_.erase(id("buffer"));
  }

  // As something that holds memory and can never be computed again.
  void stay() {
    const std::uint32_t buffer = live(id("buffer"));
    begin_op("stays", false, kNone);
    if (buffer != kNone) out_.all_uses.push_back({.buffer = buffer, .written = true, .whole = true});
    finish_op();
  }

  void op() {
    const std::uint32_t cost_class = id("class");
    const auto name = names_.find(cost_class);
    begin_op(name == names_.end() ? "once" : out_.names[name->second], number("again", 0, 1) == 1,
             cost_class);
    const json& uses = field("uses");
    if (!uses.is_array()) fail(fmt::format("uses is {}; accepted is a list", shown(uses)));
    for (const json& use : uses) add_use(use);
    finish_op();
    ++ops_;
  }

  void add_use(const json& use) {
    const bool formed =
        use.is_array() && use.size() == 2 && use[0].is_number_unsigned() && use[1].is_string();
    const std::string how = formed ? use[1].get<std::string>() : "";
    if (how != "r" && how != "w" && how != "rw" && how != "W" && how != "x")
      fail(fmt::format("uses has {}; accepted are [buffer, \"r\"], and w, rw, W, x", shown(use)));
    const std::uint32_t buffer = live(use[0].get<std::uint64_t>());
    if (buffer == kNone) return;
    if (buffer < last_user_.size() && last_user_[buffer] == out_.ops.size())
      fail(fmt::format("uses names buffer {} twice; accepted is once", use[0].dump()));
    if (buffer >= last_user_.size()) last_user_.resize(out_.buffers.size(), kNone);
    last_user_[buffer] = static_cast<std::uint32_t>(out_.ops.size());
    out_.all_uses.push_back({.buffer = buffer,
                             .read = how == "r" || how == "rw",
                             .written = how != "r",
                             .whole = how == "W" || how == "x",
                             .undefined = how == "x"});
  }

  void barrier() {
    begin_op("barrier", false, kNone);
    for (const auto& [there, buffer] : live_) {
      if (buffer != kNone) out_.all_uses.push_back({.buffer = buffer, .read = true, .written = true});
    }
    finish_op();
  }

  void cost() {
    const json& ns = field("ns");
    const double value = ns.is_number() ? ns.get<double>() : -1;
    if (!(value >= 0) || value > static_cast<double>(kMaxNs))
      fail(fmt::format("ns is {}; accepted are numbers from 0 to {}", shown(ns), kMaxNs));
    costs_[dense(id("class"))] = value;
    out_.steps.push_back({TraceStep::Kind::kCost, static_cast<std::uint32_t>(out_.costs.size())});
    out_.costs.push_back({.cost_class = dense(id("class")), .ns = value});
  }

  void begin_op(const std::string& name, bool replayable, std::uint32_t cost_class) {
    op_ = {.name = name_index(name),
           .replayable = replayable,
           .first_use = out_.all_uses.size(),
           .cost_class = dense(cost_class)};
  }
  void finish_op() {
    op_.use_count = static_cast<std::uint32_t>(out_.all_uses.size() - op_.first_use);
    out_.steps.push_back({TraceStep::Kind::kOp, static_cast<std::uint32_t>(out_.ops.size())});
    out_.ops.push_back(op_);
  }

  Trace out_;
  TraceOp op_;  // that is being read
  bool ended_ = false;
  std::uint64_t ops_ = 0;
  std::map<std::uint32_t, std::uint32_t> live_;             // buffer of the record to buffer of the trace
  std::unordered_map<std::uint32_t, std::uint32_t> names_;  // by class
  std::unordered_map<std::string, std::uint32_t> by_text_;
  std::unordered_map<std::uint32_t, std::uint32_t> classes_;
  std::unordered_map<std::uint32_t, double> costs_;  // by class of the trace
  std::vector<std::uint32_t> last_user_;             // by buffer of the trace
};

}  // namespace

Trace read_record(std::istream& in, const std::string& name) {
  return Reader(in, name).run();
}

}  // namespace refrain::simulate
