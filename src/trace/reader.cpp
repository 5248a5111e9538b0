// Log lines in. Must not trust them: any file may be given to it.
#include "trace/reader.hpp"

#include <type_traits>

namespace refrain::trace {
namespace {

struct WrongType {};

// Whole numbers are never negative or broken: converted unseen, either would be a huge one.
template <class Field>
void take(const nlohmann::ordered_json& value, Field& field) {
  const bool fits = std::is_integral_v<Field>         ? value.is_number_unsigned()
                    : std::is_floating_point_v<Field> ? value.is_number()
                                                      : value.is_string();
  if (!fits) throw WrongType();
  field = value.get<Field>();
}

template <class T>
T event_from(const nlohmann::ordered_json& object) {
  T event;
  event::visit(event, [&](std::string_view name, auto& field) {
    const auto it = object.find(std::string(name));
    if (it != object.end()) take(*it, field);
  });
  return event;
}

std::optional<Event> parse_event(const nlohmann::ordered_json& object, const std::string& kind) {
#define BEGIN_EVENT(Type, kind_name) \
  if (kind == event::Type::kKind) return event_from<event::Type>(object);
#define FIELD(type, name, meaning)
#define END_EVENT(Type)
#include "refrain/events.def"
#undef BEGIN_EVENT
#undef FIELD
#undef END_EVENT
  return std::nullopt;
}

// The object's kind; empty where there is none, or it is no text.
std::string kind_of(const nlohmann::ordered_json& object) {
  const auto it = object.find("kind");
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

}  // namespace

Reader::Reader(std::istream& in) : in_(in) {
  if (!next_object(header_) || kind_of(header_) != "header" || !header_.contains("schema")) {
    throw Error("not a log of refrain: the first line is no header");
  }
  const auto& schema = header_["schema"];
  if (!schema.is_number_unsigned() || schema.get<std::uint64_t>() == 0)
    throw Error("not a log of refrain: schema " + schema.dump() + " in its header is no number from 1");
  if (schema.get<std::uint64_t>() > event::kSchema) {
    throw Error("log schema " + schema.dump() + " is newer than this program, which reads up to " +
                std::to_string(event::kSchema));
  }
}

bool Reader::next_object(nlohmann::ordered_json& out) {
  std::string text;
  if (!std::getline(in_, text)) return false;
  ++line_number_;
  bytes_read_ += text.size() + 1;
  const bool last = in_.eof();  // no newline after it: the write was cut
  const bool first = line_number_ == 1;
  out = nlohmann::ordered_json::parse(text, nullptr, false);
  if (out.is_object()) return true;
  if (last || first) {
    cut_off_ = last;
    return false;
  }
  throw Error("line " + std::to_string(line_number_) + " of the log is damaged");
}

std::optional<Line> Reader::next() {
  nlohmann::ordered_json object;
  while (next_object(object)) {
    try {
      std::optional<Event> event = parse_event(object, kind_of(object));
      if (!event) continue;
      if (ended_)
        throw Error("line " + std::to_string(line_number_) +
                    " of the log comes after its end: are these two logs in one file?");
      ended_ = std::holds_alternative<event::End>(*event);
      Line line{0, 0, std::move(*event)};
      if (object.contains("seq")) take(object["seq"], line.seq);
      if (object.contains("t_ns")) take(object["t_ns"], line.t_ns);
      return line;
    } catch (const WrongType&) {
      throw Error("line " + std::to_string(line_number_) + " of the log has a field of the wrong type");
    }
  }
  return std::nullopt;
}

}  // namespace refrain::trace
