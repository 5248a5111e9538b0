// DTR instructions to an operator log, strictly. Must not guess: what is not of a known form is an error.
#include "simulate/dtr_log.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

namespace refrain::simulate {
namespace {

using nlohmann::json;

constexpr const char* kInstructions =
    "accepted are ANNOTATE, CONSTANT, MEMORY, ALIAS, CALL, MUTATE, COPY, COPY_FROM and RELEASE";

class Reader : private JsonLines {
 public:
  Reader(std::istream& in, const std::string& name) : JsonLines(in, name, "INSTRUCTION") {}

  OperatorLog run() {
    skip_to_start();
    while (next()) instruction();
    keep_what_is_referred_to();
    return std::move(log_);
  }

 private:
  struct Name {
    std::uint32_t tensor;
    bool released;
  };
  struct Made {
    std::string name;
    std::uint64_t bytes;
    std::int64_t argument;  // that it is a view of; -1: none
  };

  void skip_to_start() {
    while (next()) {
      static const std::unordered_set<std::string> known = {
          "ANNOTATE", "CONSTANT", "MEMORY", "ALIAS", "CALL", "MUTATE", "COPY", "COPY_FROM", "RELEASE"};
      if (!known.contains(kind())) unknown_instruction();
      if (kind() == "ANNOTATE" && text("ANNOTATION") == "START") return;
    }
    fail("the log ends without ANNOTATE START; accepted are logs with it, which count from there");
  }

  [[noreturn]] void unknown_instruction() const {
    fail(fmt::format("unknown INSTRUCTION {}; {}", shown(field("INSTRUCTION")), kInstructions));
  }

  void instruction() {
    if (kind() == "CALL") return call();
    if (kind() == "MUTATE") return mutate();
    if (kind() == "CONSTANT") return constant();
    if (kind() == "COPY") return copy();
    if (kind() == "COPY_FROM") return copy_from();
    if (kind() == "RELEASE") return release();
    if (kind() == "ANNOTATE") {
      const std::string annotation = text("ANNOTATION");
      if (annotation != "START" && annotation != "BACKWARD")
        fail(fmt::format("ANNOTATION is {}; accepted are START and BACKWARD", shown(field("ANNOTATION"))));
      return;
    }
    if (kind() == "MEMORY" || kind() == "ALIAS")
      fail(fmt::format("{} of its own; accepted is one behind the CALL or CONSTANT whose result it is about",
                       kind()));
    unknown_instruction();
  }

  // The line that has to follow, about that name.
  void expect(const char* wanted, const std::string& name, const char* after) {
    const std::string accepted = fmt::format("accepted after {} is {} of {}", after, wanted, shown(name));
    if (!next()) fail(fmt::format("the log ends; {}", accepted));
    if (kind() != wanted) fail(fmt::format("{}; {}", kind(), accepted));
    if (text("NAME") != name) fail(fmt::format("{} of {}; {}", kind(), shown(field("NAME")), accepted));
  }

  std::uint64_t bytes() const { return static_cast<std::uint64_t>(number("MEMORY", 0, kMaxBytes)); }

  void constant() {
    const std::string name = new_name(text("NAME"));
    expect("MEMORY", name, "CONSTANT");
    LogOp op = begin_op("constant", {}, 0);
    op.constant = true;
    finish_op(op, {{name, bytes(), -1}});
  }

  void call() {
    const std::vector<std::uint32_t> arguments = live(texts("ARGS"));
    const std::vector<std::string> results = texts("RESULT");
    const LogOp op = begin_op(text("NAME"), arguments, cost_ns());
    if (results.empty()) fail("CALL without results; accepted is at least one name in RESULT");
    std::unordered_set<std::string_view> seen;
    for (const std::string& result : results) {
      if (!seen.insert(new_name(result)).second)
        fail(fmt::format("RESULT names {} twice; accepted is a new name for each", shown(result)));
    }
    std::vector<Made> made;
    for (const std::string& result : results) {
      expect("MEMORY", result, "CALL");
      made.push_back({result, bytes(), -1});
      expect("ALIAS", result, "CALL");
      made.back().argument = number("ALIAS", -1, kMaxLines);
      if (made.back().argument >= static_cast<std::int64_t>(arguments.size()))
        fail(fmt::format("ALIAS is {}; accepted are -1 and the places of the {} ARGS, from 0",
                         made.back().argument, arguments.size()));
    }
    finish_op(op, made);
  }

  std::uint64_t cost_ns() const { return static_cast<std::uint64_t>(number("TIME", 0, kMaxNs)); }

  void mutate() {
    const std::vector<std::string> names = texts("ARGS");
    const std::vector<std::uint32_t> arguments = live(names);
    const json& changed = field("MUTATE");
    std::vector<Made> made;
    std::unordered_set<std::string_view> seen;
    if (changed.is_array()) {
      for (const json& place : changed) {
        if (!place.is_number_unsigned() || place.get<std::uint64_t>() >= names.size()) break;
        const std::size_t argument = place.get<std::size_t>();
        if (!seen.insert(names[argument]).second)
          fail(fmt::format("MUTATE writes {} twice; accepted is each argument once", shown(names[argument])));
        const std::uint32_t storage = log_.tensors[arguments[argument]].storage;
        made.push_back({names[argument], log_.storages[storage].bytes, -1});
      }
    }
    if (made.empty() || made.size() != changed.size())
      fail(fmt::format("MUTATE is {}; accepted is a list of places of the {} ARGS, from 0", shown(changed),
                       names.size()));
    LogOp op = begin_op(text("NAME"), arguments, cost_ns());
    std::vector<std::uint32_t> old;
    for (const Made& result : made) old.push_back(names_[by_text_.at(result.name)].tensor);
    finish_op(op, made);
    for (const std::uint32_t tensor : old) drop_reference(tensor);
  }

  void copy() {
    const std::uint32_t tensor = live(text("SRC"));
    bind(new_name(text("DST")), tensor);
    add_reference(tensor);
  }

  void copy_from() {
    const std::uint32_t from = live(text("SRC"));
    const std::string to = text("DST");
    const std::uint32_t old = live(to);
    bind(to, from);
    // In this order, as published: what both name is never without a reference.
    add_reference(from);
    drop_reference(old);
  }

  void release() {
    const std::string name = text("NAME");
    const auto it = by_text_.find(name);
    if (it == by_text_.end()) return;
    Name& known = names_[it->second];
    if (known.released) fail(fmt::format("{} is released again; accepted is once", shown(name)));
    known.released = true;
    drop_reference(known.tensor);
  }

  std::uint32_t live(const std::string& name) const {
    const auto it = by_text_.find(name);
    if (it == by_text_.end())
      fail(fmt::format(
          "{} names {}, which nothing has made; accepted are results and constants of earlier lines", kind(),
          shown(name)));
    if (names_[it->second].released)
      fail(fmt::format("{} names {}, which was released; accepted are names that are still held", kind(),
                       shown(name)));
    return names_[it->second].tensor;
  }
  std::vector<std::uint32_t> live(const std::vector<std::string>& names) const {
    std::vector<std::uint32_t> out;
    for (const std::string& name : names) out.push_back(live(name));
    return out;
  }

  const std::string& new_name(const std::string& name) const {
    if (by_text_.contains(name))
      fail(fmt::format("{} makes {}, which is there already; accepted is a new name", kind(), shown(name)));
    return name;
  }

  void bind(const std::string& name, std::uint32_t tensor) {
    const auto [it, is_new] = by_text_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) {
      names_.push_back({tensor, false});
    } else {
      names_[it->second].tensor = tensor;
    }
  }

  void add_step(LogStep::Kind kind, std::uint32_t index) { log_.steps.push_back({kind, index}); }
  void add_reference(std::uint32_t tensor) {
    ++references_[tensor];
    add_step(LogStep::Kind::kRefer, tensor);
  }
  void drop_reference(std::uint32_t tensor) {
    --references_[tensor];
    add_step(LogStep::Kind::kRelease, tensor);
  }

  LogOp begin_op(const std::string& name, const std::vector<std::uint32_t>& arguments,
                 std::uint64_t cost_ns) {
    const auto [it, is_new] = kinds_.try_emplace(name, static_cast<std::uint32_t>(log_.names.size()));
    if (is_new) log_.names.push_back(name);
    LogOp op{.name = it->second, .cost_ns = cost_ns, .first_argument = log_.all_arguments.size()};
    op.argument_count = static_cast<std::uint32_t>(arguments.size());
    log_.all_arguments.insert(log_.all_arguments.end(), arguments.begin(), arguments.end());
    return op;
  }

  void finish_op(LogOp op, const std::vector<Made>& made) {
    const auto index = static_cast<std::uint32_t>(log_.ops.size());
    op.first_result = static_cast<std::uint32_t>(log_.tensors.size());
    op.result_count = static_cast<std::uint32_t>(made.size());
    for (const Made& result : made) {
      const auto tensor = static_cast<std::uint32_t>(log_.tensors.size());
      auto storage = static_cast<std::uint32_t>(log_.storages.size());
      if (result.argument < 0) {
        log_.storages.push_back({.bytes = result.bytes, .root = tensor});
      } else {
        const auto place = op.first_argument + static_cast<std::size_t>(result.argument);
        storage = log_.tensors[log_.all_arguments[place]].storage;
      }
      log_.tensors.push_back({.op = index, .storage = storage});
      references_.push_back(1);
      bind(result.name, tensor);
    }
    log_.ops.push_back(op);
    add_step(LogStep::Kind::kCompute, index);
  }

  // In the order in which names first came up, also names that were released and whose tensor another holds.
  void keep_what_is_referred_to() {
    std::vector<bool> kept(log_.tensors.size());
    for (const Name& name : names_) {
      if (references_[name.tensor] == 0 || kept[name.tensor]) continue;
      kept[name.tensor] = true;
      add_step(LogStep::Kind::kKeep, name.tensor);
    }
  }

  OperatorLog log_;
  std::vector<Name> names_;  // in the order in which they first came up
  std::unordered_map<std::string, std::uint32_t> by_text_;
  std::unordered_map<std::string, std::uint32_t> kinds_;
  std::vector<std::uint32_t> references_;  // by tensor
};

}  // namespace

OperatorLog read_dtr_log(std::istream& in, const std::string& name) {
  return Reader(in, name).run();
}

}  // namespace refrain::simulate
